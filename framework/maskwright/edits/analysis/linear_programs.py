"""Linear programs in binary64 (HiGHS): which few of many rows seem to contradict each other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.reasoning.simplex import Row

NEGLIGIBLE = 1e-9
LARGEST_DENOMINATOR = 10**6


def suspects(rows: Sequence[Row]) -> tuple[list[Row], bool]:
    """Rows that seem to contradict each other, few of many, by linear programming in binary64.

    First the smallest total amount by which rows must give way; if it is 0, the largest margin that all strict rows
    can have. Rows with a multiplier in the solution that shows a contradiction are the suspects.

    Returns empty when all seem to hold together; whether that was confirmed: the solution, as rational numbers,
    satisfies every row exactly.
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
    return [], all(_holds(row, point) for row in rows)


def _holds(row: Row, point: Mapping[str, Fraction]) -> bool:
    left = sum((value * point[name] for name, value in row.coefficients.items()), Fraction(0))
    if row.relation == "==":
        return left == row.constant
    return left <= row.constant if row.relation == "<=" else left < row.constant


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
