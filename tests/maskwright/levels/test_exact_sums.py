"""Totals over members: exact in decimals, and in binary64 in the order of the released file, with two decimals too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.commands.demo.levels.files import write_levels_demo

sys.path.insert(0, str(Path(__file__).parent))
from pandas_evaluator import flat_of_linked, violations
from schematron_counts import schematron_counts

HOUSEHOLDS = 400
OFF = 0.15 * HOUSEHOLDS
"""Of so many and more the sum in binary64 is another one before they are masked."""

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
    made = write_levels_demo(tmp_path_factory.mktemp("cents"), HOUSEHOLDS)
    for path in (made.households, made.persons):
        table = pd.read_csv(path, dtype=str)
        for name in [each for each in [*ROW, *MEMBERS, "rent"] if each in table]:
            table[name] = table[name].astype(int).map(lambda cents: f"{cents // 100}.{cents % 100:02d}")
        table.to_csv(path, index=False)
    return made.edits.parent


def run(folder: Path, name: str, steps: list[dict[str, Any]], **changes: Any) -> tuple[dict[str, Any], pd.DataFrame]:
    settings = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))
    settings.pop("thresholds")
    settings.pop("waive")
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
    assert off_in_binary64(flat_of_linked(folder / "households.csv", folder / "persons.csv")) > OFF
    record, flat = run(folder, way, WAYS[way])
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    assert off_in_binary64(flat) == 0
    assert any(
        text["message"].startswith("published in steps that binary64 adds exactly") for text in record["notices"]
    )
    if way == "derive":
        assert flat.groupby(MEMBERS)["hhid"].nunique().min() >= 5
        assert flat.drop_duplicates("hhid").groupby(["child_benefit", "capital", "tax"]).size().min() >= 5


def test_nested_xml_holds_for_an_engine_that_adds_in_document_order(folder: Path) -> None:
    """XPath adds in binary64: of sums with cents one in four would fail."""
    nested, schema = folder / "survey.xml", folder / "sums.sch"
    rows = {
        name: pd.read_csv(folder / f"{name}.csv", dtype=str).to_dict("records") for name in ("households", "persons")
    }
    homes: dict[str, str] = {}
    for each in rows["persons"]:
        cells = "".join(f"<{name}>{text}</{name}>" for name, text in each.items() if name != "hhid")
        homes[each["hhid"]] = homes.get(each["hhid"], "") + f"<Person>{cells}</Person>"
    text = "".join(
        "<Household>" + "".join(f"<{name}>{cell}</{name}>" for name, cell in each.items()) + homes[each["hhid"]]
        + "</Household>\n"
        for each in rows["households"]
    )  # fmt: skip
    nested.write_text(f"<Survey>\n{text}</Survey>\n", encoding="utf-8")
    schema.write_text(
        """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="total"><rule context="Household">
<assert test="sum(Person/income) + number(child_benefit) + number(capital) = number(total)">Sum.</assert>
</rule></pattern></schema>""",
        encoding="utf-8",
    )
    settings = yaml.safe_load((folder / "nested.yaml").read_text(encoding="utf-8"))
    settings["data"]["variables"] = yaml.safe_load((folder / "flat.yaml").read_text(encoding="utf-8"))["data"][
        "variables"
    ]
    settings |= {"edits": [{"schematron": "sums.sch"}], "output": {"data": "sums.xml"}, "on_input_violation": "mask"}
    settings["protect"] = [{"method": "microaggregation"} | step for step in WAYS["derive"]]
    (folder / "sums.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert schematron_counts(schema, nested)["total"][0] > OFF
    mw.run(folder / "sums.yaml")
    assert schematron_counts(schema, folder / "sums.xml") == {"total": (0, HOUSEHOLDS)}


BY_STATUS = "sum(person.income where status == 'work') + sum(person.income where status != 'work')"


@pytest.mark.parametrize("keys", [[], ["status"], pytest.param(["region"], marks=pytest.mark.slow)])
def test_texts_that_are_read_or_suppressed_take_no_numbers_off_their_steps(folder: Path, keys: list[str]) -> None:
    rules = (folder / "edits.yaml").read_text(encoding="utf-8").replace("sum(person.income) +", f"{BY_STATUS} +")
    assert BY_STATUS in rules
    (folder / "by_status.yaml").write_text(rules, encoding="utf-8")
    steps = [step | {"params": FREE} for step in WAYS["derive"]]
    if keys:
        steps.append({"method": "local_suppression", "params": {"k": 3, "keys": keys}})
    record, flat = run(folder, "by_status_masked", steps, edits=[{"yaml": "by_status.yaml"}])
    assert off_in_binary64(flat) == 0
    assert any(
        text["message"].startswith("published in steps that binary64 adds exactly") for text in record["notices"]
    )


def test_what_stands_with_decimals_is_told(folder: Path) -> None:
    """A part that no step masks keeps its decimals, and the sum its last bit; it is exact in decimals."""
    declared = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))["data"]
    declared["variables"] |= {"capital": {"role": "other"}}
    steps = [{"variables": [name for name in ROW if name != "capital"], "params": K}, WAYS["derive"][1]]
    record, flat = run(folder, "stands", steps, data=declared)
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    assert any(
        "edit 'total-sum' adds decimals over members and is kept in decimals" in text["message"]
        for text in record["notices"]
    )


def test_whole_amounts_are_left_as_they_are(tmp_path: Path) -> None:
    folder = write_levels_demo(tmp_path, 200).edits.parent
    record, flat = run(folder, "whole_amounts", WAYS["derive"])
    assert off_in_binary64(flat) == 0
    assert not any("binary64" in text["message"] for text in record["notices"])
