"""Masked values beyond the range of the original: counted, with the rules that would have prevented it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from maskwright.edits.analysis.signs import lines_of_signs
from maskwright.foundation.progress import Caution
from maskwright.planning.warnings.signs import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet


@dataclass(frozen=True)
class Extent:
    """How far the values of a variable go in the original.

    `low`, `high`: the smallest and the largest one. `slack`: half a unit of the published grid: rounding to it is no
    leaving of the range.
    """

    low: float
    high: float
    slack: float

    @classmethod
    def of(cls, variable: Variable, low: float, high: float) -> Self:
        """Extent of a variable between two values."""
        places = variable.decimals
        slack = 1e-9 * max(abs(low), abs(high)) if places is None else 0.5 * 10.0**-places
        return cls(low, high, float(slack))

    def left_by(self, values: NDArray[np.float64]) -> tuple[int, int]:
        """How many values are below 0, where none was, and how many others beyond the smallest or largest one.

        `values`: shape (n,).
        """
        negative = values < 0 if self.low >= 0 else np.zeros(len(values), dtype=np.bool_)
        beyond = ((values < self.low - self.slack) | (values > self.high + self.slack)) & ~negative
        return int(np.count_nonzero(negative)), int(np.count_nonzero(beyond))


def range_notices(original: Dataset, masked: Dataset, names: Sequence[str], edits: EditSet) -> Iterator[str]:
    """Sentences on masked values beyond the original's smallest or largest value; counts, never a value.

    `names`: masked variables; those that are published as categories are not looked at. `edits`: that the masked data
    have to satisfy: a bound that one of them states is not advised.
    """
    yield from range_sentences(range_counts(original, masked, names), edits)


def range_counts(original: Dataset, masked: Dataset, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """How many masked values of each variable have left the range of the original, as `Extent.left_by` counts them.

    `names`: masked variables; those that are published as categories are not looked at.
    """
    left: dict[str, tuple[int, int]] = {}
    for name in names:
        before, after = original[name], masked[name]
        if before.missing.all() or not after.variable.is_numeric:
            continue
        known = before.values[~before.missing]
        extent = Extent.of(before.variable, float(known.min()), float(known.max()))
        left[name] = extent.left_by(after.values[~after.missing].astype(np.float64))
    return left


def range_sentences(left: Mapping[str, tuple[int, int]], edits: EditSet) -> Iterator[str]:
    """Sentences on values that have left the range of the original.

    `left`: of each variable, as `Extent.left_by` counts them. `edits`: that the masked data have to satisfy: a bound
    that one of them states is not advised.
    """
    below = {name: negative for name, (negative, _) in left.items() if negative}
    beyond = {name: others for name, (_, others) in left.items() if others}
    if below:
        lines = lines_of_signs(edits, tuple(below))
        advice = f"; where a variable cannot be negative, add to the edits: {listed(lines)}" if lines else ""
        yield Caution(f"masked values below 0, where the original has none: {_counted(below)}{advice}")
    if beyond:
        yield (
            f"masked values beyond the smallest or largest one of the original: {_counted(beyond)}; where a variable "
            "has limits that no edit states, state them"
        )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counts.items())
