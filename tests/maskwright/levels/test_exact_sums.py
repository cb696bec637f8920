"""Totals over members: exact in decimals, and in binary64 too where tests of Schematron add them."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from lxml import etree

import maskwright as mw
from maskwright.commands.demo.levels.files import write_levels_demo

sys.path.insert(0, str(Path(__file__).parent))
from pandas_evaluator import flat_of_linked, violations
from schematron_counts import schematron_counts

pytestmark = pytest.mark.waived("spike-lost")  # zeros of capital: these tests are about sums

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


def test_what_stands_with_decimals_is_told(nested: Path) -> None:
    """A part that no step masks keeps its decimals, and the sum its last bit."""
    steps = [{"variables": [name for name in ROW if name != "capital"], "params": K}, WAYS["derive"][1]]
    with pytest.raises(mw.EditViolation, match="lxml finds it broken in") as refused:
        run_nested(nested, "stands", f"{SUM} = number(total)", steps, capital={"role": "other"})
    assert refused.value.record is not None
    messages = [text["message"] for text in refused.value.record["notices"]]
    assert any("edit 'total' adds decimals over members and is kept in decimals" in each for each in messages)


def firms(firms: int = 150, seed: int = 5) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Firms, and plants whose sales are price times quantity, rounded to cents."""
    rng = np.random.default_rng(seed)
    plants = pd.DataFrame({"firm": np.repeat(np.arange(firms), rng.integers(1, 5, firms))})
    plants["plant"] = plants.groupby("firm").cumcount() + 1
    cents, quantity = rng.integers(200, 9000, len(plants)), rng.integers(1, 400, len(plants))
    plants["price"] = [f"{each // 100}.{each % 100:02d}" for each in cents]
    plants["quantity"] = quantity
    sales = cents * quantity
    plants["sales"] = [f"{each // 100}.{each % 100:02d}" for each in sales]
    total = pd.Series(sales).groupby(plants["firm"]).sum()
    turnover = [f"{each // 100}.{each % 100:02d}" for each in total]
    return pd.DataFrame({"firm": np.arange(firms), "turnover": turnover}), plants


PRODUCT = {"rule": "round(price * quantity, 2) == sales", "name": "turn"}
STEP = {"method": "microaggregation", "variables": ["turnover", "price", "quantity", "sales"], "params": {"k": 3}}


def test_a_product_that_is_added_over_members_moves_no_record(tmp_path: Path) -> None:
    """On steps of 0.25 most representatives would have to be moved, since few prices give such sales."""
    top, low = firms()
    top.to_csv(tmp_path / "firms.csv", index=False)
    low.to_csv(tmp_path / "plants.csv", index=False)
    settings = {
        "maskwright": 1,
        "data": {"levels": {"firm": {"source": "firms.csv", "key": "firm"},
                            "plant": {"source": "plants.csv", "key": "plant", "in": "firm"}}},
        "edits": [{"rule": "sum(plant.sales) == turnover", "name": "total"}, PRODUCT],
        "protect": [STEP],
        "output": {"data": {"firm": "masked_firms.csv", "plant": "masked_plants.csv"}},
        "seed": 1,
    }  # fmt: skip
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    record = mw.run(tmp_path / "p.yaml").record
    assert [(each["name"], each["violations"], each["adjusted"]) for each in record["edits"]
            if each["name"] in ("total", "turn")] == [("total", 0, 0), ("turn", 0, 0)]  # fmt: skip
    written = pd.read_csv(tmp_path / "masked_plants.csv", dtype=str)
    firm = pd.read_csv(tmp_path / "masked_firms.csv", dtype=str).set_index("firm")["turnover"].map(Decimal)
    sales = written["sales"].map(Decimal)
    added: dict[str, Decimal] = {}
    for name, sale in zip(written["firm"], sales, strict=True):
        added[name] = added.get(name, Decimal(0)) + sale
    assert added == firm.to_dict()
    products = written["price"].map(Decimal) * written["quantity"].map(Decimal)
    assert all(abs(product - sale) <= Decimal("0.005") for product, sale in zip(products, sales, strict=True))
    before = low["sales"].astype(float)
    assert float(sales.astype(float).mean()) == pytest.approx(before.mean(), rel=0.01)


