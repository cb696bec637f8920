"""Masked values beyond the range of the original: counted, with the rules that would have prevented it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.analysis.signs import lines_of_signs
from maskwright.foundation.progress import Caution
from maskwright.planning.warnings.signs import listed, never_negative

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.edit_set import EditSet


def range_notices(original: Dataset, masked: Dataset, names: Sequence[str], edits: EditSet) -> Iterator[str]:
    """Sentences on masked values beyond the original's smallest or largest value; counts, never a value.

    Parameters
    ----------
    original, masked : Dataset
    names : sequence of str
        Masked variables; those that are published as categories are not looked at.
    edits : EditSet
        That the masked data have to satisfy: a bound that one of them states is not advised.
    """
    below: dict[str, int] = {}
    beyond: dict[str, int] = {}
    for name in names:
        before, after = original[name], masked[name]
        if before.missing.all() or not after.variable.is_numeric:
            continue
        known = before.values[~before.missing]
        values = after.values[~after.missing].astype(np.float64)
        negative = values < 0 if never_negative(before) else np.zeros(len(values), dtype=np.bool_)
        slack = _slack(before, known)
        outside = ((values < known.min() - slack) | (values > known.max() + slack)) & ~negative
        for counts, found in ((below, negative), (beyond, outside)):
            if found.any():
                counts[name] = int(found.sum())
    if below:
        lines = lines_of_signs(edits, tuple(below))
        advice = f"; where a variable cannot be negative, add to the edits: {listed(lines)}" if lines else ""
        yield Caution(f"masked values below 0, where the original has none: {_counted(below)}{advice}")
    if beyond:
        yield (
            f"masked values beyond the smallest or largest one of the original: {_counted(beyond)}; where a variable "
            "has limits that no edit states, state them"
        )


def _slack(column: Column, known: NDArray[np.float64]) -> float:
    """Half a unit of the published grid: rounding to it is no leaving of the range."""
    places = column.variable.decimals
    if places is not None:
        return float(0.5 * 10.0**-places)
    return 1e-9 * float(np.max(np.abs(known)))


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counts.items())
