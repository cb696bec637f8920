"""Suppressed cells that weights show: those of each stratum of a sample were multiplied by a factor of its own.

Weights of two decimals, divided by the share that was drawn in the stratum, have two decimals again only where they are
multiplied by that share: whoever learns the factors from the records that show their stratum reads it off the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes, determines
from maskwright.foundation.doubts import Doubt
from maskwright.masking.suppressing.counted_values import told_by_others
from maskwright.masking.suppressing.single_values import telling_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset

DECIMALS = 5
"""Of factors that are told apart."""

REMEDY = (
    "Draw by strata whose cells are not suppressed, or leave the weights out (`role: identifier`), or as they are "
    "(`adjust_weights: false`)."
)


def factors_of_weights(before: Dataset, after: Dataset) -> dict[str, NDArray[np.float64]]:
    """What the weights of each record were multiplied by, of weights that were multiplied by several factors.

    Parameters
    ----------
    before, after : Dataset
        The same n records.
    """
    found = {}
    for column in after:
        if column.variable.role != "weight" or column.name not in before or not column.variable.is_numeric:
            continue
        own = before[column.name]
        there = ~column.missing & ~own.missing & (own.values > 0)
        factor = np.full(len(after), np.nan)
        factor[there] = np.round(column.values[there] / own.values[there], DECIMALS)
        if len(np.unique(factor[there])) > 1:
            found[column.name] = factor
    return found


def weight_doubts(weights: str, factor: NDArray[np.float64], before: Dataset, after: Dataset) -> Iterator[Doubt]:
    """Doubts about suppressed cells that the factor of a record's weight shows.

    Parameters
    ----------
    weights : str
        What they are called.
    factor : ndarray of shape (n,), float64
        NaN where there is no weight.
    before, after : Dataset
        The same n records, as they were, and with the cells that are empty in the release.
    """
    known = np.isfinite(factor)
    given = np.full(len(factor), -1, dtype=np.int64)
    given[known] = np.unique(factor[known], return_inverse=True)[1]
    codes, published = ValueCodes(before), ValueCodes(after)
    emptied = {column.name: column.missing & ~before[column.name].missing for column in after if column.name in before}
    tests = 2 * max(len(emptied), 1)
    for name, gone in emptied.items():
        if not (gone & known).any() or after[name].variable.role == "weight":
            continue
        values = _in_published_terms(codes.of(name), published.of(name))
        seen = ~gone & (values >= 0)
        shown = np.where(seen, values, -1)
        tells = np.ones(len(given), dtype=np.bool_)
        if not determines(given, shown, tests):
            some = telling_values(given, shown, tests * len(given))
            tells = np.isin(given, given[some & known])
        read = gone & tells & (values >= 0) & (told_by_others(given, shown, seen) == values)
        if count := int(read.sum()):
            total = int(gone.sum())
            said = (
                f"{count} of {total} suppressed cells can be read off {weights}, whose values were divided by "
                f"another share where {name} is another"
            )
            yield Doubt("suppressed-cells-follow", name, said, count, total, hint=REMEDY)


def _in_published_terms(values: NDArray[np.int64], published: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes of the categories that records have, or would have, where a recoding publishes each value as one."""
    both = (values >= 0) & (published >= 0)
    pairs = np.unique(np.stack((values[both], published[both])), axis=1)
    distinct = int(values.max(initial=-1)) + 1
    if len(np.unique(pairs[0])) < pairs.shape[1]:
        return values
    # A value that no record shows is one of its own.
    terms = np.arange(distinct, dtype=np.int64) + int(published.max(initial=-1)) + 1
    terms[pairs[0]] = pairs[1]
    return np.where(values >= 0, terms[np.maximum(values, 0)], -1) if distinct else values
