"""Branches of governing rules that no record can take, and consequents that can never hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.analysis.contradictions import MOST_TRIED
from maskwright.edits.analysis.finding import Finding
from maskwright.edits.edit import GoverningPart
from maskwright.edits.reasoning.answers import Refutation, Space
from maskwright.edits.reasoning.clauses import Choice, Clause, clause_of, condition_choice, conjunction_choice
from maskwright.edits.reasoning.satisfiability import Satisfiability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.edits.analysis.statements import Statement

MOST_CLAUSES = 150
MOST_UNDECIDED = 3


def dead_branches(component: Sequence[Statement]) -> tuple[list[Finding], int]:
    """Branches that are never taken, and how many governing rules were not looked at."""
    governing = [each for each in component if any(isinstance(part, GoverningPart) for part in each.parts)]
    if sum(len(each.clauses) for each in component) > MOST_CLAUSES:
        return [], len(governing)
    found: list[Finding] = []
    skipped = 0
    for place, statement in enumerate(governing):
        if skipped >= MOST_UNDECIDED:
            skipped += len(governing) - place
            break
        findings, looked = _of(statement, component)
        found.extend(findings)
        skipped += not looked
    return found, skipped


def _of(statement: Statement, component: Sequence[Statement]) -> tuple[list[Finding], bool]:
    found: list[Finding] = []
    looked = True
    clauses = [clause for each in component for clause in each.clauses]
    # The rule itself must not be what excludes its own consequent.
    others = [clause for each in component if each is not statement for clause in each.clauses]
    for part in statement.parts:
        if not isinstance(part, GoverningPart):
            continue
        name = statement.name
        agreed = condition_choice(name, part.condition, True)
        refused = condition_choice(name, part.condition, False)
        then = conjunction_choice(name, part.consequent)
        other = conjunction_choice(name, part.otherwise) if part.otherwise else None
        for choice, message, hint in (
            (agreed, f"the condition of {name} can never be met: its 'then' is never asked for", _CHECK),
            (refused, f"the condition of {name} is always met: its 'then' holds for every record", _PLAIN),
        ):
            state = _possible(others if choice is agreed else clauses, name, choice)
            looked &= state is not None
            if state is False:
                found.append(Finding("dead_branch", (name,), message, statement.place, hint))
        if found:
            continue
        for choice, word in ((then, "then"), (other, "else")):
            if choice is not None and _possible(others, name, choice) is False:
                effect = "can never be met" if word == "then" else "has to be met by every record"
                said = f"the '{word}' of {name} can never hold, so its condition {effect}"
                found.append(Finding("dead_branch", (name,), said, statement.place, _CHECK))
    return found, looked


_CHECK = "Check it against the other rules on its variables."
_PLAIN = "State it without the condition, or check it."


def _possible(clauses: Sequence[Clause], name: str, choice: Choice | None) -> bool | None:
    """Whether a choice of alternatives can hold with all clauses; None where that was not decided."""
    if choice is None:
        return None
    answer = Satisfiability([*clauses, clause_of(name, choice)], Space(), {}, most_choices=MOST_TRIED).answer()
    if not isinstance(answer, Refutation):
        return True
    return None if answer.is_open else False
