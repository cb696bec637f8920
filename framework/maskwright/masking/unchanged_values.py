"""Variables that a step returned as they were, or nearly so: whatever the reason, they are not protected by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.record_classes import varying
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.planning.model import Step

NEARLY_ALL = 0.999
"""Share of unchanged cells from which on a step has changed nearly nothing."""

RELATIVE = 1e-9
"""A number without a grid that moved by less, as a share of the range of its variable, has not moved."""


def unchanged_doubts(
    number: int,
    step: Step,
    names: Sequence[str],
    before: Dataset,
    after: Dataset,
    clusters: NDArray[np.int64] | None = None,
) -> Iterator[Doubt]:
    """Doubts about the variables that a step left as they were.

    Cells that are missing and numbers that are 0 do not count, nor do variables that are constant: there is nothing to
    hide. Where the step promises k, nor do values that all records of a cluster have: so many publish them. Steps that
    only remove are not looked at: they leave every other value as it is.

    `number`: of the step, from 1. `clusters`: cluster of each record, where the step makes any; shape (n,).
    """
    if step.only_removes:
        return
    least = 1.0 if step.method.changes_few else NEARLY_ALL
    for name in names:
        old, new = before[name], after[name]
        relevant = ~old.missing & ~new.missing
        if old.variable.is_numeric:
            relevant &= old.values != 0
        if clusters is not None and step.k is not None:
            relevant &= varying(np.where(old.missing, 0, old.values), clusters)
        total = int(np.sum(relevant))
        if not total or np.all(old.values[relevant] == old.values[relevant][0]):
            continue
        count = int(np.sum(same_values(old, new)[relevant]))
        if count >= least * total:
            how = "as it was" if count == total else f"nearly as it was: {count} of {total} values are the same"
            yield Doubt(
                "step-changed-nothing", name, f"step {number} ({step.method.name}) left it {how}",
                count=count, total=total, place=step.place,
            )  # fmt: skip


def same_values(old: Column, new: Column) -> NDArray[np.bool_]:
    """Records in which two columns of one variable say the same; shape (n,), whatever missing cells hold."""
    if old.variable.is_numeric != new.variable.is_numeric:
        return np.zeros(len(old.values), dtype=np.bool_)
    if old.variable.is_numeric:
        places = new.variable.decimals
        if places is None:
            present = old.values[~old.missing]
            spread = float(np.ptp(present)) if len(present) else 0.0
            return np.asarray(np.abs(old.values - new.values) <= RELATIVE * spread, dtype=np.bool_)
        # What rounding to the published grid takes back has not been changed.
        return np.asarray(np.round(old.values, places) == np.round(new.values, places), dtype=np.bool_)
    if old.variable.categories == new.variable.categories:
        return np.asarray(old.values == new.values, dtype=np.bool_)
    codes = {category: code for code, category in enumerate(new.variable.categories)}
    # The last place stands for missing cells, whose code is -1.
    translated = np.array([*(codes.get(category, -2) for category in old.variable.categories), -2])
    return np.asarray(translated[old.values] == new.values, dtype=np.bool_)
