"""A pipeline that masks one column of a table, for the tests of databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


@pytest.fixture
def pipeline(tmp_path: Path) -> Callable[..., Path]:
    """Write a pipeline file that masks `masked` and keeps the other columns."""

    def written(data: dict[str, Any], kept: Iterable[str], output: str, masked: str = "income") -> Path:
        variables: dict[str, Any] = {name: {"role": "other"} for name in kept} | {masked: {"role": "confidential"}}
        path = tmp_path / "pipeline.yaml"
        settings = {
            "maskwright": 1,
            "data": data | {"variables": variables},
            "protect": [{"method": "microaggregation", "variables": [masked], "params": {"k": 3}}],
            "output": {"data": output, "record": "run.json", "public_record": "about.json"},
            "seed": 1,
        }
        path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        return path

    return written