def test_where_adjusting_to_binary_steps_distorts_the_doubt_names_steps_and_tolerance(tmp_path: Path) -> None:
    top, low = firms()
    cells = {
        firm: "".join(
            f"<Plant><plant>{one.plant}</plant><price>{one.price}</price><quantity>{one.quantity}</quantity>"
            f"<sales>{one.sales}</sales></Plant>" for one in own.itertuples()
        )
        for firm, own in low.groupby("firm")
    }  # fmt: skip
    records = "".join(f"<Firm><firm>{one.firm}</firm><turnover>{one.turnover}</turnover>{cells[one.firm]}</Firm>"
                      for one in top.itertuples())  # fmt: skip
    (tmp_path / "firms.xml").write_text(f"<File>{records}</File>", encoding="utf-8")
    (tmp_path / "sum.sch").write_text(
        """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="total"><rule context="Firm">
<assert test="sum(Plant/sales) = number(turnover)">Sum.</assert></rule></pattern></schema>""",
        encoding="utf-8",
    )
    settings = {
        "maskwright": 1,
        "data": {"source": "firms.xml",
                 "levels": {"firm": {"record": "Firm", "key": "firm"},
                            "plant": {"record": "Plant", "key": "plant", "in": "firm"}}},
        "edits": [{"schematron": "sum.sch"}, PRODUCT],
        "on_input_violation": "mask",
        "protect": [STEP],
        "output": {"data": "masked.xml"},
        "seed": 1,
    }  # fmt: skip
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    with pytest.raises(mw.OpenDoubts, match="adjustment-distorts: sales") as refused:
        mw.run(tmp_path / "p.yaml")
    said = str(refused.value)
    assert "tolerance, abs(sum - total) <= 0.01" in said
    assert "(sales in multiples of 0.25)" in said


def test_whole_amounts_are_left_as_they_are(tmp_path: Path) -> None:
    folder = write_levels_demo(tmp_path, 200).edits.parent
    record, flat = run(folder, "whole_amounts", WAYS["derive"])
    assert off_in_binary64(flat) == 0
    assert not any("binary64" in text["message"] for text in record["notices"])


def test_where_no_values_add_up_in_binary64_they_add_up_in_decimals(tmp_path: Path) -> None:
    """What one person has is given by what is not masked: two decimals, of which the double sum is another one."""
    rng = np.random.default_rng(5)
    capital, income = rng.integers(100, 90_000, (2, 60))
    total = capital + income
    cents = {name: [f"{cell // 100}.{cell % 100:02d}" for cell in cells.tolist()] for name, cells in
             (("capital", capital), ("income", income), ("total", total))}  # fmt: skip
    above = pd.DataFrame({"hid": range(60), "capital": cents["capital"], "total": cents["total"]})
    above.to_csv(tmp_path / "households.csv", index=False)
    pd.DataFrame({"hid": range(60), "pno": 1, "income": cents["income"]}).to_csv(tmp_path / "persons.csv", index=False)
    off = sum(float(a) + float(b) != float(c) for a, b, c in zip(*cents.values(), strict=True))
    settings = {
        "maskwright": 1, "seed": 1, "edits": ["sum(person.income) + capital == total"],
        "data": {
            "levels": {
                "household": {"source": "households.csv", "key": "hid"},
                "person": {"source": "persons.csv", "key": "pno", "in": "household"},
            },
            "variables": {"capital": {"role": "other"}, "total": {"role": "other"}},
        },
        "protect": [{"method": "additive_noise", "variables": ["income"], "params": {"p": 0.2}}],
        "output": {"data": {"household": "h.csv", "person": "p.csv"}},
        "waive": [{"doubt": "values-unchanged", "variable": "income", "because": "it is given by what is not masked"}],
    }  # fmt: skip
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    record = mw.run(tmp_path / "run.yaml").record
    flat = pd.read_csv(tmp_path / "h.csv", dtype=str).merge(pd.read_csv(tmp_path / "p.csv", dtype=str))
    exact = flat[["income", "capital", "total"]].map(Decimal)
    assert (exact["income"] + exact["capital"] == exact["total"]).all()
    told = [each["count"] for each in record["notices"] if each["kind"] == "sums-in-binary"]
    assert off > 0
    assert told == [off]
