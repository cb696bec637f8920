"""Totals over members: exact in decimals, and in binary64 too where tests of Schematron add them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from lxml import etree

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


def in_steps(record: dict[str, Any]) -> bool:
    """Whether the record says that variables are published in binary steps."""
    messages = [text["message"] for text in record["notices"]]
    return any(each.startswith("published in steps that binary64 adds exactly") for each in messages)


@pytest.mark.parametrize("way", WAYS)
def test_totals_of_rules_are_exact_in_decimals_and_keep_all_of_them(folder: Path, way: str) -> None:
    record, flat = run(folder, way, WAYS[way])
    found = violations(flat)
    assert found == dict.fromkeys(found, 0)
    assert not in_steps(record)
    # An average has two decimals: of any other grid, binary64 finds none of them.
    assert off_in_binary64(flat) > 0
    if way == "derive":
        assert flat.groupby(MEMBERS)["hhid"].nunique().min() >= 5
        assert flat.drop_duplicates("hhid").groupby(["child_benefit", "capital", "tax"]).size().min() >= 5


@pytest.fixture(scope="module")
def nested(folder: Path) -> Path:
    """The survey as one document."""
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
    (folder / "survey.xml").write_text(f"<Survey>\n{text}</Survey>\n", encoding="utf-8")
    return folder


def run_nested(
    folder: Path, name: str, test: str, steps: list[dict[str, Any]], *edits: Any, **declared: Any
) -> dict[str, Any]:
    """Record of a run whose total is a test of Schematron."""
    (folder / f"{name}.sch").write_text(
        f"""<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="total"><rule context="Household">
<assert test="{test}">Sum.</assert></rule></pattern></schema>""",
        encoding="utf-8",
    )
    settings = yaml.safe_load((folder / "nested.yaml").read_text(encoding="utf-8"))
    flat = yaml.safe_load((folder / "flat.yaml").read_text(encoding="utf-8"))
    settings["data"]["variables"] = flat["data"]["variables"] | declared
    settings |= {
        "edits": [{"schematron": f"{name}.sch"}, *edits], "output": {"data": f"{name}.xml"},
        "on_input_violation": "mask", "protect": [{"method": "microaggregation"} | step for step in steps],
    }  # fmt: skip
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return dict(mw.run(folder / f"{name}.yaml").record)


SUM = "sum(Person/income) + number(child_benefit) + number(capital)"


@pytest.mark.parametrize("way", ["derive", pytest.param("adjust", marks=pytest.mark.slow)])
def test_nested_xml_holds_for_an_engine_that_adds_in_document_order(nested: Path, way: str) -> None:
    """XPath adds in binary64: of sums with cents one in four would fail."""
    record = run_nested(nested, f"sums_{way}", f"{SUM} = number(total)", WAYS[way])
    schema = nested / f"sums_{way}.sch"
    assert schematron_counts(schema, nested / "survey.xml")["total"][0] > OFF
    assert schematron_counts(schema, nested / f"sums_{way}.xml") == {"total": (0, HOUSEHOLDS)}
    assert in_steps(record)
    (message,) = [text["message"] for text in record["notices"] if "binary64 adds exactly" in text["message"]]
    assert "(total)" in message
    assert "with a tolerance in the test, abs(sum - total) <= 0.001" in message


def test_a_test_with_a_tolerance_leaves_all_decimals(nested: Path) -> None:
    close = f"{SUM} - number(total) &lt;= 0.01 and {SUM} - number(total) &gt;= -0.01"
    record = run_nested(nested, "close", close, [step | {"params": FREE} for step in WAYS["derive"]])
    assert not in_steps(record)
    assert schematron_counts(nested / "close.sch", nested / "close.xml") == {"total": (0, HOUSEHOLDS)}
    incomes = [float(each.text or "") for each in etree.parse(nested / "close.xml").iter("income")]
    assert any(income * 4 % 1 for income in incomes)


BY_STATUS = (
    "sum(Person[status = 'work']/income) + sum(Person[not(status = 'work')]/income) + number(child_benefit) "
    "+ number(capital)"
)


@pytest.mark.parametrize("keys", [[], ["status"], pytest.param(["region"], marks=pytest.mark.slow)])
def test_texts_that_are_read_or_suppressed_take_no_numbers_off_their_steps(nested: Path, keys: list[str]) -> None:
    steps = [step | {"params": FREE} for step in WAYS["derive"]]
    if keys:
        steps.append({"method": "local_suppression", "params": {"k": 3, "keys": keys}})
    assert in_steps(run_nested(nested, "by_status", f"{BY_STATUS} = number(total)", steps))


def test_whole_amounts_are_left_as_they_are(tmp_path: Path) -> None:
    folder = write_levels_demo(tmp_path, 200).edits.parent
    record, flat = run(folder, "whole_amounts", WAYS["derive"])
    assert off_in_binary64(flat) == 0
    assert not any("binary64" in text["message"] for text in record["notices"])
