"""What a run says of plugins: who keeps an edit without clusters, what is not judged, and one request for a report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

import maskwright as mw
from maskwright import Claims, Masked, Method
from maskwright.cli.main import main
from maskwright.release.record.run_record import RunRecord
from maskwright.release.wording import verdict
from maskwright.testing import offered, run_pipeline_in

sys.path.insert(0, str(Path(__file__).parent))
from installing import installed, package

if TYPE_CHECKING:
    import pytest

CLAIMS = frozenset({"range", "domain", "mean"})


def turn(block, params, rng):
    """Give each record the values of the next one."""
    order = [*range(1, block.n), 0]
    return Masked(values=block.values[order], missing=block.missing[order])


def fails(block, params, rng):
    raise KeyError("secret")


def method(protect, name: str) -> Method:
    return Method(
        name=name,
        protect=protect,
        scope="variable",
        claims=Claims(preserves=CLAIMS, handles_missing=True),
        summary="Turns.",
        reference="none",
    )


def test_a_method_without_clusters_keeps_an_interval_without_averages() -> None:
    data = pd.DataFrame({"age": [20 + 7 * row % 40 for row in range(40)]})
    with offered([method(turn, "turn")]):
        planned = mw.plan(data, "turn", edits=["age in [0, 120]"])
    assert [(each.kept_by, each.how) for each in planned.keepers] == [
        ("construction", "values stay between the smallest and the largest of their variable")
    ]


def test_edits_that_missing_cells_leave_open_are_counted_in_words(tmp_path: Path) -> None:
    rows = "".join(f"{20 + n},{'' if n % 8 == 0 else 100 + n},{n}\n" for n in (7 * row % 40 for row in range(40)))
    (tmp_path / "people.csv").write_text(f"age,rent,income\n{rows}", encoding="utf-8")
    pipeline = {
        "data": {"source": "people.csv"},
        "edits": ["age in [0, 120]", "rent >= 0", "rent <= 1000"],
        "protect": [{"method": "microaggregation", "params": {"k": 3}}],
        "output": {"data": "masked.csv", "record": "run.json"},
    }
    found = run_pipeline_in(tmp_path, pipeline)
    assert found.exit_code == 0, found.messages
    assert verdict(RunRecord.model_validate(found.record)) == (
        "Released: all 3 edits hold in 40 masked records; 2 edits are not judged where a cell that they read is "
        "missing."
    )


def test_a_report_is_asked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("age\n" + "".join(f"{7 * row % 40}\n" for row in range(40)), encoding="utf-8")
    text = "maskwright: 1\ndata: {source: in.csv}\nprotect: [{method: fails}]\noutput: {data: out.csv}\nseed: 1\n"
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    with installed(monkeypatch, package("strange", register_methods=[method(fails, "fails")])):
        assert main(["run", str(tmp_path / "p.yaml")]) == 3
    said = capsys.readouterr().err
    assert said.count("report") == 1
    assert "This is a mistake of the package strange; please report it there." in " ".join(said.split())
    assert "A log without any value of your data is in " in said
