"""Totals over members: exact in decimals, and in binary64 in the order of the released file, with two decimals too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.commands.demo.levels import write_levels_demo

sys.path.insert(0, str(Path(__file__).parent))
from pandas_evaluator import flat_of_linked, violations

MEMBERS = ["wages", "selfe", "pens", "bene", "income"]
ROW = ["child_benefit", "capital", "tax", "total", "disp"]
K = {"k": 5}
FREE = {"k": 5, "k_guarantee": "report"}
WAYS: dict[str, list[dict[str, Any]]] = {
    "derive": [{"variables": ROW, "params": K}, {"variables": MEMBERS, "params": K}],
    "adjust": [{"variables": ROW, "params": FREE | {"totals": {"total": "adjust"}}},
               {"variables": MEMBERS, "params": FREE}],
    "whole": [{"variables": [*ROW, *MEMBERS], "unit": "household", "params": K | {"rare": "drop"}}],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The survey with all amounts in hundreds: two decimals, and sums as before."""
    made = write_levels_demo(tmp_path_factory.mktemp("cents"), 1_000)
    for path in (made.households, made.persons):
        table = pd.read_csv(path, dtype=str)
        for name in [each for each in [*ROW, *MEMBERS, "rent"] if each in table]:
            table[name] = table[name].astype(int).map(lambda cents: f"{cents // 100}.{cents % 100:02d}")
        table.to_csv(path, index=False)
    return made.edits.parent


def run(folder: Path, name: str, steps: list[dict[str, Any]], **changes: Any) -> tuple[dict[str, Any], pd.DataFrame]:
    settings = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))
    settings.pop("thresholds")
    settings |= {"protect": [{"method": "microaggregation"} | step for step in steps], "measure": ["sse"]} | changes
    settings["output"] = {"data": {"household": f"{name}_h.csv", "person": f"{name}_p.csv"}}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    record = mw.run(folder / f"{name}.yaml").record
    return dict(record), flat_of_linked(folder / f"{name}_h.csv", folder / f"{name}_p.csv")


def off_in_binary64(flat: pd.DataFrame) -> int:
    """Households whose total is not what adding their members' incomes in the order of the file gives."""
    rows = flat.drop_duplicates("hhid").set_index("hhid")[["child_benefit", "capital", "total"]].astype(float)
    added = flat["income"].astype(float).groupby(flat["hhid"], sort=False).agg(lambda each: sum(each.tolist()))
    return int((added + rows["child_benefit"] + rows["capital"] != rows["total"]).sum())


@pytest.mark.parametrize("way", WAYS)
def test_totals_are_exact_in_decimals_and_in_binary64(folder: Path, way: str) -> None:
    assert off_in_binary64(flat_of_linked(folder / "households.csv", folder / "persons.csv")) > 150
    record, flat = run(folder, way, WAYS[way])
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    assert off_in_binary64(flat) == 0
    assert any(text.startswith("published in steps that binary64 adds exactly") for text in record["notices"])
    if way == "derive":
        assert flat.groupby(MEMBERS)["hhid"].nunique().min() >= 5
        assert flat.drop_duplicates("hhid").groupby(["child_benefit", "capital", "tax"]).size().min() >= 5


def test_what_stands_with_decimals_is_told(folder: Path) -> None:
    """A part that no step masks keeps its decimals, and the sum its last bit; it is exact in decimals."""
    declared = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))["data"]
    declared["variables"] |= {"capital": {"role": "other"}}
    steps = [{"variables": [name for name in ROW if name != "capital"], "params": K}, WAYS["derive"][1]]
    record, flat = run(folder, "stands", steps, data=declared)
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    assert any(
        "edit 'total-sum' adds decimals over members and is kept in decimals" in text for text in record["notices"]
    )


def test_whole_amounts_are_left_as_they_are(tmp_path: Path) -> None:
    folder = write_levels_demo(tmp_path, 200).edits.parent
    record, flat = run(folder, "whole_amounts", WAYS["derive"])
    assert off_in_binary64(flat) == 0
    assert not any("binary64" in text for text in record["notices"])
