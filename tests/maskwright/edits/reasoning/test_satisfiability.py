"""Rules on many members are answered with few choices; what is not allowed enough effort is left open."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Literal

import pytest

from maskwright.edits.reasoning.answers import Effort, Refutation, Space
from maskwright.edits.reasoning.clauses import Clause, TextSet, clause_of
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.edits.reasoning.simplex import Row

MEMBERS = [f"rel[{place}]" for place in range(1, 41)]
SPACE = Space(texts=dict.fromkeys(MEMBERS, ("1", "2", "3")))


def exactly_one() -> list[Clause]:
    """Of 40 members exactly one is the reference person: one clause for all, and one for each pair."""
    some = clause_of("one", tuple((TextSet(name, ("1",)),) for name in MEMBERS))
    pairs = itertools.combinations(MEMBERS, 2)
    return [
        some,
        *(clause_of("one", ((TextSet(a, ("1",), False),), (TextSet(b, ("1",), False),))) for a, b in pairs),
    ]


def test_clauses_that_hold_already_need_no_choice() -> None:
    hints = dict.fromkeys(MEMBERS, "2") | {MEMBERS[0]: "1"}
    another = clause_of("", ((TextSet(MEMBERS[0], ("1",), False),),))
    found = Satisfiability([*exactly_one(), another], SPACE, {}, hints, most_choices=100).answer()
    assert not isinstance(found, Refutation)
    assert sum(found[name] == "1" for name in MEMBERS) == 1
    assert found[MEMBERS[0]] != "1"


def test_the_one_who_is_left_follows() -> None:
    fixed = dict.fromkeys(MEMBERS[1:], "2")
    another = clause_of("", ((TextSet(MEMBERS[0], ("1",), False),),))
    found = Satisfiability([*exactly_one(), another], SPACE, fixed, most_choices=100).answer()
    assert isinstance(found, Refutation)
    assert not found.is_open
    assert found.variables == set(MEMBERS[1:])


@pytest.mark.parametrize(("effort", "is_open"), [(1_000, False), (1, True)])
def test_without_effort_nothing_is_decided(effort: int, is_open: bool) -> None:
    rows = [
        Row("", {"a": Fraction(1), "b": Fraction(1)}, "==", Fraction(3)),
        Row("", {"a": Fraction(1)}, "<", Fraction(1)),
    ]
    clauses = [clause_of("", ((row,),)) for row in rows]
    space = Space(steps={"a": Fraction(1), "b": Fraction(1)})
    found = Satisfiability(clauses, space, {"b": Fraction(2)}, effort=Effort(effort)).answer()
    assert isinstance(found, Refutation)
    assert found.is_open == is_open


def test_numbers_on_different_grids_are_found_near_by_where_going_deeper_never_ends() -> None:
    """A wage in cents, an allowance in whole units, and hours times rate within a tolerance: 1.07 is one of many."""
    cent = Fraction(1, 100)
    space = Space(steps={"wage": cent, "rate": cent, "allowance": Fraction(1)}, texts={})
    demands: list[tuple[dict[str, int], Literal["==", "<=", "<"], Fraction]] = [
        ({"wage": 1, "allowance": 1}, "==", Fraction("2699.07")), ({"wage": -1}, "<", Fraction("-0.07")),
        ({"wage": 1}, "<=", Fraction("2699.07")), ({"rate": 128, "wage": -1}, "<=", Fraction(1, 2)),
        ({"rate": -128, "wage": 1}, "<=", Fraction(1, 2)),
    ]  # fmt: skip
    rows = [
        Row(str(place), {name: Fraction(each) for name, each in terms.items()}, relation, constant)
        for place, (terms, relation, constant) in enumerate(demands)
    ]
    found = Satisfiability([clause_of(row.source, ((row,),)) for row in rows], space, {}, {}).answer()
    assert not isinstance(found, Refutation)
    values = {name: value for name, value in found.items() if isinstance(value, Fraction)}
    assert all((values[name] / step).denominator == 1 for name, step in space.steps.items())
    totals = [sum(values[name] * each for name, each in row.coefficients.items()) for row in rows]
    assert all(row.holds_at(total) for row, total in zip(rows, totals, strict=True))
