"""Rules on many members are answered with few choices; what is not allowed enough effort is left open."""

from __future__ import annotations

import itertools
from fractions import Fraction

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
