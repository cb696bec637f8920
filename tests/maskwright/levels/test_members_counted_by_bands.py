"""Edits that count members by a condition hold of published bands, where each lies on one side of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

ADULT = "count(person where age >= 18) > 0"
ADULTS = "count(person where age >= 18 and age < 65) == adults"
ADULT_BANDS = {"18 to below 40", "40 to below 65", "65 and above"}


def survey(seed: int = 1) -> pd.DataFrame:
    """Households whose first member is grown up; one in ten of the others has no age."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 50)
    homes = np.repeat(np.arange(50), sizes)
    first = np.r_[True, homes[1:] != homes[:-1]]
    age = np.where(first, rng.integers(18, 80, len(homes)), rng.integers(0, 80, len(homes)))
    frame = pd.DataFrame({
        "hid": homes + 1, "pno": np.concatenate([np.arange(n) + 1 for n in sizes]), "age": age,
        "rent": rng.integers(300, 900, 50)[homes], "income": rng.integers(0, 4000, len(homes)),
    })  # fmt: skip
    working = frame["age"].between(18, 64)
    return frame.assign(adults=working.groupby(homes).transform("sum"))


def pipeline(folder: Path, edits: list[str], borders: list[int], frame: pd.DataFrame, **more: Any) -> Path:
    frame.to_csv(folder / "d.csv", index=False)
    described = {
        "maskwright": 1,
        "data": {
            "source": "d.csv",
            "levels": {
                "household": {"key": "hid", "variables": ["rent", "adults"]},
                "person": {"key": "pno", "in": "household"},
            },
            "variables": {"age": {"role": "quasi_identifier"}, "adults": {"release": "as is"}},
        },
        "edits": edits,
        "protect": [
            {"method": "recoding", "variables": ["age"], "params": {"recode": {"age": borders}, **more}},
            {"method": "microaggregation", "variables": ["rent"], "params": {"k": 3}},
            {"method": "microaggregation", "variables": ["income"], "params": {"k": 3}},
        ],
        "output": {"data": "m.csv", "edits": "m.edits.yaml"},
        "seed": 1,
    }
    path = folder / "p.yaml"
    path.write_text(yaml.safe_dump(described, sort_keys=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("gaps", [False, True])
def test_counts_by_a_border_of_the_bands_are_kept(tmp_path: Path, gaps: bool) -> None:
    frame = survey().astype({"age": "Int64"})
    edits = [ADULT] if gaps else [ADULT, ADULTS]
    if gaps:
        frame.loc[(frame["pno"] > 1) & (frame.index % 10 == 0), "age"] = pd.NA
    done = mw.run(pipeline(tmp_path, edits, [18, 40, 65], frame))
    assert done.ok
    masked = pd.read_csv(tmp_path / "m.csv")
    grown = masked["age"].isin(ADULT_BANDS).groupby(masked["hid"]).sum()
    assert (grown > 0).all()
    working = masked["age"].isin(ADULT_BANDS - {"65 and above"}).groupby(masked["hid"]).sum()
    if not gaps:
        assert (working == masked.groupby("hid")["adults"].first()).all()
    kept = {each["name"]: each["kept_by"] for each in done.record["edits"]}
    assert {kept[f"edit-{number}"] for number in range(1, len(edits) + 1)} == {"construction"}
    rules = yaml.safe_load((tmp_path / "m.edits.yaml").read_text(encoding="utf-8"))
    assert rules[0] == "count(person where age in {'18 to below 40', '40 to below 65', '65 and above'}) > 0"
    checked = ["validate", str(tmp_path / "m.csv"), "--edits", str(tmp_path / "m.edits.yaml"), "--pipeline",
               str(tmp_path / "p.yaml")]  # fmt: skip
    assert main(checked) == 0
    alone = masked["hid"] == masked["hid"].iloc[0]
    masked.loc[alone, "age"] = "below 18"
    masked.to_csv(tmp_path / "m.csv", index=False)
    assert main(checked) == 1


def test_a_band_on_both_sides_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(mw.InputError, match="cannot be said of the categories with the same meaning") as refused:
        mw.run(pipeline(tmp_path, [ADULT], [20, 40], survey()))
    assert "border" in str(refused.value.problems[0].hint)
    done = mw.run(pipeline(tmp_path, [ADULT], [20, 40], survey(), release_edits={"drop": ["age"]}))
    assert done.ok


def test_what_steps_mask_besides_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mw.InputError, match="together with what steps mask"):
        mw.run(pipeline(tmp_path, ["sum(person.income where age >= 18) <= 20000"], [18, 40], survey()))
