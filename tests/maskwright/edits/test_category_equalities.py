"""Two categorical variables that a rule equates: kept by every method, and no emptied cell follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.data.variable import Variable
from maskwright.edits.edit import CheckedPart, GoverningPart, RangePart
from maskwright.edits.type_resolution import with_category_equalities

N = 300


def variable(name: str, *categories: str) -> Variable:
    return Variable(name, "nominal", "other", categories=categories)


@pytest.mark.parametrize("names", [["z0", "z1", "z2"], ["1", "2", "3"]])
@pytest.mark.parametrize("rule", ["home == work", "if level == 's' then home == work", "home != work"])
def test_pram_keeps_categories_equal(rule: str, names: list[str]) -> None:
    """Texts and codes that look like numbers alike."""
    rng = np.random.default_rng(4)
    home, level = rng.choice(names, N), rng.choice(["s", "o"], N)
    other = np.array(names)[(np.searchsorted(names, home) + 1) % 3]
    work = home if rule == "home == work" else other if "!=" in rule else np.where(level == "s", home, other)
    data = pd.DataFrame({"home": home, "work": work, "level": level})
    declared = {name: {"type": "nominal", "role": "quasi_identifier"} for name in ("home", "work")}
    declared["level"] = {"type": "nominal", "role": "other"}
    masked = mw.protect(
        data, "pram", edits=[rule], seed=1, declared=declared, params={"retain": 0.3}, variables=["home", "work"]
    )
    same = masked["home"].astype(str) == masked["work"].astype(str)
    wanted = ~same if "!=" in rule else same
    assert (wanted | (masked["level"] != "s") if "level" in rule else wanted).all()
    assert (masked["home"].astype(str) != home).mean() > 0.1


def test_an_emptied_cell_does_not_follow_from_its_equal() -> None:
    rng = np.random.default_rng(4)
    home = rng.choice(["z0", "z1", "z2"], N)
    frame = pd.DataFrame({"home": home, "work": home, "key": rng.choice(list("abcdefghijklmnopqrst"), N)})
    declared: dict[str, dict[str, Any]] = {
        name: {"type": "nominal", "role": "quasi_identifier"} for name in ("home", "key")
    } | {"work": {"type": "nominal", "role": "other"}}
    masked = mw.protect(
        frame, "local_suppression", edits=["home == work"], seed=1, declared=declared,
        params={"k": 5, "importance": {"key": 9}}, variables=["home", "key"],
    )  # fmt: skip
    gone = masked["home"].isna()
    assert gone.any()
    assert masked.loc[gone, "work"].isna().all()


def test_parts_say_which_categories_go_together_and_the_rule_stays() -> None:
    stated = mw.EditSet.parse(["home == work", "home + work == 3", "a == b"])
    found = with_category_equalities(
        stated, [variable("home", "1", "2"), variable("work", "01", "3"), Variable("a", "integer"), variable("b", "1")]
    )
    assert found["edit-1"].text == "home == work"
    one, two = found["edit-1"].parts
    assert isinstance(one, RangePart | GoverningPart)
    assert isinstance(two, RangePart | GoverningPart)
    assert (found["edit-2"], found["edit-3"]) == (stated["edit-2"], stated["edit-3"])
    many = [variable(name, *(str(i) for i in range(99))) for name in ("home", "work")]
    (part,) = with_category_equalities(stated, many)["edit-1"].parts
    assert isinstance(part, CheckedPart)
