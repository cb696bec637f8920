"""Variables without a negative value that a step may make negative, because no rule says that it must not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.analysis.signs import lines_of_signs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.planning.limits import StepLimit
    from maskwright.planning.model import Group, Step


def sign_notices(
    groups: Sequence[Group],
    steps: Sequence[Step],
    edits: EditSet,
    data: Dataset | None,
    promised: Sequence[StepLimit] = (),
) -> Iterator[str]:
    """Sentence on the lines to add to the edits; only of methods that do not keep values in their range.

    Nor of those that publish multiples of a base, since 0 is a multiple of any: what is not below 0 does not get there.

    `data`: None: no data are at hand, and nothing is said.
    """
    multiples = {(each.step, each.limit.variable) for each in promised if each.limit.multiple_of is not None}
    free = {
        name: steps[group.step - 1].method.name
        for group in groups
        if "range" not in steps[group.step - 1].method.preserves and not steps[group.step - 1].method.removes
        for name in group.variables
        if data is not None and (group.step, name) not in multiples and never_negative(data[name])
    }
    lines = lines_of_signs(edits, tuple(free))
    if lines:
        said = " and ".join(dict.fromkeys(free.values()))
        yield (
            f"{said} may give values below 0, which the original has not; where a variable cannot be negative, add to "
            f"the edits: {listed(lines)}"
        )


def never_negative(column: Column) -> bool:
    """Whether a numeric column has values and none of them is below 0."""
    if not column.variable.is_numeric or column.missing.all():
        return False
    return bool(np.all(column.values[~column.missing] >= 0))


def listed(lines: Sequence[str]) -> str:
    """Rules as they may be copied: ``- x >= 0`` each, in back quotes."""
    return ", ".join(f"`- {line}`" for line in lines)
