"""A finished run, as the run hands it to reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RECORD = Path(__file__).parents[3] / "golden" / "run_record.json"


@pytest.fixture
def record() -> dict[str, Any]:
    """Record of a run of the example: made up, with the keys of run.json."""
    return json.loads(RECORD.read_text(encoding="utf-8"))
