"""What `benchmarks/compare.py` keeps of ratios to peers, and when it calls one fallen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
speed_history = pytest.importorskip("speed_history", reason="the folder benchmarks is not here")
sys.path.pop(0)
Kept = speed_history.Kept
ROW = Kept("0.1.0", "2026-11-23", "sorting", "NumPy", 1000, 4.0, 1.01)


def test_the_history_of_the_project_has_each_work_once_a_version():
    rows = speed_history.kept_rows(Path(__file__).parents[2] / "benchmarks" / "history.csv")

    assert len(rows) >= 16
    assert len({(row.version, row.work) for row in rows}) == len(rows)
    assert all(row.ratio > 0 for row in rows)


def test_a_version_measured_again_replaces_its_rows(tmp_path):
    path = tmp_path / "history.csv"
    speed_history.keep(path, [ROW, Kept("0.1.0", "2026-11-23", "joining", "NumPy", 10, 2.0, float("nan"))])
    speed_history.keep(path, [Kept("0.2.0", "2026-12-01", "sorting", "NumPy", 1000, 5.0, 1.0)])
    speed_history.keep(path, [Kept("0.1.0", "2026-11-24", "sorting", "NumPy", 1000, 3.0, 1.0)])

    found = [(row.version, row.work, row.ratio) for row in speed_history.kept_rows(path)]
    assert found == [("0.1.0", "joining", 2.0), ("0.2.0", "sorting", 5.0), ("0.1.0", "sorting", 3.0)]


@pytest.mark.parametrize(("ratio", "fallen"), [(5.0, False), (3.0, False), (2.99, True), (0.1, True)])
def test_a_ratio_has_fallen_when_more_than_a_quarter_is_gone(ratio, fallen):
    assert speed_history.has_fallen(ratio, ROW) is fallen
    assert speed_history.has_fallen(ratio, None) is False
