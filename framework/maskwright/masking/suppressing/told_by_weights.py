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
from maskwright.masking.suppressing.unanimous_values import unanimous_values

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

OF_VALUES = (
    "Suppress other variables, recode until records of one category have the weights of others, leave the weights out "
    "(`role: identifier`), or publish weights that strata share: calibrated, or rounded in the file itself."
)


def factors_of_weights(before: Dataset, after: Dataset) -> dict[str, NDArray[np.float64]]:
    """What the weights of each record were multiplied by, of weights that were multiplied by several factors."""
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

    `factor`: NaN where there is no weight; shape (n,). `before`, `after`: the same n records, as they were, and with
    the cells that are empty in the release.
    """
    given = weight_codes(factor)
    tests = 2 * max(len(before.columns), 1)
    for name, gone, values, shown in _emptied(given, before, after):
        tells = np.ones(len(given), dtype=np.bool_)
        if not determines(given, shown, tests):
            some = telling_values(given, shown, tests * len(given))
            tells = np.isin(given, given[some & (given >= 0)]) | unanimous_values(given, shown, tests)[given]
        read = gone & tells & (values >= 0) & (told_by_others(given, shown, shown >= 0) == values)
        if count := int(read.sum()):
            total = int(gone.sum())
            said = (
                f"{count} of {total} suppressed cells can be read off {weights}, whose values were divided by "
                f"another share where {name} is another"
            )
            yield Doubt("suppressed-cells-follow", name, said, count, total, hint=REMEDY)


def same_weight_doubts(
    weights: str,
    values: NDArray[np.float64],
    before: Dataset,
    after: Dataset,
    groups: NDArray[np.int64] | None = None,
) -> Iterator[Doubt]:
    """Doubts about suppressed cells that weights tell together, too few records of each weight to say so alone.

    What one weight tells by itself is found where cells are suppressed.

    `values`: as they are published, NaN where there is none; shape (n,). `before`, `after`: the same n records, as they
    were, and with the cells that are empty in the release. `groups`: of the records: those of one group bear witness
    once; shape (n,).
    """
    given = weight_codes(values)
    for name, gone, found, shown in _emptied(given, before, after):
        tells = unanimous_values(given, shown, max(len(before.columns), 1), groups)[given]
        read = gone & tells & (found >= 0) & (told_by_others(given, shown, shown >= 0) == found)
        if count := int(read.sum()):
            total = int(gone.sum())
            said = (
                f"{count} of {total} suppressed cells can be read off {weights}: the records with the same weight, "
                "but for these, all show the same"
            )
            yield Doubt("suppressed-cells-follow", name, said, count, total, hint=OF_VALUES)


def _emptied(
    given: NDArray[np.int64], before: Dataset, after: Dataset
) -> Iterator[tuple[str, NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]]:
    """Variables with suppressed cells in records that have a weight: these cells, what all have, and what is shown."""
    codes, published = ValueCodes(before), ValueCodes(after)
    for column in after:
        name = column.name
        if name not in before or column.variable.role == "weight":
            continue
        gone = column.missing & ~before[name].missing
        if not (gone & (given >= 0)).any():
            continue
        values = _in_published_terms(codes.of(name), published.of(name))
        yield name, gone, values, np.where(~gone & (values >= 0), values, -1)


def weight_codes(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Codes 0, 1, ... of weights, or of what they were multiplied by; -1 for NaN.

    `values`: shape (n,).
    """
    codes = np.full(len(values), -1, dtype=np.int64)
    known = np.isfinite(values)
    codes[known] = np.unique(values[known], return_inverse=True)[1]
    return codes


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
