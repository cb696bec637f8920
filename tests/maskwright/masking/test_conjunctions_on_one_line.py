"""Rules on one line are planned, kept and adjusted as the same rules on lines of their own, and told as one."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw

RULES = (
    "a >= 0", "a <= 40", "b >= 10", "a + b == s", "c >= 1", "c - d <= 5", "d in [0, 30]", "fixed >= 0", "e >= 0",
    "e + c >= fixed - 3",
)  # fmt: skip
GROUPS = (("a",), ("b", "s"), ("c",), ("d", "e"))


def survey(seed: int, count: int = 60) -> pd.DataFrame:
    """Records that satisfy every rule, many of them with equality."""
    random = np.random.default_rng(seed)
    found = pd.DataFrame({
        "a": random.integers(0, 41, count), "b": random.integers(10, 50, count), "d": random.integers(0, 31, count),
        "e": random.integers(0, 20, count),
    })  # fmt: skip
    found["s"] = found["a"] + found["b"]
    found["c"] = np.clip(random.integers(1, 40, count), 1, found["d"] + 5)
    found["fixed"] = np.minimum(random.integers(0, 9, count), found["e"] + found["c"] + 3)
    return found


def masked(data: pd.DataFrame, rules: list[str], *, method: str, params: dict[str, object]) -> pd.DataFrame:
    return mw.protect(
        data, method, edits=rules, seed=3, params={**params, "k_guarantee": "report"}, groups=GROUPS,
        declared={"fixed": {"release": "as is"}}, variables=[name for group in GROUPS for name in group],
    )  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> list[list[str]]:
    """The rules cut into lines, in order."""
    starts = draw(st.lists(st.booleans(), min_size=len(RULES) - 1, max_size=len(RULES) - 1))
    found = [[RULES[0]]]
    for rule, starts_line in zip(RULES[1:], starts, strict=True):
        if starts_line:
            found.append([rule])
        else:
            found[-1].append(rule)
    return found


@pytest.mark.waived("adjustment-distorts")
@settings(max_examples=8 if os.environ.get("SLOW") else 3)
@given(lines(), st.integers(0, 99), st.sampled_from(["microaggregation", "additive_noise"]))
def test_masked_values_do_not_depend_on_how_rules_stand_on_lines(
    found: list[list[str]], seed: int, method: str
) -> None:
    params: dict[str, object] = {"k": 4} if method == "microaggregation" else {"p": 1}
    data = survey(seed)
    apart = masked(data, [rule for line in found for rule in line], method=method, params=params)
    together = masked(data, [" and ".join(line) for line in found], method=method, params=params)
    pd.testing.assert_frame_equal(together, apart)


@pytest.mark.parametrize("rule", ["a >= 0 and c >= 1", "not(a < 0 or c < 1)"])
def test_bounds_on_one_line_cross_no_groups(rule: str) -> None:
    """Each of them is kept where its variable is masked: no record has to be moved, so that k can be promised."""
    plan = mw.plan(survey(1), "microaggregation", edits=[rule], params={"k": 4}, groups=GROUPS)
    assert all(unit.group is not None for unit in plan.units)
    assert [(each.edit, each.kept_by) for each in plan.keepers] == [("edit-1", "construction")]


def test_a_bound_of_what_stays_does_not_hold_up_the_others() -> None:
    """What no step masks holds as it is: rows that break the bound beside it are moved onto that."""
    data = survey(2)
    found = masked(data, ["fixed >= 0 and a >= 0 and c >= 1"], method="additive_noise", params={"p": 1})
    assert (found[["a"]] >= 0).all(axis=None)
    assert (found["c"] >= 1).all()
    assert ((found["a"] == 0) | (found["c"] == 1)).any()


def test_bounds_of_one_sum_stay_an_equality_with_a_tolerance() -> None:
    """``a - c`` within 2 of 0 is one part of a rule, also beside a bound of something else."""
    (alone,) = mw.EditSet.parse(["-2 <= a - c and a - c <= 2"])["edit-1"].parts
    data = survey(3).assign(a=lambda each: each["c"] + 2)
    rule = "-2 <= a - c and a - c <= 2"
    apart = mw.protect(data[["a", "c", "e"]], "additive_noise", edits=[rule, "e >= 0"], seed=1, params={"p": 1})
    together = mw.protect(data[["a", "c", "e"]], "additive_noise", edits=[f"{rule} and e >= 0"], seed=1,
                          params={"p": 1})  # fmt: skip
    assert isinstance(alone, mw.LinearPart)
    assert alone.tolerance == 2
    pd.testing.assert_frame_equal(together, apart)


def test_categories_on_one_line_are_adjusted_apart() -> None:
    random = np.random.default_rng(5)
    data = pd.DataFrame({name: random.choice(["x", "y", "z"], 80) for name in ("p", "q", "r")})
    data.loc[data["p"] == "z", "q"] = "x"
    rules = ['if p == "z" then q == "x"', 'r in {"x", "y", "z"}']
    apart = mw.plan(data, "pram", edits=rules, variables=["p", "q", "r"])
    together = mw.plan(data, "pram", edits=[" and ".join(f"({rule})" for rule in rules)], variables=["p", "q", "r"])
    assert [unit.variables for unit in together.category_units] == [unit.variables for unit in apart.category_units]
