"""Values that domain edits allow, those of the original file, and whether they may be published again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import DomainPart, GoverningPart, Part
from maskwright.foundation.errors import EditError
from maskwright.masking.adjusting.constraints import Membership

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.context import WholeFile
    from maskwright.planning.model import AdjustmentUnit
    from maskwright.planning.plan import Plan


def domain_values(
    edits: EditSet, unit: AdjustmentUnit, plan: Plan, original: Dataset, whole: WholeFile | None = None
) -> dict[Membership, NDArray[np.float64]]:
    """Values that a domain edit allows: those of the original, on continuous variables only if k records share them.

    `whole`: of which `original` holds some records. Returns possible combinations, one a row; shape (m, q).
    """
    found: dict[Membership, NDArray[np.float64]] = {}
    records = len(original) if whole is None else whole.records
    steps = {group.step for group in plan.groups if set(group.variables) & set(unit.variables)}
    requests = [plan.steps[number - 1] for number in sorted(steps)]
    for edit in edits:
        for part in _domain_parts(edit.parts):
            if not set(part.variables) <= set(unit.variables):
                continue
            combinations, counts = _occurring(part.variables, original, whole)
            continuous = any(original[name].variable.type == "continuous" for name in part.variables)
            least = max([request.group_records(records) or 2 for request in requests], default=2)
            if continuous and not any(request.planning.allow_original_values for request in requests):
                combinations = combinations[counts >= least]
            if len(combinations) == 0:
                raise EditError(
                    f"edit {edit.name!r} wants values that occur in the original file, but no value of "
                    f"{', '.join(part.variables)} is shared by {least} records, so each would republish a single "
                    "record's true value; drop the edit, or set 'allow_original_values: true' in the step's params"
                )
            found[Membership(part.variables, None)] = combinations
    return found


def _occurring(
    names: tuple[str, ...], original: Dataset, whole: WholeFile | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Combinations of values that occur, one a row in ascending order, and how many records have each."""
    if whole is None:
        values = original.matrix(names)
        return np.unique(values[~np.isnan(values).any(axis=1)], axis=0, return_counts=True)
    known = whole.domain.combinations(names)
    order = np.lexsort(known.numbers.T[::-1])
    return known.numbers[order], known.counts[order]


def _domain_parts(parts: Sequence[Part]) -> Iterator[DomainPart]:
    """Domain parts of an edit, also those behind an ``if``."""
    for each in parts:
        if isinstance(each, DomainPart):
            yield each
        elif isinstance(each, GoverningPart):
            yield from _domain_parts((*each.consequent, *each.otherwise, *(each.condition_parts or ())))
