"""What is doubted of a release as it is, whatever was thought of it while it was made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.data.written_cells import rows_of
from maskwright.masking.equivalence_classes import promised_classes
from maskwright.masking.kept_promises import class_doubts
from maskwright.masking.suppressing.told_by_weights import (
    factors_of_weights,
    same_weight_doubts,
    weight_doubts,
)
from maskwright.masking.told_by_strata import original_category_doubts, published_weights
from maskwright.release.last_look import unchanged_doubts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.doubts import Doubt
    from maskwright.planning.plan import Plan
    from maskwright.release.last_look import UnchangedCells


def last_doubts(
    plan: Plan, original: Dataset, released: Dataset, unchanged: Iterable[UnchangedCells], told: Sequence[Doubt]
) -> tuple[Doubt, ...]:
    """Doubts about the released file: variables that are as they were, and classes smaller than promised.

    Every release of data in memory is counted here, after the last cell went.

    `released`: as it was read back; `origin` pairs its records with those of the original. Classes are counted in its
    households, else in those of the original.
    """
    if released.households is None and original.households is not None:
        origin = slice(None) if released.origin is None else rows_of(original, released)
        released = replace(released, households=original.households[origin])
    classes = promised_classes(released, plan)
    return (
        *unchanged_doubts(unchanged, plan, told),
        *class_doubts(plan, released, classes),
        *_weight_doubts(plan, original, released),
    )


def _weight_doubts(plan: Plan, original: Dataset, released: Dataset) -> Iterator[Doubt]:
    """Doubts about suppressed cells, and about recoded or perturbed ones, that the weights show."""
    if not any(column.variable.role == "weight" for column in released):
        return
    before = original if released.origin is None else original.taken(rows_of(original, released))
    if any(column.missing.any() for column in released):
        for name, factor in factors_of_weights(before, released).items():
            yield from weight_doubts(name, factor, before, released)
        for each in published_weights(before, released):
            yield from same_weight_doubts(each.name, each.values, before, released, released.households)
    yield from original_category_doubts(plan, before, released)
