"""Pytest fixtures for tests of plugins.

In `conftest.py` or in a test module of the root folder: ``pytest_plugins = ["maskwright.testing.fixtures"]``.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from maskwright.testing.pipeline_runs import NO_FILES, RanPipeline, RunPipeline, run_pipeline_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd


@pytest.fixture
def run_pipeline(tmp_path: Path) -> RunPipeline:
    """Run pipelines as ``maskwright run`` does, each in a temporary folder, with plugins that need not be installed."""
    numbers = itertools.count(1)

    def in_new_folder(
        pipeline: Mapping[str, Any] | str,
        *,
        plugins: Sequence[object] = (),
        files: Mapping[str, str | bytes | pd.DataFrame] = NO_FILES,
        overrides: Mapping[str, object] | Sequence[str] = (),
    ) -> RanPipeline:
        folder = tmp_path / f"pipeline-{next(numbers)}"
        return run_pipeline_in(folder, pipeline, plugins=plugins, files=files, overrides=overrides)

    return in_new_folder
