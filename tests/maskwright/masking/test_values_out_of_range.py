"""Values that leave the range of the original: said early, counted afterwards, never with a value."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.edits.analysis.statements import lines_of_signs
from maskwright.foundation.progress import Quiet

if TYPE_CHECKING:
    from pathlib import Path


class _Told(Quiet):
    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)


def _frame(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.integers(1, 90, n), "b": rng.integers(0, 70, n), "e": rng.integers(-9, 9, n)})
    frame["t"] = frame["a"] + frame["b"]
    return frame


def _told(frame: pd.DataFrame, method: str, edits: list[str], **params: object) -> list[str]:
    reporter = _Told()
    declared = {name: {"decimals": 0} for name in frame}
    mw.protect(frame, method, edits=edits, seed=1, params=params, declared=declared, reporter=reporter)
    return reporter.notices


def test_negative_values_are_foretold_and_counted_with_the_lines_that_prevent_them() -> None:
    """A total of two amounts needs no line of its own."""
    notices = _told(_frame(), "additive_noise", ["a + b = t"], p=1)
    early = "additive_noise may give values below 0, which the original has not; where a variable cannot be negative, "
    assert notices[0] == early + "add to the edits: `- a >= 0`, `- b >= 0`"
    (late,) = [each for each in notices if each.startswith("masked values below 0, where the original has none: a (")]
    assert late.endswith("add to the edits: `- a >= 0`, `- b >= 0`")
    (beyond,) = [each for each in notices if each.startswith("masked values beyond")]
    assert "e (" in beyond


def test_counts_are_those_of_the_masked_values() -> None:
    frame, reporter = _frame(), _Told()
    masked = mw.protect(frame, "additive_noise", edits=[], seed=1, params={"p": 1}, reporter=reporter)
    assert any(f"a ({int((masked.a < 0).sum())})" in each for each in reporter.notices if "below 0, where" in each)


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
@pytest.mark.parametrize("rule", ["a >= 0", "0 <= a <= 90", "a in [0, 90]", "a >= 5", "a in {1, 2, 3, 4, 5}"])
def test_a_bound_that_is_stated_is_not_advised(rule) -> None:
    frame = _frame()
    frame["a"] = frame["a"] % 5 + 1
    notices = _told(frame, "additive_noise", [rule], p=1)
    assert not any("`- a >= 0`" in each for each in notices)
    assert not any("a (" in each for each in notices if "below 0, where" in each)


def test_declared_bounds_are_stated_bounds() -> None:
    reporter = _Told()
    declared = {"a": {"decimals": 0, "min": 0}}
    mw.protect(_frame()[["a"]], "additive_noise", edits=[], seed=1, declared=declared, reporter=reporter)
    assert not any("`- a" in each for each in reporter.notices)


def test_methods_that_keep_ranges_are_not_suspected() -> None:
    assert not any("below 0" in each for each in _told(_frame(), "microaggregation", ["a >= 0"], k=3))


def test_names_that_need_quotes_get_them() -> None:
    assert lines_of_signs(mw.EditSet(), ["net income", "x"]) == ("`net income` >= 0", "x >= 0")


@settings(max_examples=60 if os.environ.get("SLOW") else 25)
@given(
    rules=st.lists(
        st.sampled_from(
            [
                "a + b = t",
                "a >= 0",
                "b >= 0",
                "t >= 0",
                "a <= b",
                "b <= c",
                "a >= 2",
                "2 * a - c >= 0",
                "if a > 1 then b >= 0",
            ]
        ),
        unique=True,
    )
)
def test_lines_are_enough_and_none_is_superfluous(rules) -> None:
    """With them no point of the rules is negative; without one of them some is, unless the rule was stated under an if.

    An independent oracle: linear programming with SciPy.
    """
    from scipy.optimize import linprog

    names = ["a", "b", "c", "t"]
    rows = {
        "a + b = t": [[-1, -1, 0, 1], [1, 1, 0, -1]], "a >= 0": [[-1, 0, 0, 0]], "b >= 0": [[0, -1, 0, 0]],
        "t >= 0": [[0, 0, 0, -1]], "a <= b": [[1, -1, 0, 0]], "b <= c": [[0, 1, -1, 0]],
        "2 * a - c >= 0": [[-2, 0, 1, 0]], "c >= 0": [[0, 0, -1, 0]],
    }  # fmt: skip

    def lowest(name: str, lines: list[str]) -> float:
        linear = [row for rule in lines if rule in rows for row in rows[rule]]
        low = [(2.0 if name == "a" and "a >= 2" in lines else None, None) for name in names]
        found = linprog(
            [float(name == other) for other in names], A_ub=linear or None, b_ub=[0.0] * len(linear) or None, bounds=low
        )
        return float(found.fun) if found.status == 0 else -np.inf

    lines = list(lines_of_signs(mw.EditSet.parse(rules), names))
    conditional = {"b"} if "if a > 1 then b >= 0" in rules else set()
    for name in names:
        if name not in conditional:
            assert lowest(name, [*rules, *lines]) >= -1e-9
    for line in lines:
        rest = [other for other in lines if other != line]
        assert lowest(line.split()[0], [*rules, *rest]) < -1e-9


def test_rounding_takes_nothing_below_zero() -> None:
    notices = _told(_frame()[["a", "b", "t"]], "rounding", [], base=50)
    assert not any("below 0" in each for each in notices)


def test_numbers_that_become_bands_are_not_beyond_the_original() -> None:
    reporter = _Told()
    declared = {"a": {"role": "quasi_identifier", "hierarchy": {"bands": [[30, 60, 120], [30, 120]]}}}
    mw.protect(
        _frame()[["a"]] + 29, "generalisation", declared=declared, params={"k": 5, "suppression_limit": 0.6}, seed=1,
        reporter=reporter,
    )  # fmt: skip
    assert not any("beyond the smallest or largest" in each for each in reporter.notices)


def test_a_run_keeps_what_is_to_be_read_before_it_is_published(tmp_path: Path) -> None:
    """Negative values where none were, and records that are alone in what is published unmasked."""
    _frame().assign(place=range(len(_frame()))).to_csv(tmp_path / "people.csv", index=False)
    declared = {name: {"decimals": 0} for name in "abet"} | {"place": {"role": "other"}}
    described = {
        "maskwright": 1, "data": {"source": str(tmp_path / "people.csv"), "variables": declared},
        "protect": [{"method": "additive_noise", "variables": list("abet"), "params": {"p": 1}}],
        "output": {"data": str(tmp_path / "masked.csv")}, "seed": 1,
    }  # fmt: skip
    reporter = _Told()
    record = mw.run(described, reporter=reporter).record
    cautions = [each["message"] for each in record["notices"] if each["is_caution"]]
    unique, below = sorted(cautions, key=lambda each: "below 0" in each)
    assert "unique on the variables that are published unmasked (place)" in unique
    assert below.startswith("masked values below 0, where the original has none: a (")
    assert set(cautions) == {each for each in reporter.notices if isinstance(each, mw.Caution)}
    assert len(cautions) < len(record["notices"])
