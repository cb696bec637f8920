"""Fixtures for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

# A package of its own: its tests run where it is installed, from test_example_plugin.py.
collect_ignore = ["example_plugin"]

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the reference files; they are not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("the reference files (folder 'shared' beside the project) are not here")
    return SHARED
