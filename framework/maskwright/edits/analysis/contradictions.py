"""Rules that exclude each other, by a smallest set of names, and branches no record can take."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.algebra.conjunctions import merge
from maskwright.edits.analysis.statements import Finding, Statement
from maskwright.edits.edit import GoverningPart
from maskwright.edits.reasoning.answers import Refutation, Space
from maskwright.edits.reasoning.clauses import Choice, Clause, clause_of, condition_choice, conjunction_choice
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.edits.reasoning.simplex import Row, conflict, smallest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


NEGLIGIBLE = 1e-9
LARGEST_DENOMINATOR = 10**6


def suspects(rows: Sequence[Row]) -> tuple[list[Row], bool]:
    """Rows that seem to contradict each other, few of many, by linear programming in binary64.

    First the smallest total amount by which rows must give way; if it is 0, the largest margin that all strict rows
    can have. Rows with a multiplier in the solution that shows a contradiction are the suspects.
    """
    from scipy.optimize import linprog

    system = _System.of(rows)
    point: dict[str, Fraction] = {}
    for strict in (False, True):
        if strict and not any(row.relation == "<" for row in rows):
            break
        found = linprog(**system.program(strict), method="highs", options={"primal_feasibility_tolerance": 1e-10})
        if found.status != 0 or found.x is None:
            return list(rows), False
        least = float(found.fun or 0.0)
        if (-least <= NEGLIGIBLE) if strict else (least > NEGLIGIBLE):
            return [row for row, multiplier in zip(rows, system.multipliers(found), strict=True) if multiplier], False
        point = {
            name: Fraction(float(value)).limit_denominator(LARGEST_DENOMINATOR)
            for name, value in zip(system.names, found.x, strict=False)
        }
    return [], all(row.holds_at(sum(value * point[name] for name, value in row.coefficients.items())) for row in rows)


@dataclass(frozen=True, eq=False)
class _System:
    """Rows as sparse matrices, each scaled to a largest coefficient of 1."""

    names: tuple[str, ...]
    matrix: Any
    constants: NDArray[np.float64]
    equal: NDArray[np.bool_]
    strict: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _System:
        from scipy.sparse import csr_array

        names = dict.fromkeys(name for row in rows for name in row.coefficients)
        columns = {name: position for position, name in enumerate(names)}
        scales = [max(abs(value) for value in row.coefficients.values()) for row in rows]
        entries = [
            (position, columns[name], float(value / scale))
            for position, (row, scale) in enumerate(zip(rows, scales, strict=True))
            for name, value in row.coefficients.items()
        ]
        at, column, value = (list(each) for each in zip(*entries, strict=True))
        return cls(
            names=tuple(names),
            matrix=csr_array((value, (at, column)), shape=(len(rows), len(columns))),
            constants=np.array([float(row.constant / scale) for row, scale in zip(rows, scales, strict=True)]),
            equal=np.array([row.relation == "==" for row in rows]),
            strict=np.array([row.relation == "<" for row in rows]),
        )

    def program(self, strict: bool) -> dict[str, Any]:
        """Arguments of the linear program: least give (not strict), or largest margin."""
        from scipy.sparse import csr_array, eye_array, hstack

        n, p = self.matrix.shape
        bounds: list[tuple[float | None, float | None]] = [(None, None)] * p
        if strict:
            extra = csr_array(self.strict.astype(np.float64)[:, None])
            cost = np.array([-1.0])
            bounds.append((None, 1.0))
        else:
            extra = hstack([-eye_array(n), eye_array(n)], format="csr")
            # Only equalities may give way in both directions.
            cost = np.ones(2 * n)
            bounds += [(0.0, None)] * n + [(0.0, None) if both else (0.0, 0.0) for both in self.equal]
        whole = hstack([self.matrix, extra], format="csr")
        upper, equal = np.flatnonzero(~self.equal), np.flatnonzero(self.equal)
        return {
            "c": np.concatenate([np.zeros(p), cost]),
            "A_ub": whole[upper] if len(upper) else None,
            "b_ub": self.constants[upper] if len(upper) else None,
            "A_eq": whole[equal] if len(equal) else None,
            "b_eq": self.constants[equal] if len(equal) else None,
            "bounds": bounds,
        }

    def multipliers(self, found: Any) -> NDArray[np.bool_]:
        """Rows with a multiplier that is not 0."""
        result = np.zeros(len(self.constants), dtype=np.bool_)
        if not self.equal.all():
            result[~self.equal] = np.abs(found.ineqlin.marginals) > NEGLIGIBLE
        if self.equal.any():
            result[self.equal] = np.abs(found.eqlin.marginals) > NEGLIGIBLE
        return result


# Systems up to this size go straight to exact arithmetic; larger ones are first narrowed down in binary64.
MOST_EXACT_ROWS = 60
MOST_CONFIRMED_ROWS = 300
MOST_FILTERED = 30
MOST_CLAUSES = 150
# Alternatives tried for whether some rules can hold together.
MOST_TRIED = 60


def contradiction(component: Sequence[Statement]) -> tuple[tuple[str, ...] | None, str]:
    """Contradiction in statements that share variables, and what was not analysed ('' if nothing).

    It is a smallest set of rules, by name, in file order (``bounds of V3`` for declared bounds): leaving out any one of
    them removes this contradiction. Analysed are linear, range, set and governing rules, products as far as they go,
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
        return None, doubt or f"more than {MOST_CLAUSES} rules share variables: branches and sets not checked"
    return _branching_conflict(component)


