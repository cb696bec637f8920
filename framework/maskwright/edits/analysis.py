"""What can be said of rules before any record is seen: whether they contradict each other, or the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.conjunctions import merge
from maskwright.edits.edit import Edit, LinearPart, Part, RangePart
from maskwright.edits.exact_feasibility import Row, conflict
from maskwright.edits.grids import reachable_on_grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.variable import Variable
    from maskwright.errors import Place

# Systems up to this size go straight to exact arithmetic; larger ones are first narrowed down in binary64.
MOST_EXACT_ROWS = 60
NEGLIGIBLE = 1e-9
MOST_FILTERED = 30


@dataclass(frozen=True)
class Finding:
    """Something about rules that a person should know.

    Attributes
    ----------
    edits : tuple of str
        The rules concerned; ``bounds of V3`` stands for declared bounds of a variable.
    message : str
    place : Place or None
        Of the first rule concerned.
    hint : str or None
        What to do about it.
    """

    edits: tuple[str, ...]
    message: str
    place: Place | None = None
    hint: str | None = None


def analyse(edits: Iterable[Edit], variables: Sequence[Variable] = ()) -> tuple[Finding, ...]:
    """Contradictions among rules, and equalities that no published values can meet.

    Parameters
    ----------
    edits : EditSet or iterable of Edit
    variables : sequence of Variable, optional
        Gives declared bounds and published decimals.

    Returns
    -------
    tuple of Finding
        Empty when nothing was found.
    """
    listed = tuple(edits)
    places = {edit.name: edit.place for edit in listed}
    names = contradictions(listed, variables)
    if names:
        hint = "Remove or change one of them." if len(names) > 1 else "Change it."
        message = f"no record can satisfy {_and(names)}{' together' if len(names) > 1 else ''}"
        return (Finding(names, message, places.get(next(iter(names))), hint),)
    decimals = {variable.name: variable.decimals for variable in variables if variable.is_numeric}
    blocked = reachable_on_grid(listed, decimals)
    if blocked is None:
        return ()
    message = f"no values with the published decimals satisfy {_and(blocked.edits)}"
    return (Finding(blocked.edits, message, places.get(blocked.edits[0]), blocked.remedy),)


def contradictions(edits: Iterable[Edit], variables: Sequence[Variable] = ()) -> tuple[str, ...] | None:
    """Smallest set of rules, by name, that no record can satisfy together.

    Looked at are the linear and range parts that hold for every record (not those behind an ``if``), and declared
    bounds. Found in binary64 by linear programming where there are many, always confirmed in exact arithmetic.

    Parameters
    ----------
    edits : EditSet or iterable of Edit
    variables : sequence of Variable, optional
        Gives declared bounds.

    Returns
    -------
    tuple of str or None
        Names of the rules (``bounds of V3`` for declared bounds), in file order; leaving out any one of them removes
        this contradiction. None when there is no contradiction of this kind.
    """
    stated = [(edit.name, edit.parts) for edit in edits if not edit.shadowed]
    stated += [(f"bounds of {variable.name}", _bounds(variable)) for variable in variables]
    parts = {name: tuple(part for part in own if isinstance(part, (LinearPart, RangePart))) for name, own in stated}
    parts = {name: own for name, own in parts.items() if own}
    return _empty_range(parts) or _linear_conflict(parts)


def redundancies(edits: Iterable[Edit], variables: Sequence[Variable] = ()) -> tuple[Finding, ...]:
    """Rules that follow from others, so that leaving them out changes nothing.

    Looked at are rules made of linear parts and bounds alone, in sets of up to 60 inequalities, in exact arithmetic.

    Parameters
    ----------
    edits : EditSet or iterable of Edit
    variables : sequence of Variable, optional
        Gives declared bounds.

    Returns
    -------
    tuple of Finding
        For each such rule its name, then the names of the rules it follows from. Of rules that follow from each other
        the last is reported; rules already reported are not used to show that another follows.
    """
    listed = [edit for edit in edits if not edit.shadowed and edit.parts and all(map(_is_linear, edit.parts))]
    places = {edit.name: edit.place for edit in listed}
    rows = {edit.name: [row for part in edit.parts for row in _rows(edit.name, part)] for edit in listed}
    rows.update(
        {
            f"bounds of {one.name}": [r for p in _bounds(one) for r in _rows(f"bounds of {one.name}", p)]
            for one in variables
        }
    )
    found: list[Finding] = []
    for name in reversed(places):
        others = [row for other, own in rows.items() if other != name for row in own]
        if len(others) >= MOST_EXACT_ROWS:
            break
        shown = [conflict([*others, broken]) for row in rows[name] for broken in _broken(row)]
        if any(one is None for one in shown):
            continue
        sources = {row.source for one in shown if one is not None for row in one} - {name}
        because = tuple(other for other in rows if other in sources)
        if because and conflict(others) is None:
            del rows[name]
            found.append(
                Finding((name, *because), f"{name} follows from {_and(because)}", places[name], "It can be left out.")
            )
    return tuple(reversed(found))


def _is_linear(part: Part) -> bool:
    if isinstance(part, RangePart):
        listed_one = part.numbers is not None and len(part.numbers) == 1
        return part.texts is None and not part.integer and (part.numbers is None or listed_one)
    return isinstance(part, LinearPart)


def _broken(row: Row) -> list[Row]:
    """Rows of which one holds where `row` does not."""
    above = Row(row.source, _negative(row.coefficients), "<=" if row.relation == "<" else "<", -row.constant)
    return [above, Row(row.source, row.coefficients, "<", row.constant)] if row.relation == "==" else [above]


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _bounds(variable: Variable) -> tuple[Part, ...]:
    low, high = (
        # As declared in decimal: 0.1 is 1/10, not the binary64 number next to it.
        Fraction(str(float(bound))) if bound is not None and math.isfinite(bound) else None
        for bound in (variable.lower, variable.upper)
    )
    return () if low is None and high is None else (RangePart(variable.name, low, high),)


def _smallest(names: Sequence[str], contradict: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """Drop every name without which the rest still contradicts (a deletion filter)."""
    kept = list(names)
    for name in names:
        rest = [other for other in kept if other != name]
        if contradict(rest):
            kept = rest
    return tuple(kept)


def _empty_range(parts: Mapping[str, Sequence[Part]]) -> tuple[str, ...] | None:
    """Ranges and lists of one variable that have no value in common."""
    by_variable: dict[str, dict[str, list[Part]]] = {}
    for name, own in parts.items():
        for part in own:
            if isinstance(part, RangePart):
                by_variable.setdefault(part.variable, {}).setdefault(name, []).append(part)
    for ranges in by_variable.values():

        def contradict(names: Sequence[str], ranges: dict[str, list[Part]] = ranges) -> bool:
            return merge([part for name in names for part in ranges[name]]) is None

        if contradict(list(ranges)):
            return _smallest(list(ranges), contradict)
    return None


def _linear_conflict(parts: Mapping[str, Sequence[Part]]) -> tuple[str, ...] | None:
    rows = {name: [row for part in own for row in _rows(name, part)] for name, own in parts.items()}

    def of(names: Sequence[str]) -> list[Row]:
        return [row for name in names for row in rows[name]]

    every = of(list(rows))
    found = conflict(every if len(every) <= MOST_EXACT_ROWS else _suspects(every))
    if found is None:
        return None
    # These rows are irreducible, but an edit may have further rows with which fewer edits already contradict.
    names = [name for name in rows if any(row.source == name for row in found)]
    if len(of(names)) == len(found) or len(names) > MOST_FILTERED:
        return tuple(names)
    return _smallest(names, lambda some: conflict(of(some)) is not None)


def _rows(name: str, part: Part) -> list[Row]:
    if isinstance(part, RangePart):
        return _range_rows(name, part)
    assert isinstance(part, LinearPart)
    terms = dict(part.coefficients)
    match part.relation:
        case "==" if part.tolerance:
            return [
                Row(name, terms, "<=", part.constant + part.tolerance),
                Row(name, _negative(terms), "<=", part.tolerance - part.constant),
            ]
        case ">=":
            return [Row(name, _negative(terms), "<=", -part.constant)]
        case ">":
            return [Row(name, _negative(terms), "<", -part.constant)]
        case _:
            return [Row(name, terms, part.relation, part.constant)]


def _range_rows(name: str, part: RangePart) -> list[Row]:
    one, minus = {part.variable: Fraction(1)}, {part.variable: Fraction(-1)}
    if part.numbers is not None:
        return [Row(name, one, "<=", max(part.numbers)), Row(name, minus, "<=", -min(part.numbers))]
    low, high, low_closed, high_closed = part.low, part.high, part.low_closed, part.high_closed
    if part.integer and low is not None:
        low, low_closed = Fraction(math.ceil(low) if low_closed else math.floor(low) + 1), True
    if part.integer and high is not None:
        high, high_closed = Fraction(math.floor(high) if high_closed else math.ceil(high) - 1), True
    found = []
    if low is not None:
        found.append(Row(name, minus, "<=" if low_closed else "<", -low))
    if high is not None:
        found.append(Row(name, one, "<=" if high_closed else "<", high))
    return found


def _negative(terms: Mapping[str, Fraction]) -> dict[str, Fraction]:
    return {name: -value for name, value in terms.items()}


def _suspects(rows: Sequence[Row]) -> list[Row]:
    """Rows that seem to contradict each other, few of many, by linear programming in binary64.

    First the smallest total amount by which rows must give way; if it is 0, the largest margin that all strict rows
    can have. Rows with a multiplier in the solution that shows a contradiction are the suspects.
    """
    from scipy.optimize import linprog

    system = _System.of(rows)
    for strict in (False, True):
        if strict and not any(row.relation == "<" for row in rows):
            return []
        found = linprog(**system.program(strict), method="highs", options={"primal_feasibility_tolerance": 1e-10})
        if found.status != 0:
            return list(rows)
        least = float(found.fun or 0.0)
        if (-least <= NEGLIGIBLE) if strict else (least > NEGLIGIBLE):
            return [row for row, multiplier in zip(rows, system.multipliers(found), strict=True) if multiplier]
    return []


@dataclass(frozen=True, eq=False)
class _System:
    """Rows as sparse matrices, each scaled to a largest coefficient of 1."""

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
