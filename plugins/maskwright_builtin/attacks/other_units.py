"""A number that is published once more, in other units, shifted, or with its order reversed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Attack, Inference, NoParams, Published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright_builtin.numerics.arrays import Floats

FEWEST = 10
"""Records that have to show both numbers: a line through two of them is confirmed by the others."""


def infer_in_other_units(published: Published, params: NoParams) -> Iterator[Inference]:  # noqa: ARG001 - of every attack
    """What a line through another number says: ``a x + b``, on the decimals that the release shows.

    The line is the median of those through pairs of published records that lie far apart in x, so that single records
    that differ do not move it. Each half of the records is named by the line of the other half.
    """
    numbers = [each.name for each in published.data if each.variable.is_numeric]
    for name in published.targets:
        for other in numbers if name in numbers else ():
            if other == name:
                continue
            x, y = published.values(other), published.values(name)
            named = np.full(len(x), np.nan)
            for half in (0, 1):
                rows = np.arange(len(x)) % 2 == half
                line = _line(x[~rows], y[~rows])
                if line is not None:
                    named[rows] = np.round(line[0] * x[rows] + line[1], _decimals(y))
            if np.isfinite(named).any():
                yield Inference(name, f"a line through {other}", named)


def _line(x: Floats, y: Floats) -> tuple[float, float] | None:
    """Slope and constant of the median line of the records that show both; None of too few, or of one x."""
    shown = np.isfinite(x) & np.isfinite(y)
    order = np.argsort(x[shown], kind="stable")
    x, y = x[shown][order], y[shown][order]
    middle = len(x) // 2
    if middle < FEWEST // 2:
        return None
    across = x[middle : 2 * middle] - x[:middle]
    apart = across > 0
    if not apart.any():
        return None
    slope = float(np.median((y[middle : 2 * middle] - y[:middle])[apart] / across[apart]))
    return slope, float(np.median(y - slope * x))


def _decimals(values: Floats) -> int:
    """Decimals that all published values of a variable have, at most six."""
    shown = values[np.isfinite(values)]
    return next((each for each in range(6) if np.array_equal(np.round(shown, each), shown)), 6)


OTHER_UNITS = Attack(
    name="other_units",
    infer=infer_in_other_units,
    reference="Theil (1950), A rank-invariant method of linear and polynomial regression analysis, Proceedings of the "
    "Royal Netherlands Academy of Sciences 53, 386-392.",
    summary="What a line through another published number gives: thousands, currencies, months, year of birth.",
)
