"""What tasks leave for the run is read as their receipts have it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from maskwright import DataError, Receipt
from maskwright.commands.parted.task_run import PartedRun
from maskwright.commands.parted.task_settings import Stored


@pytest.fixture
def run(tmp_path):
    """Two tasks that left something, and one whose part has no records."""
    receipts = []
    for key in ("0", "1"):
        folder = tmp_path / "scan" / key
        folder.mkdir(parents=True)
        receipts.append(Receipt("scan", key, {"scanned": Stored.of([key], folder / "scanned").sha256}, {"records": 3}))
    receipts.append(Receipt("scan", "2", {}, {"records": 0}))
    return SimpleNamespace(scratch=tmp_path, done={"scan": receipts})


def test_what_tasks_left_is_read_in_their_order(run) -> None:
    assert list(PartedRun.read(run, "scan", "scanned")) == [["0"], ["1"]]


def test_what_was_changed_since_the_receipt_is_not_read(run) -> None:
    Stored.of(["something else"], run.scratch / "scan" / "1" / "scanned")
    with pytest.raises(DataError, match="changed by another program"):
        list(PartedRun.read(run, "scan", "scanned"))
