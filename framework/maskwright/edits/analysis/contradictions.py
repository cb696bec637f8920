"""Rules that exclude each other: a smallest set of them, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.algebra.conjunctions import merge
from maskwright.edits.analysis.linear_programs import suspects
from maskwright.edits.analysis.statements import Statement, smallest
from maskwright.edits.reasoning.answers import Refutation, Space
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.edits.reasoning.simplex import Row, conflict

if TYPE_CHECKING:
    from collections.abc import Sequence


# Systems up to this size go straight to exact arithmetic; larger ones are first narrowed down in binary64.
MOST_EXACT_ROWS = 60
MOST_CONFIRMED_ROWS = 300
MOST_FILTERED = 30
MOST_CLAUSES = 150
# Alternatives tried for whether some rules can hold together.
MOST_TRIED = 60


def contradiction(component: Sequence[Statement]) -> tuple[tuple[str, ...] | None, str]:
    """Contradiction in statements that share variables, and what was not looked at ('' if nothing).

    It is a smallest set of rules, by name, in file order (``bounds of V3`` for declared bounds): leaving out any one of
    them removes this contradiction. Looked at are linear, range, set and governing rules, products as far as they go,
    and declared bounds. Where there are many rules they are narrowed down by linear programming in binary64; the
    answer is confirmed in exact arithmetic.
    """
    found = _empty_range(component)
    if found is not None:
        return found, ""
    names, verified = _linear_conflict(component)
    if names is not None:
        return names, ""
    doubt = "" if verified else "consistent in binary arithmetic, not confirmed in exact arithmetic"
    if all(each.is_linear for each in component):
        return None, doubt
    if sum(len(each.clauses) for each in component) > MOST_CLAUSES:
        return None, doubt or f"more than {MOST_CLAUSES} rules share variables: branches and sets not looked at"
    return _branching_conflict(component)


def _branching_conflict(component: Sequence[Statement]) -> tuple[tuple[str, ...] | None, str]:
    answer = satisfiability_of(component).answer()
    if not isinstance(answer, Refutation):
        return None, ""
    if answer.is_open:
        return None, "products or many branches: not decided"

    def contradict(some: Sequence[str]) -> bool:
        reply = satisfiability_of([each for each in component if each.name in some]).answer()
        return isinstance(reply, Refutation) and not reply.is_open

    return smallest(_sources(component, answer), contradict), ""


def satisfiability_of(component: Sequence[Statement], space: Space | None = None) -> Satisfiability:
    """Whether statements can hold together, nothing fixed."""
    return Satisfiability(
        [clause for each in component for clause in each.clauses], space or Space(), {}, most_choices=MOST_TRIED
    )


def _sources(component: Sequence[Statement], answer: Refutation) -> tuple[str, ...]:
    owners = [each.name for each in component for _ in each.clauses]
    used = {owners[position] for position in answer.clauses if position >= 0}
    return tuple(each.name for each in component if each.name in used)


def _empty_range(component: Sequence[Statement]) -> tuple[str, ...] | None:
    """Ranges and lists of one variable that have no value in common."""
    by_variable: dict[str, dict[str, list[Statement]]] = {}
    for each in component:
        for part in each.ranges:
            by_variable.setdefault(part.variable, {}).setdefault(each.name, []).append(each)
    for variable, owners in by_variable.items():

        def contradict(
            names: Sequence[str], variable: str = variable, owners: dict[str, list[Statement]] = owners
        ) -> bool:
            parts = [
                part for name in names for each in owners[name] for part in each.ranges if part.variable == variable
            ]
            return merge(list(parts)) is None

        if contradict(list(owners)):
            return smallest(list(owners), contradict)
    return None


def _linear_conflict(component: Sequence[Statement]) -> tuple[tuple[str, ...] | None, bool]:
    """Contradicting rows that hold for every record; and whether their absence is confirmed."""
    rows = {each.name: list(each.rows) for each in component if each.rows}

    def of(names: Sequence[str]) -> list[Row]:
        return [row for name in names for row in rows[name]]

    every = of(list(rows))
    narrowed, verified = (every, True) if len(every) <= MOST_EXACT_ROWS else suspects(every)
    found = conflict(narrowed) if narrowed else None
    if found is None and not verified and len(every) <= MOST_CONFIRMED_ROWS:
        found, verified = conflict(every), True
    if found is None:
        return None, verified
    # These rows are irreducible, but an edit may have further rows with which fewer edits already contradict.
    names = [name for name in rows if any(row.source == name for row in found)]
    if len(of(names)) == len(found) or len(names) > MOST_FILTERED:
        return tuple(names), True
    return smallest(names, lambda some: conflict(of(some)) is not None), True
