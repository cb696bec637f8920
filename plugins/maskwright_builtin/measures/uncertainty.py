"""Uncertainty of a risk: standard errors and intervals of means over records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


CRITICAL = 1.959963984540054
"""Quantile 0.975 of the normal distribution."""


def interval_of_mean(credit: Floats) -> tuple[float, float]:
    """95 percent interval, in percent, of the expected credit of a record or household.

    To the n credits z^2 records are added in thought, z = 1.96, half of them with credit 0 and half with 1. The
    interval is ``mean +- z sd / sqrt(n + z^2)`` of all these, their sd with divisor n + z^2, cut off at 0 and 1. For
    credits of 0 and 1 that is the interval of Agresti and Coull, which covers also where ``p +- z sqrt(p (1 - p) / n)``
    does not: rare events, small files. Shared credits, and means over scenarios or variables, vary less between
    records, and the interval is narrower.

    `credit`: between 0 and 1; n at least 1; shape (n,).

    Records are taken as independent draws from a large population. That they compete for each other's links is
    neglected. The interval holds the mean of the credits, whatever they are.

    Agresti and Coull (1998), Approximate is better than "exact" for interval estimation of binomial proportions, The
    American Statistician 52(2), 119-126.
    """
    added = CRITICAL**2
    number = len(credit) + added
    centre = (float(credit.sum()) + added / 2.0) / number
    squares = float(((credit - centre) ** 2).sum()) + added / 2.0 * (centre**2 + (1.0 - centre) ** 2)
    return _ends(centre, squares, number)


def interval_of_sums(total: float, squares: float, records: float) -> tuple[float, float]:
    """The same, where only sums are known."""
    added = CRITICAL**2
    number = records + added
    centre = (total + added / 2.0) / number
    apart = max(0.0, squares - 2.0 * centre * total + records * centre**2)
    return _ends(centre, apart + added / 2.0 * (centre**2 + (1.0 - centre) ** 2), number)


def _ends(centre: float, squares: float, number: float) -> tuple[float, float]:
    reach = CRITICAL * float(np.sqrt(squares)) / number
    return 100.0 * max(0.0, centre - reach), 100.0 * min(1.0, centre + reach)


class MeanOverVariables:
    """What each record, or household, contributes to a mean over variables of means over records.

    `households`: shape (records,).
    """

    def __init__(self, records: int, households: Integers | None) -> None:
        self._unit: Integers | None = None
        self._total = np.zeros(records)
        self._variables = 0
        if households is not None:
            present, unit = np.unique(households, return_inverse=True)
            self._unit = unit.astype(np.int64)
            self._total = np.zeros(present.size)

    def add(self, share: Floats, there: Booleans) -> None:
        """Add a variable.

        `there`: the records that have it; shape (records,).
        """
        self._variables += 1
        # A variable that few have counts as much as the others, so each of its records counts more.
        counted = share * (len(self._total) / len(share))
        if len(share) == len(self._total):
            self._total += counted
        elif self._unit is None:
            self._total[there] += counted
        else:
            self._total[np.unique(self._unit[there])] += counted

    def interval(self) -> tuple[float, float]:
        """95 percent interval of the mean over the variables added, in percent; see `interval_of_mean`."""
        return interval_of_mean(self._total / self._variables)
