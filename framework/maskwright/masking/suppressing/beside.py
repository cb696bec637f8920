"""Cells that went beside suppressed ones, of variables that no step suppresses: beside which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright.planning.plan import Plan


def cells_beside(plan: Plan, hidden: Mapping[str, NDArray[np.bool_]]) -> dict[str, tuple[str, ...]]:
    """Variables that no step suppresses, with those beside whose suppressed cells theirs went.

    `hidden`: suppressed cells; shape (n,).
    """
    asked = {name: hidden[name] for name in asked_to_suppress(plan) if name in hidden}
    return {name: beside_which(gone, asked, {}) for name, gone in hidden.items() if name not in asked}


def asked_to_suppress(plan: Plan) -> tuple[str, ...]:
    """Variables of which steps suppress cells for reasons of their own."""
    named = {
        name for group in plan.groups if "cells" in plan.steps[group.step - 1].method.removes
        for name in group.variables
    }  # fmt: skip
    return tuple(name for name in plan.variables if name in named)


def beside_which(
    gone: NDArray[np.bool_], suppressed: Mapping[str, NDArray[np.bool_]], others: Mapping[str, NDArray[np.bool_]]
) -> tuple[str, ...]:
    """Variables beside whose suppressed cells others went: the fewest that account for them, those with most first.

    `gone`: cells of a variable that no step suppresses; shape (n,). `suppressed`: cells of the same records that steps
    suppress; shape (n,). `others`: cells of other records, said of these: of a household any of its members; shape
    (n,).
    """
    found: list[str] = []
    cells, left = {**others, **suppressed}, gone.copy()
    while left.any():
        counts = {name: (int(np.count_nonzero(own & left)), name in suppressed) for name, own in cells.items()}
        name = max(counts, key=lambda each: counts[each], default=None)
        if name is None or not counts[name][0]:
            break
        found.append(name)
        left &= ~cells[name]
    return tuple(found)
