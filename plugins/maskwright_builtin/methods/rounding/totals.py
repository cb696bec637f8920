"""Totals that equalities define, computed from their rounded parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright import LinearPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from maskwright import EditSet


@dataclass(frozen=True, eq=False)
class Total:
    """A variable as a linear combination of others: column `position` is ``constant + values @ weights``."""

    position: int
    weights: NDArray[np.float64]
    constant: float


def find_totals(names: Sequence[str], edits: EditSet) -> tuple[Total, ...]:
    """Totals in an order in which each can be computed, parts before what is made of them.

    Of an equality between the named variables the total is the variable that stands alone on one side, else the last
    one; equalities whose total is one already are left out.
    """
    found: dict[str, dict[str, float]] = {}
    constants: dict[str, float] = {}
    for edit in edits:
        for part in edit.parts:
            if not isinstance(part, LinearPart) or part.relation != "==" or part.tolerance:
                continue
            shares = dict(part.coefficients)
            total = part.total or part.coefficients[-1][0]
            if not set(shares) <= set(names) or total in found or _depends_on(total, shares, found):
                continue
            own = shares.pop(total)
            found[total] = {name: float(-share / own) for name, share in shares.items()}
            constants[total] = float(part.constant / own)
    order: list[str] = []
    while len(order) < len(found):
        order += [
            total for total, shares in found.items()
            if total not in order and all(name in order or name not in found for name in shares)
        ]  # fmt: skip
    return tuple(
        Total(names.index(total), np.array([found[total].get(name, 0.0) for name in names]), constants[total])
        for total in order
    )


def _depends_on(total: str, parts: Iterable[str], found: dict[str, dict[str, float]]) -> bool:
    """Whether one of the parts is itself made of the total, however indirectly."""
    waiting, seen = [name for name in parts if name != total], set[str]()
    while waiting:
        name = waiting.pop()
        if name == total:
            return True
        if name not in seen:
            seen.add(name)
            waiting += found.get(name, {})
    return False


def with_totals(values: NDArray[np.float64], totals: Sequence[Total]) -> NDArray[np.float64]:
    """Copy with the totals computed; a total that is missing, or lacks a part, stays as it is.

    `values`: NaN where missing; shape (n, p).
    """
    values = values.copy()
    for total in totals:
        parts = np.flatnonzero(total.weights)
        computed = total.constant + values[:, parts] @ total.weights[parts]
        own = values[:, total.position]
        values[:, total.position] = np.where(np.isnan(computed) | np.isnan(own), own, computed)
    return values
