"""Equalities solved for variables, in exact rational arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


def eliminate(
    rows: Sequence[tuple[dict[str, Fraction], Fraction]], pivots: Sequence[str]
) -> dict[str, tuple[dict[str, Fraction], Fraction]]:
    """Gauss-Jordan elimination over the rationals, pivoting on the named variables only."""
    left = [(dict(row), constant) for row, constant in rows]
    solved: dict[str, tuple[dict[str, Fraction], Fraction]] = {}
    for name in pivots:
        found = next((number for number, (row, _) in enumerate(left) if row.get(name)), None)
        if found is None:
            continue
        row, constant = left.pop(found)
        scale = row[name]
        row, constant = {other: value / scale for other, value in row.items()}, constant / scale
        left = [_subtract(other, row, constant, name) for other in left]
        solved = {key: _subtract(other, row, constant, name) for key, other in solved.items()}
        solved[name] = (row, constant)
    return solved


def _subtract(
    target: tuple[dict[str, Fraction], Fraction], row: dict[str, Fraction], constant: Fraction, name: str
) -> tuple[dict[str, Fraction], Fraction]:
    values, bound = target
    factor = values.get(name)
    if not factor:
        return target
    result = dict(values)
    for other, value in row.items():
        changed = result.get(other, 0) - factor * value
        if changed:
            result[other] = changed
        else:
            result.pop(other, None)
    return result, bound - factor * constant
