"""Masked values of levels beyond the range of the original: counted in what is released, recounted by pandas."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.commands.demo.levels.files import write_levels_demo

sys.path.insert(0, str(Path(__file__).parent))
from pandas_evaluator import flat_of_linked, read_flat

pytestmark = pytest.mark.waived("spike-lost")  # strong noise leaves no zeros

INCOMES = ["wages", "selfe", "pens", "bene", "income"]
ROWS = ["child_benefit", "capital", "tax", "total", "disp"]
NOISE = {"method": "additive_noise", "params": {"p": 2}}
NO_BOUNDS = ("household-signs", "person-signs", "tax-at-most-half", "income-within-total", "benefit-for-children")
BELOW, BEYOND = (
    "masked values below 0, where the original has none: ",
    "masked values beyond the smallest or largest one of the original: ",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = write_levels_demo(tmp_path_factory.mktemp("levels"), 600)
    rules = yaml.safe_load(files.edits.read_text(encoding="utf-8"))
    rules = [rule for rule in rules if rule["name"] not in NO_BOUNDS]
    files.edits.write_text(yaml.safe_dump(rules, sort_keys=False), encoding="utf-8")
    return files.edits.parent


def by_level(**own: Any) -> list[dict[str, Any]]:
    report = {"k": 5, "k_guarantee": "report", "totals": {"total": "adjust"}}
    return [
        {**NOISE, "variables": ROWS[:3], **own},
        {"method": "microaggregation", "variables": ROWS[3:], "params": report},
        {**NOISE, "variables": INCOMES, **own},
    ]


def run(folder: Path, form: str, steps: list[dict[str, Any]]) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    """The record, the original records that were masked, and the masked ones; rows as in the flat file."""
    settings = yaml.safe_load((folder / f"{form}.yaml").read_text(encoding="utf-8"))
    data: Any = "m.csv" if form == "flat" else {"household": "m_h.csv", "person": "m_p.csv"}
    output = {"data": data, "key_map": "keys.csv", "record": "r.json"}
    settings |= {"protect": steps, "measure": ["sse"], "seed": 7, "output": output}
    settings.pop("thresholds", None)
    settings.pop("waive", None)
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    record = dict(mw.run(path).record)
    flat = form == "flat"
    before, after = (
        read_flat(folder / one) if flat else flat_of_linked(folder / two, folder / three)
        for one, two, three in (("survey.csv", "households.csv", "persons.csv"), ("m.csv", "m_h.csv", "m_p.csv"))
    )
    keys = pd.read_csv(folder / "keys.csv", dtype=str)
    return record, before.iloc[keys["original_person"].astype(int) - 1], after


def recounted(before: pd.DataFrame, after: pd.DataFrame) -> tuple[dict[str, int], dict[str, int]]:
    """Values below 0 where there was none, and others beyond the range, of each variable with such values."""
    below: dict[str, int] = {}
    beyond: dict[str, int] = {}
    for name in [*ROWS, *INCOMES]:
        own = after.drop_duplicates("hhid") if name in ROWS else after
        old, new = before[name].astype(float), own[name].astype(float)
        negative = (new < 0) & bool((old >= 0).all())
        outside = ((new < old.min()) | (new > old.max())) & ~negative
        for counts, found in ((below, negative), (beyond, outside)):
            if found.any():
                counts[name] = int(found.sum())
    return below, beyond


def told(record: dict[str, Any], start: str) -> dict[str, int]:
    """Counts of the one notice that starts so; none without it."""
    found = [text for text in [each["message"] for each in record["notices"]] if text.startswith(start)]
    assert len(found) <= 1
    listed = found[0][len(start) :].split(";")[0] if found else ""
    return {name: int(count) for name, count in re.findall(r"(\w+) \((\d+)\)", listed)}


@pytest.mark.parametrize("form", ["flat", "linked"])
@pytest.mark.waived("adjustment-distorts")
def test_levels_masked_by_steps_of_their_own(folder: Path, form: str) -> None:
    """What is counted is released: after totals were kept, and members moved onto them."""
    record, before, after = run(folder, form, by_level())
    assert any("were moved with their members onto edits" in text["message"] for text in record["notices"])
    below, beyond = recounted(before, after)
    assert set(below) & set(INCOMES)
    assert set(below) & set(ROWS)
    assert set(beyond) & set(INCOMES)
    assert told(record, BELOW) == below
    assert told(record, BEYOND) == beyond


def test_derived_totals_are_counted_too(folder: Path) -> None:
    steps = [{**NOISE, "variables": ROWS}, {**NOISE, "variables": INCOMES}]
    record, before, after = run(folder, "linked", steps)
    below, beyond = recounted(before, after)
    assert "total" in {**below, **beyond}
    assert (told(record, BELOW), told(record, BEYOND)) == (below, beyond)


def test_whole_groups(folder: Path) -> None:
    amounts = [*ROWS, *INCOMES]
    steps = [{"method": "multiplicative_noise", "params": {"p": 0.5}, "variables": amounts, "unit": "household"}]
    record, before, after = run(folder, "linked", steps)
    below, beyond = recounted(before, after)
    assert set(beyond) & set(ROWS)
    assert set(beyond) & set(INCOMES)
    assert (told(record, BELOW), told(record, BEYOND)) == (below, beyond)
