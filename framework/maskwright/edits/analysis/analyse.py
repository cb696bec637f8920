"""Analysis of a set of rules: redundant rules, implied equalities, fixed variables, and all findings."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.data.number_text import plain_text
from maskwright.edits.algebra.polynomial import Elimination
from maskwright.edits.analysis.contradictions import (
    MOST_CLAUSES,
    MOST_EXACT_ROWS,
    MOST_UNDECIDED,
    contradiction,
    dead_branches,
    refutation,
    smallest_refuted,
    sources,
)
from maskwright.edits.analysis.statements import Analysis, Finding, Statement, components, statements
from maskwright.edits.reasoning.answers import Space
from maskwright.edits.reasoning.diophantine import reachable_on_grid
from maskwright.edits.reasoning.simplex import Conflict, Row, smallest, solve
from maskwright.foundation.counts import listed

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.reasoning.clauses import Clause
    from maskwright.foundation.errors import Place


MOST_RULES = 60
# Stands for: neither shown to follow nor not to.
UNDECIDED = ("", "undecided")


def redundant(component: Sequence[Statement]) -> tuple[list[Finding], int]:
    """Superfluous rules, and how many were only compared with parallel ones, of rules that can hold together.

    Of each its name, then the names of a smallest set of rules that it follows from. Of rules that follow from each
    other the last is reported; rules already reported are not used to show that another follows.
    """
    found = _weaker(component)
    redundant = {finding.edits[0] for finding in found}
    left = [each for each in component if each.name not in redundant]
    if len(left) > MOST_RULES:
        return found, sum(each.edit is not None for each in left)
    open_ones = 0
    for statement in reversed(left):
        if statement.edit is None or statement.negation is None:
            continue
        others = [each for each in left if each is not statement]
        because = _because(others, statement.negation)
        if because is UNDECIDED:
            open_ones += 1
            if open_ones >= MOST_UNDECIDED:
                open_ones = sum(each.edit is not None for each in left)
                break
        elif because is not None:
            left = others
            found.append(_superfluous(statement, because))
    order = {each.name: place for place, each in enumerate(component)}
    return sorted(found, key=lambda finding: order[finding.edits[0]]), open_ones


def _because(others: Sequence[Statement], negation: Clause) -> tuple[str, ...] | None:
    """Smallest set of statements with which `negation` cannot hold."""
    answer = refutation(others, more=(negation,))
    if answer is None or answer.is_open:
        return None if answer is None else UNDECIDED
    return smallest_refuted(others, sources(others, answer), more=(negation,))


def _superfluous(statement: Statement, because: Sequence[str]) -> Finding:
    message = f"{statement.name} follows from {listed(because)}" if because else f"{statement.name} always holds"
    return Finding("redundant", (statement.name, *because), message, statement.place, "It can be left out.")


def _weaker(component: Sequence[Statement]) -> list[Finding]:
    """Rules of one inequality that a parallel one makes superfluous; fast for any number of rules."""
    tightest: dict[Hashable, tuple[tuple[Fraction, bool], Statement]] = {}
    found: list[Finding] = []
    for statement in component:
        if not (statement.is_linear and len(statement.rows) == 1) or statement.rows[0].relation == "==":
            continue
        key, bound = _normal(statement.rows[0])
        known = tightest.get(key)
        if known is None:
            tightest[key] = (bound, statement)
            continue
        tighter, weaker = (known[1], statement) if known[0] <= bound else (statement, known[1])
        if weaker.edit is None:
            continue
        tightest[key] = (min(known[0], bound), tighter)
        found.append(_superfluous(weaker, (tighter.name,)))
    return found


def _normal(row: Row) -> tuple[Hashable, tuple[Fraction, bool]]:
    scale = abs(next(iter(sorted(row.coefficients.items())))[1])
    terms = frozenset((name, value / scale) for name, value in row.coefficients.items())
    return terms, (row.constant / scale, row.relation != "<")


def equalities(component: Sequence[Statement]) -> tuple[list[Finding], int]:
    """Inequalities that always hold with equality, variables with one possible value; and rules not analysed.

    Made strict together, inequalities that can be strict together are all satisfiable; a contradiction among them shows
    which are equalities: those in its proof.
    """
    rows = [row for each in component for row in each.rows]
    if len(rows) > MOST_EXACT_ROWS:
        return [], sum(each.edit is not None for each in component)
    places = {each.name: each.place for each in component}
    tight: dict[int, tuple[str, ...]] = {}
    while True:
        strict = [
            Row(row.source, row.coefficients, "==" if place in tight else row.relation, row.constant)
            if row.relation == "==" or place in tight
            else Row(row.source, row.coefficients, "<", row.constant)
            for place, row in enumerate(rows)
        ]
        answer = solve(strict)
        if not isinstance(answer, Conflict):
            break
        sources = tuple(dict.fromkeys(rows[place].source for place in sorted(answer.multipliers)))
        fresh = [place for place in answer.multipliers if rows[place].relation != "==" and place not in tight]
        if not fresh:
            break
        tight.update(dict.fromkeys(fresh, sources))
    equal = [
        Row(row.source, row.coefficients, "==", row.constant)
        for place, row in enumerate(rows)
        if row.relation == "==" or place in tight
    ]
    found = [
        _equality(rows[place], tight[place], places) for place in sorted(tight) if len(rows[place].coefficients) > 1
    ]
    order = {each.name: place for place, each in enumerate(component)}
    for name, value in _fixed(equal).items():
        needed = _needed(equal, tuple(dict.fromkeys(row.source for row in equal)), name)
        causes = {source for place, sources in tight.items() if rows[place].source in needed for source in sources}
        because = tuple(sorted({*needed, *causes}, key=lambda each: order[each]))
        # A rule that states the value itself is not reported.
        if len(because) > 1:
            message = f"{name} can only be {plain_text(float(value))} under {listed(because)}"
            found.append(Finding("fixed", because, message, places.get(because[0])))
    return list(dict.fromkeys(found)), 0


def _equality(row: Row, sources: tuple[str, ...], places: Mapping[str, Place | None]) -> Finding:
    others = [name for name in sources if name != row.source]
    because = f" because of {listed(others)}" if others else ""
    return Finding(
        "implied_equality",
        (row.source, *others),
        f"{row.source} can only hold with equality{because}",
        places.get(row.source),
        "State the equality, or correct the rules.",
    )


def _fixed(equal: Sequence[Row]) -> dict[str, Fraction]:
    """Variables that equations determine."""
    equations = Elimination[str]()
    for row in equal:
        equations.add(row.coefficients, row.constant)
    return {name: right for name, (terms, right) in equations.solved.items() if len(terms) == 1}


def _needed(equal: Sequence[Row], sources: Sequence[str], name: str) -> tuple[str, ...]:
    return smallest(sources, lambda some: name in _fixed([row for row in equal if row.source in some]))


# Equations times variables of a dense system of whole numbers.
MOST_GRID_CELLS = 20_000


def analyse(edits: Iterable[Edit], variables: Sequence[Variable] = (), *, thorough: bool = True) -> Analysis:
    """Contradictions, rules no published values can meet, superfluous rules, implied equalities, dead branches.

    Rules are taken apart into components that share no variable. Every finding is confirmed in exact arithmetic; what
    was not analysed, because a component is too large or a rule can only be evaluated, is counted with its reason.
    """
    every = list(edits)
    stated = statements(every, variables)
    decimals = {variable.name: variable.decimals for variable in variables if variable.is_numeric}
    found: list[Finding] = []
    skipped: Counter[str] = Counter()
    blind = sum(not each.is_whole for each in stated)
    if blind:
        skipped["in part or whole only evaluated, not reasoned about"] = blind
    never = sum(edit.shadowed for edit in every)
    if never:
        skipped["never fires: an earlier rule of its pattern matches the same records"] = never
    for component in components(stated):
        found.extend(_of_component(component, decimals, skipped, thorough))
    order = {edit.name: place for place, edit in enumerate(every)}
    found.sort(key=lambda finding: (not finding.blocks, order.get(finding.edits[0], len(order))))
    return Analysis(tuple(found), dict(skipped))


def _of_component(
    component: Sequence[Statement], decimals: Mapping[str, int | None], skipped: Counter[str], thorough: bool
) -> list[Finding]:
    rules = sum(each.edit is not None for each in component)
    names, doubt = contradiction(component)
    if doubt:
        skipped[doubt] += rules
    if names is not None:
        return [_contradiction(component, names)]
    blocked = _on_grid(component, decimals, skipped)
    if blocked is not None:
        return [blocked]
    if not thorough or doubt:
        return []
    found: list[Finding] = []
    for findings, left, reason in (
        (*redundant(component), "too many rules share variables: compared with parallel rules only"),
        (*equalities(component), "too many rules share variables: no search for implied equalities"),
        (*dead_branches(component), "branches not decided"),
    ):
        found.extend(findings)
        if left:
            skipped[reason] += left
    return found


def _contradiction(component: Sequence[Statement], names: tuple[str, ...]) -> Finding:
    several = len(names) > 1
    message = f"no record can satisfy {listed(names)}{' together' if several else ''}"
    hint = "Remove or change one of them." if several else "Change it."
    place = next((each.place for each in component if each.name == names[0]), None)
    return Finding("contradiction", names, message, place, hint)


def _on_grid(
    component: Sequence[Statement], decimals: Mapping[str, int | None], skipped: Counter[str]
) -> Finding | None:
    """Rules that numbers satisfy, but none with the published decimals."""
    rules = [each.edit for each in component if each.edit is not None]
    places = {each.name: each.place for each in component}
    equations = sum(row.relation == "==" for each in component for row in each.rows)
    width = len({name for each in component for name in each.variables})
    if equations * width > MOST_GRID_CELLS:
        skipped["too many equalities share variables: published decimals not checked"] += len(rules)
        return None
    blocked = reachable_on_grid(rules, decimals)
    if blocked is not None:
        message = f"no values with the published decimals satisfy {listed(blocked.edits)}"
        return Finding("unreachable_on_grid", blocked.edits, message, places.get(blocked.edits[0]), blocked.remedy)
    steps = {name: Fraction(1, 10**known) for name, known in decimals.items() if known is not None}
    if not steps or sum(len(each.clauses) for each in component) > MOST_CLAUSES:
        return None
    space = Space(steps)
    answer = refutation(component, space)
    if answer is None or answer.is_open:
        return None
    kept = smallest_refuted(component, [each.name for each in component], space)
    message = f"no values with the published decimals satisfy {listed(kept)}"
    hint = "Publish more decimals, or write a tolerance into one of them."
    return Finding("unreachable_on_grid", kept, message, places.get(kept[0]), hint)
