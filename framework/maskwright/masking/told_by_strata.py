"""Recoded or perturbed categories whose originals weights show: records of one stratum have the same weight.

Regions a and b are published as one, and those of a have weight 12.5, those of b 20: who knows the design, or the
number of people of either, reads the region off the weight. A category that is changed at random is told by the others
with the same weight, most of which show it as it was. For suppressed cells see
`maskwright.masking.suppressing.told_by_weights`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright.data.dependencies import FEW_VALUES, ValueCodes, determines
from maskwright.data.spanning import groups_of_each
from maskwright.foundation.doubts import Doubt
from maskwright.masking.suppressing.counted_values import told_by_others
from maskwright.masking.suppressing.single_values import telling_values
from maskwright.masking.suppressing.told_by_weights import factors_of_weights, weight_codes
from maskwright.masking.suppressing.unanimous_values import unanimous_values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.planning.plan import Plan

    Codes = NDArray[np.int64]


class PublishedWeights(NamedTuple):
    """Weights as they are published.

    `values`: NaN where there is none; shape (n,). `factor`: what each was multiplied by, where that was not the same
    for all; shape (n,).
    """

    name: str
    values: NDArray[np.float64]
    factor: NDArray[np.float64] | None = None

    def taken(self, rows: NDArray[np.int64]) -> PublishedWeights:
        """Weights of these records."""
        return self._replace(values=self.values[rows], factor=None if self.factor is None else self.factor[rows])


def published_weights(before: Dataset, after: Dataset) -> list[PublishedWeights]:
    """Weights of a file, each with what it was multiplied by."""
    factors = factors_of_weights(before, after)
    return [
        PublishedWeights(
            column.name, np.where(column.missing, np.nan, column.values).astype(np.float64), factors.get(column.name)
        )
        for column in after
        if column.variable.role == "weight" and column.variable.is_numeric
    ]


def masked_categories(plan: Plan) -> tuple[str, ...]:
    """Variables that steps recode or perturb, and not only empty; none where records are drawn anew."""
    if plan.draws_records:
        return ()
    named = {
        name
        for group in plan.groups
        for step in (plan.steps[group.step - 1],)
        if step.changes_cells and ("detail" in step.method.removes or not step.only_removes)
        for name in group.variables
    }
    return tuple(name for name, each in plan.variables.items() if name in named and not each.as_is)


def strata_doubts(
    weights: PublishedWeights, names: Collection[str], before: Dataset, after: Dataset, groups: Codes | None = None
) -> Iterator[Doubt]:
    """Doubts about masked categories whose originals the weights tell.

    A cell is asked about where its published category alone does not tell the original one: of fewer than
    `single_values.CERTAIN` of the records that are published with that category it is the original. The weights tell it
    if they determine the original categories (`determines`), of all records or of those with its published category, or
    if its weight is one of the single values that tell (`telling_values`), and if nearly all records with the same
    weight had the original category that this one had. A weight that one record alone has, or one group, tells nothing:
    so calibrated weights do not. The same is asked of what the weights were multiplied by.

    `names`: variables that steps recode or perturb. `before`, `after`: the same n records: original, and released.
    Variables of more than `FEW_VALUES` values are amounts. `groups`: of the records: those of one group have the same
    weight, and bear witness once; shape (n,).
    """
    originals, published = ValueCodes(before), ValueCodes(after)
    asked = [
        name
        for name in names
        if name in before and name in after and before[name].variable.role not in ("weight", "identifier")
        and all(1 <= codes.distinct(name) <= FEW_VALUES for codes in (originals, published))
    ]  # fmt: skip
    for name in asked:
        values, shown = originals.of(name), published.of(name)
        there = (values >= 0) & (shown >= 0)
        open_ = there & (told_by_others(shown, values, there) != values)
        if not open_.any():
            continue
        tests = 2 * len(asked) * (1 + published.distinct(name))
        by_value, by_factor = (
            np.zeros(len(values), dtype=np.bool_)
            if given is None
            else open_ & _told(weight_codes(given), values, np.where(there, shown, -1), tests, groups)
            for given in (weights.values, weights.factor)
        )
        if count := int((by_value | by_factor).sum()):
            total = int(open_.sum())
            yield Doubt("weights-tell-categories", name, _said(weights.name, name, by_value, by_factor, total),
                        count, total, hint=_remedy(weights.name, name, by_value, by_factor))  # fmt: skip


def original_category_doubts(plan: Plan, before: Dataset, after: Dataset) -> Iterator[Doubt]:
    """Doubts about the masked categories of a file whose originals its own weights tell.

    `before`, `after`: the same records, with their households where they have any.
    """
    names = masked_categories(plan)
    said = {(each.subject, each.message) for each in plan.doubts if each.kind == "follows-from-published"}
    for weights in published_weights(before, after) if names else ():
        # Planning has said so of weights that tell all of a variable.
        left = [name for name in names if (name, f"it can be read off {weights.name}, published as it is") not in said]
        yield from strata_doubts(weights, left, before, after, after.households)


def _told(given: Codes, values: Codes, shown: Codes, tests: int, groups: Codes | None) -> NDArray[np.bool_]:
    """Records whose original category their weight tells, by itself or beside the published category; shape (n,)."""
    found = _told_alone(np.where(shown >= 0, given, -1), values, tests, groups)
    order = np.argsort(shown, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(shown[order])) + 1):
        if len(rows) and shown[rows[0]] >= 0 and (values[rows] != values[rows[0]]).any():
            own = np.unique(given[rows], return_inverse=True)[1] - int((given[rows] < 0).any())
            of_rows = np.unique(values[rows], return_inverse=True)[1] - int((values[rows] < 0).any())
            of_groups = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
            found[rows] |= _told_alone(own, of_rows, tests, of_groups)
    return found


def _told_alone(given: Codes, values: Codes, tests: int, groups: Codes | None) -> NDArray[np.bool_]:
    there = (given >= 0) & (values >= 0)
    if not there.any():
        return there
    if determines(given, values, tests, groups):
        counted = int(given.max()) + 1
        witnesses = (
            np.bincount(given[there], minlength=counted)
            if groups is None
            else groups_of_each(given[there], groups[there], counted)
        )
        tells = there & (witnesses[given] > 1)
    else:
        together = unanimous_values(given, values, tests, groups)
        tells = telling_values(given, values, tests * len(given), groups) | (there & together[given])
    return np.asarray(tells & (told_by_others(given, values, there) == values))


def _said(weights: str, name: str, by_value: NDArray[np.bool_], by_factor: NDArray[np.bool_], total: int) -> str:
    count = int((by_value | by_factor).sum())
    lead = f"the original category of {count} of {total} cells that do not show it is told by {weights}"
    if not (by_factor & ~by_value).any():
        return f"{lead}: records with the same weight had the same category"
    return f"{lead}, whose values were divided by another share where {name} was another"


def _remedy(weights: str, name: str, by_value: NDArray[np.bool_], by_factor: NDArray[np.bool_]) -> str:
    ways = [f"Recode {name} until records of one category have the weights of others, too"]
    ways.append(f"or leave the weights out (`{weights}: {{role: identifier}}`)")
    if by_factor.any():
        ways.append("or draw by other strata, or leave them as they are (`adjust_weights: false`)")
    if by_value.any():
        ways.append(
            f"or publish other weights: calibrated, or rounded so that strata share them, in the file itself; a step "
            f"rounds {weights} only if it is declared otherwise (`role: confidential`), and nothing is weighted by it"
        )
    return f"{'; '.join(ways)}."
