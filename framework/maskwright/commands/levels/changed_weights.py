"""Weights of data of levels: how those of members changed with their groups', and what they tell of the other level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.levels.steps import takes_records
from maskwright.masking.suppressing.told_by_weights import factors_of_weights, same_weight_doubts, weight_doubts
from maskwright.masking.told_by_strata import masked_categories, published_weights, strata_doubts
from maskwright.release.levels.arranging import places_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.foundation.doubts import Doubt
    from maskwright.release.record.run_record import RunRecord


def with_changed_weights(
    record: RunRecord, whole: PlannedLevels, left: PlannedLevels, rows: Mapping[str, NDArray[np.int64]]
) -> RunRecord:
    """Record that tells which weights of the lower level changed where groups were taken away.

    The steps of the lower level get these weights as they are published, so that its own record cannot tell.

    `whole`, `left`: on all groups, and on those that are left. `rows`: groups that are left, where steps of the upper
    level took some away; shape (n,).
    """
    top, low = whole.arrived.linked.names
    if top not in rows:
        return record
    before, after = whole.arrived.linked.taken(rows[top])[low].data, left.arrived.linked[low].data
    found = whole.steps[top]
    step = next(number for own, number in zip(found.steps, found.numbers, strict=True) if takes_records(own))
    shares = {
        column.name: float(100 * np.mean(column.values == before[column.name].values))
        for column in after
        if column.variable.role == "weight" and column.variable.is_numeric
        and not np.array_equal(column.values, before[column.name].values, equal_nan=True)
    }  # fmt: skip
    variables = tuple(
        each.model_copy(update={"masked_by": step, "unchanged": shares[each.name]}) if each.name in shares else each
        for each in record.variables
    )
    untouched = tuple(name for name in record.plan.untouched if name not in shares)
    return record.model_copy(
        update={"variables": variables, "plan": record.plan.model_copy(update={"untouched": untouched})}
    )


def weight_doubts_across(
    whole: PlannedLevels, masked: LinkedData, rows: Mapping[str, NDArray[np.int64]]
) -> Iterator[Doubt]:
    """Doubts about suppressed cells that the weights of members show, of members and of groups without weights.

    `masked`: of those that are left, in their order. `rows`: groups that are left, where steps of the upper level took
    some away; shape (n,).
    """
    top, low = masked.names
    groups = masked[low].groups
    if top not in rows or groups is None:
        return
    before = whole.arrived.linked.taken(rows[top])
    of_groups, of_members = (factors_of_weights(before[name].data, masked[name].data) for name in (top, low))
    shown = of_members or {name: factor[groups] for name, factor in of_groups.items()}
    for name, factor in shown.items():
        yield from weight_doubts(name, factor, before[low].data, masked[low].data)
    if of_groups:
        return
    firsts = np.searchsorted(groups, np.arange(len(masked[top])))
    for name, factor in of_members.items():
        of_first = factor[np.minimum(firsts, max(len(factor) - 1, 0))]
        yield from weight_doubts(name, of_first, before[top].data, masked[top].data)


def original_doubts_across(
    whole: PlannedLevels, left: PlannedLevels, masked: LinkedData, rows: Mapping[str, NDArray[np.int64]]
) -> Iterator[Doubt]:
    """Doubts about recoded, perturbed or suppressed categories of one level that the weights of the other tell.

    `whole`, `left`: on all groups, and on those that are left. `masked`: of those that are left, in their order.
    `rows`: groups that are left, where steps of the upper level took some away; shape (n,).
    """
    top, low = masked.names
    groups = masked[low].groups
    if groups is None or not len(groups):
        return
    # Steps of either level take groups away.
    original = whole.arrived.linked
    before = original.taken(places_of(masked, original)[top])
    names = {name: masked_categories(ready.plan) for name, ready in left.ready.items()}
    own = (before[low].data, masked[low].data)
    for each in published_weights(before[top].data, masked[top].data):
        of_members = each.taken(groups)
        yield from strata_doubts(of_members, names.get(low, ()), *own, groups)
        yield from same_weight_doubts(each.name, of_members.values, *own, groups)
    # The file of members was asked with the weights as its steps got them, multiplied already.
    for each in published_weights(*own) if top in rows else ():
        if each.factor is not None:
            factor_alone = each._replace(values=np.full(len(groups), np.nan))
            yield from strata_doubts(factor_alone, names.get(low, ()), *own, groups)
    # One member of each group: whoever has its members has their weights.
    there, firsts = np.unique(groups, return_index=True)
    for each in published_weights(*own):
        of_groups = (before[top].data.taken(there), masked[top].data.taken(there))
        yield from strata_doubts(each.taken(firsts), names.get(top, ()), *of_groups)
        yield from same_weight_doubts(each.name, each.values[firsts], *of_groups)