def _branching_conflict(component: Sequence[Statement]) -> tuple[tuple[str, ...] | None, str]:
    answer = refutation(component)
    if answer is None:
        return None, ""
    if answer.is_open:
        return None, "products or many branches: not decided"
    return smallest_refuted(component, sources(component, answer)), ""


def refutation(
    component: Sequence[Statement], space: Space | None = None, more: Sequence[Clause] = ()
) -> Refutation | None:
    """Why statements and more clauses cannot hold together, nothing fixed; None: they can."""
    clauses = [*(clause for each in component for clause in each.clauses), *more]
    answer = Satisfiability(clauses, space or Space(), {}, most_choices=MOST_TRIED).answer()
    return answer if isinstance(answer, Refutation) else None


def smallest_refuted(
    component: Sequence[Statement], names: Sequence[str], space: Space | None = None, more: Sequence[Clause] = ()
) -> tuple[str, ...]:
    """Smallest set of the named statements that cannot hold together with more clauses."""

    def contradict(some: Sequence[str]) -> bool:
        found = refutation([each for each in component if each.name in some], space, more)
        return found is not None and not found.is_open

    return smallest(names, contradict)


def sources(component: Sequence[Statement], answer: Refutation) -> tuple[str, ...]:
    """Names of the statements that a refutation rests on."""
    owners = [each.name for each in component for _ in each.clauses]
    used = {owners[position] for position in answer.clauses if 0 <= position < len(owners)}
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


MOST_UNDECIDED = 3


def dead_branches(component: Sequence[Statement]) -> tuple[list[Finding], int]:
    """Branches that are never taken, and how many governing rules were not analysed."""
    governing = [each for each in component if any(isinstance(part, GoverningPart) for part in each.parts)]
    if sum(len(each.clauses) for each in component) > MOST_CLAUSES:
        return [], len(governing)
    found: list[Finding] = []
    skipped = 0
    for place, statement in enumerate(governing):
        if skipped >= MOST_UNDECIDED:
            skipped += len(governing) - place
            break
        findings, decided = _of(statement, component)
        found.extend(findings)
        skipped += not decided
    return found, skipped


def _of(statement: Statement, component: Sequence[Statement]) -> tuple[list[Finding], bool]:
    found: list[Finding] = []
    decided = True
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
            (agreed, f"the condition of {name} can never be met: its 'then' is never required", _CHECK),
            (refused, f"the condition of {name} is always met: its 'then' holds for every record", _PLAIN),
        ):
            state = _possible(others if choice is agreed else clauses, name, choice)
            decided &= state is not None
            if state is False:
                found.append(Finding("dead_branch", (name,), message, statement.place, hint))
        if found:
            continue
        for choice, word in ((then, "then"), (other, "else")):
            if choice is not None and _possible(others, name, choice) is False:
                effect = "can never be met" if word == "then" else "has to be met by every record"
                text = f"the '{word}' of {name} can never hold, so its condition {effect}"
                found.append(Finding("dead_branch", (name,), text, statement.place, _CHECK))
    return found, decided


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
