"""Everything that analysis has to say of a set of rules."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.analysis.branches import dead_branches
from maskwright.edits.analysis.contradictions import MOST_CLAUSES, contradiction, satisfiability_of
from maskwright.edits.analysis.finding import Analysis, Finding, listed
from maskwright.edits.analysis.implications import equalities, redundant
from maskwright.edits.analysis.statements import Statement, components, smallest, statements
from maskwright.edits.reasoning.answers import Refutation, Space
from maskwright.edits.reasoning.grids import reachable_on_grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit

# Equations times variables of a dense system of whole numbers.
MOST_GRID_CELLS = 20_000


def analyse(edits: Iterable[Edit], variables: Sequence[Variable] = (), *, thorough: bool = True) -> Analysis:
    """Contradictions, rules no published values can meet, superfluous rules, implied equalities, dead branches.

    Rules are taken apart into components that share no variable. Every finding is confirmed in exact arithmetic; what
    was not looked at, because a component is too large or a rule can only be evaluated, is counted with its reason.

    `variables`: gives declared bounds and published decimals. `thorough`: false looks only for what blocks:
    contradictions and unreachable grids.
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
        skipped["too many equalities share variables: published decimals not looked at"] += len(rules)
        return None
    blocked = reachable_on_grid(rules, decimals)
    if blocked is not None:
        message = f"no values with the published decimals satisfy {listed(blocked.edits)}"
        return Finding("unreachable_on_grid", blocked.edits, message, places.get(blocked.edits[0]), blocked.remedy)
    steps = {name: Fraction(1, 10**known) for name, known in decimals.items() if known is not None}
    if not steps or sum(len(each.clauses) for each in component) > MOST_CLAUSES:
        return None
    space = Space(steps)
    if not _excluded(component, space):
        return None
    kept = smallest(
        [each.name for each in component],
        lambda some: _excluded([each for each in component if each.name in some], space),
    )
    message = f"no values with the published decimals satisfy {listed(kept)}"
    hint = "Publish more decimals, or write a tolerance into one of them."
    return Finding("unreachable_on_grid", kept, message, places.get(kept[0]), hint)


def _excluded(component: Sequence[Statement], space: Space) -> bool:
    answer = satisfiability_of(component, space).answer()
    return isinstance(answer, Refutation) and not answer.is_open
