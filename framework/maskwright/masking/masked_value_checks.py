"""Checks of masked values: promised multiples, zeros, unchanged values, ranges, and missing codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from maskwright.data.missing import is_code_number, is_code_text
from maskwright.data.record_groups import varying
from maskwright.edits.analysis.statements import lines_of_signs
from maskwright.foundation.counts import plural
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.findings import Notice
from maskwright.masking.adjusting.constraint_system import RELATIVE
from maskwright.planning.strata import is_zero
from maskwright.planning.warnings.plan_warnings import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.planning.model import Group, Step
    from maskwright.planning.plan import Plan
    from maskwright.plugins.method import Limit


def guarantee_doubts(
    plan: Plan, original: Dataset, masked: Dataset, off: Mapping[str, Sequence[str]],
    moved: Mapping[str, Sequence[int]] | None = None, joined: Mapping[tuple[int, str], int] | None = None,
) -> Iterator[Doubt]:  # fmt: skip
    """Doubts about promised values that are not there; classes are counted in the end, in what is published."""
    yield from multiple_doubts(plan, [beside_multiples(plan, masked)], off)
    moved = moved_zeros(plan, original, masked) if moved is None else moved
    yield from zero_doubts(plan, moved, zero_counts(plan, original), len(original), joined or {})


def beside_multiples(plan: Plan, masked: Dataset) -> tuple[tuple[int, int], ...]:
    """For each promise of the plan, how many values are no multiples though they should be, and of how many."""
    found = []
    for each in plan.promised:
        base, column = each.limit.multiple_of, masked[each.limit.variable]
        if base is None or not column.variable.is_numeric:
            found.append((0, 0))
            continue
        values = column.values[~column.missing].astype(np.float64)
        off = np.abs(values - np.rint(values / base) * base) > RELATIVE * np.maximum(np.abs(values), base)
        found.append((int(off.sum()), len(values)))
    return tuple(found)


def multiple_doubts(
    plan: Plan, parts: Sequence[Sequence[Sequence[int]]], off: Mapping[str, Sequence[str]]
) -> Iterator[Doubt]:
    """Doubts about promised multiples."""
    for position, each in enumerate(plan.promised):
        count, total = (sum(part[position][at] for part in parts) for at in (0, 1))
        if count:
            variable = plan.variables[each.limit.variable]
            edits = ", ".join(off.get(variable.name, ()))
            why = f", since adjusting found none that satisfy {edits}" if edits else ""
            yield Doubt(
                "multiples-not-kept", variable.name,
                f"{count} of {total} values of {variable.name} are no multiples of its base{why}",
                count=count, total=total, place=each.step.place, hint=_way_out(edits, variable), step=each.step.number,
            )  # fmt: skip


def _way_out(edits: str, variable: Variable) -> str:
    if edits:
        return "take a smaller base, or one that the numbers in these edits are multiples of"
    if variable.decimals is None:
        return "declare its decimals: values without a grid are adjusted without regard to multiples"
    return "give the variables of an equality one base, or round a total no further than its parts"


def zero_counts(plan: Plan, data: Dataset) -> dict[str, tuple[int, int]]:
    """Zeros, and cells with a value, of each variable that a step says has structural zeros."""
    names = {name: data[name] for step in plan.steps for name in step.planning.structural_zeros}
    return {name: (int(np.sum(is_zero(each))), int(np.sum(~each.missing))) for name, each in names.items()}


def moved_zeros(
    plan: Plan, original: Dataset, masked: Dataset, obeying: Integers | None = None
) -> dict[str, tuple[int, int]]:
    """Records in which a structural zero became another value, or another value a zero, of each variable.

    `obeying`: records whose original obeys the edits; None: all do. Returns how many of these, and how many others: in
    a record that violates an edit the zeros are no more right than the other values.
    """
    found = {}
    for name in zero_counts(plan, original):
        before, after = original[name], masked[name]
        zeros, others = is_zero(before), is_zero(after)
        if not after.variable.is_numeric:
            found[name] = 0, 0
        elif plan.draws_records:
            # Where records are drawn anew none comes from the original in its row: the number of zeros is promised.
            found[name] = abs(int(zeros.sum()) - int(others.sum())), 0
        else:
            moved = (zeros != others) & ~before.missing & ~after.missing
            right = int(moved.sum() if obeying is None else moved[obeying].sum())
            found[name] = right, int(moved.sum()) - right
    return found


FEW_JOINED = 0.05
"""Share of the records up to which zeros may be those of others in their cluster, where k asks for it; or k - 1.

But no more than half of the zeros, or of the other values, of a variable, and than are in strata of fewer than k.
"""


def zero_doubts(
    plan: Plan, moved: Mapping[str, Sequence[int]], zeros: Mapping[str, Sequence[int]], records: int,
    joined: Mapping[tuple[int, str], int],
) -> Iterator[Doubt]:  # fmt: skip
    """Doubts about structural zeros that did not stay; `zeros`: of the original, as `zero_counts` has them.

    `joined`: records that have the zeros of others in their cluster, as the promise says, by step and variable.
    """
    for position, step in enumerate(plan.steps, 1):
        for name in step.planning.structural_zeros:
            count, own = sum(moved[name]), joined.get((step.number, name), 0)
            explained = sum(each for (_, variable), each in joined.items() if variable == name)
            had, cells = zeros[name]
            groups = [each for each in plan.groups if each.step == position and name in each.variables]
            rare = [each for group in groups if group.strata for each in group.strata.strata if each.merged]
            few = min(
                max((step.k or 1) - 1, FEW_JOINED * records), had / 2, (cells - had) / 2,
                sum(each.records for each in rare),
            )  # fmt: skip
            if count and (own > few or count > explained):
                yield Doubt(
                    "zeros-not-kept", name,
                    f"in {count} of {records} records a structural zero of {name} became another value, or another "
                    "value a zero",
                    count=count, total=records, place=step.place, step=step.number,
                    hint=_zeros_way_out(step, groups, name, moved[name], any_zero=bool(had), joined=own),
                )  # fmt: skip


def _zeros_way_out(
    step: Step, groups: Sequence[Group], name: str, moved: Sequence[int], *, any_zero: bool, joined: int
) -> str:
    if not any_zero:
        return (
            f"no original value of {name} is 0: take it out of 'structural_zeros', and check the edits that leave it "
            "no other value"
        )
    right, wrong = moved
    ways = []
    if wrong:
        ways.append(
            f"{plural(wrong, 'of these records violates', 'of these records violate')} an edit in the original data: "
            "`on_input_violation: localize` mends them first, `drop` leaves them out"
        )
    if joined:
        several = any(len({*step.planning.structural_zeros} & {*group.variables}) > 1 for group in groups)
        remedies = [
            "name fewer variables in 'structural_zeros', mask them in smaller groups ('group_size')"
            if several else f"take {name} out of 'structural_zeros'",
            *(["take a smaller k"] if (step.k or 0) > 2 else []),
        ]  # fmt: skip
        ways.append(
            f"fewer than k = {step.k} records share the zeros of {plural(joined, 'record')}, which "
            f"{'has' if joined == 1 else 'have'} those of others: {', or '.join(remedies)}"
        )
        if any(each.merged and each.has_gaps for group in groups if group.strata for each in group.strata.strata):
            ways.append("where cells are missing, `missing: available_cases` clusters by the zeros alone")
    elif right:
        ways.append(f"state the rule that governs its zeros as an edit (if ... then {name} == 0)")
    return "; ".join(ways)


@dataclass(frozen=True, eq=False)
class CodedValues:
    """Records whose value of a variable a step put at one of its limits.

    `step`: in the pipeline, 1 for the first. `records`: rows of the original; shape (m,). `reach`: how far the values
    that were not put there go: what lies within has left the limit.
    """

    step: int
    variable: str
    records: Integers
    side: int
    reach: float


def coded_values(step: int, limits: Iterable[Limit], before: Dataset, after: Dataset) -> Iterator[CodedValues]:
    """Values that a step put at its limits."""
    for limit in limits:
        old, new = before[limit.variable], after[limit.variable]
        if not old.variable.is_numeric or not new.variable.is_numeric:
            continue
        for bound, side in ((limit.high, 1), (limit.low, -1)):
            if bound is None:
                continue
            there = ~new.missing & (new.values == bound) & (new.values != old.values)
            others = new.values[~new.missing & ~there]
            if there.any() and len(others):
                rows = np.flatnonzero(there)
                rows = rows if after.origin is None else after.origin[rows]
                yield CodedValues(step, limit.variable, rows, side, float(np.max(side * others)))


def coded_value_notices(
    coded: Iterable[CodedValues], masked: Dataset, plan: Plan, edits: Iterable[Edit]
) -> Iterator[Notice]:
    """Notices of values that have left their limit; a loss, and no disclosure.

    Values that a later step averages, reorders or draws anew are not reported.
    """
    joined = {name for edit in edits if len({*edit.variables} & {*plan.masked}) > 1 for name in edit.variables}
    for each in coded:
        column = masked[each.variable]
        if not column.variable.is_numeric:
            continue
        rows = np.arange(len(masked)) if masked.origin is None else masked.origin
        there = np.isin(rows, each.records) & ~column.missing
        left = int(np.sum(each.side * column.values[there] < each.reach))
        if left:
            done, side = ("top-coded", "below") if each.side > 0 else ("bottom-coded", "above")
            own = [plan.steps[group.step - 1] for group in plan.groups if each.variable in group.variables]
            later = [step for step in own if step.number > each.step]
            if any(_averages_or_reorders(step) for step in later):
                continue
            # What edits join with other variables is adjusted after the last step, whatever their order.
            moved = "edits or a later step" if later else "edits"
            advice = "; make the coding the last step" if later and each.variable not in joined else ""
            message = (
                f"{left} of {plural(int(there.sum()), 'value')} of {each.variable} that step {each.step} {done} now "
                f"lie {side} values that it did not code: {moved} moved them. That distorts the tail, and discloses "
                f"nothing{advice}"
            )
            yield Notice("limit-left", each.variable, message, left, int(there.sum()), step=each.step)


def _averages_or_reorders(step: Step) -> bool:
    method = step.method
    return method.makes_clusters or step.moves_records or {"domain", "mean"} <= method.claims.preserves


def value_as_code_doubts(columns: Iterable[Column]) -> Iterator[Doubt]:
    """Doubts about columns in which a value, as it is to be published, is a declared missing code."""
    for column in columns:
        codes = column.variable.empty_texts
        if not codes:
            continue
        if column.variable.is_numeric:
            found = is_code_number(column.values, codes)
        else:
            is_code = is_code_text(pa.array(column.variable.categories, pa.string()), codes)
            found = np.append(is_code, False)[column.values]
        count = int(np.count_nonzero(found & ~column.missing))
        if count:
            message = f"{count} masked values are declared missing codes, and would be read as such"
            hint = f"Declare bounds that leave the codes outside: `{column.name}: {{min: ..., max: ...}}`."
            yield Doubt("value-is-a-missing-code", column.name, message, count, len(column), hint=hint)


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
        slack = RELATIVE * max(abs(low), abs(high)) if places is None else 0.5 * 10.0**-places
        return cls(low, high, float(slack))

    def left_by(self, values: Floats) -> tuple[int, int]:
        """How many values are below 0, where none was, and how many others beyond the smallest or largest one.

        `values`: shape (n,).
        """
        negative = values < 0 if self.low >= 0 else np.zeros(len(values), dtype=np.bool_)
        beyond = ((values < self.low - self.slack) | (values > self.high + self.slack)) & ~negative
        return int(np.count_nonzero(negative)), int(np.count_nonzero(beyond))


def range_counts(original: Dataset, masked: Dataset, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """How many masked values of each variable have left the range of the original, as `Extent.left_by` counts them."""
    left: dict[str, tuple[int, int]] = {}
    for name in names:
        before, after = original[name], masked[name]
        if before.missing.all() or not after.variable.is_numeric:
            continue
        known = before.values[~before.missing]
        extent = Extent.of(before.variable, float(known.min()), float(known.max()))
        left[name] = extent.left_by(after.values[~after.missing].astype(np.float64))
    return left


def range_notices(left: Mapping[str, tuple[int, int]], edits: EditSet) -> Iterator[Notice]:
    """Notices of values that have left the range of the original."""
    below, beyond = ({name: counts[at] for name, counts in left.items() if counts[at]} for at in (0, 1))
    counted = tuple(", ".join(f"{n} ({count})" for n, count in each.items()) for each in (below, beyond))
    if below:
        lines = lines_of_signs(edits, tuple(below))
        advice = f"; where a variable cannot be negative, add to the edits: {listed(lines)}" if lines else ""
        message = f"masked values below 0, where the original has none: {counted[0]}{advice}"
        yield Notice("below-zero", "", message, sum(below.values()))
    if beyond:
        message = (
            f"masked values beyond the smallest or largest one of the original: {counted[1]}; where a variable "
            "has limits that no edit states, state them"
        )
        yield Notice("beyond-the-original", "", message, sum(beyond.values()))


NEARLY_ALL = 0.999
"""Share of unchanged cells from which on a step has changed nearly nothing."""


def unchanged_counts(
    step: Step, names: Sequence[str], before: Dataset, after: Dataset, clusters: Integers | None = None
) -> dict[str, list[Any]]:
    """Cells of each variable that could have changed in a step, those that did not, and the extremes they had.

    Cells that are missing and numbers that are 0 do not count: there is nothing to hide. Where the step promises k, nor
    do values that all records of a cluster have: so many publish them. Steps that only remove are not examined: they
    leave every other value as it is.

    `clusters`: cluster of each record, where the step makes any; shape (n,).
    """
    found: dict[str, list[Any]] = {}
    for name in () if step.only_removes else names:
        old, new = before[name], after[name]
        relevant = ~old.missing & ~new.missing
        if old.variable.is_numeric:
            relevant &= old.values != 0
        if clusters is not None and step.k is not None:
            relevant &= varying(np.where(old.missing, 0, old.values), clusters)
        values = old.values[relevant]
        extremes = [float(values.min()), float(values.max())] if len(values) else []
        found[name] = [len(values), int(np.sum(same_values(old, new)[relevant])), extremes]
    return found


def unchanged_doubts(step: Step, counts: Iterable[Mapping[str, list[Any]]]) -> Iterator[Doubt]:
    """Doubts about the variables that a step left as they were, but for constant ones; `counts`: of all records."""
    together: dict[str, list[Any]] = {}
    for each in counts:
        for name, (total, same, extremes) in each.items():
            known = together.setdefault(name, [0, 0, []])
            together[name] = [known[0] + total, known[1] + same, [*known[2], *extremes]]
    least = 1.0 if step.method.claims.changes_few else NEARLY_ALL
    for name, (total, same, extremes) in together.items():
        if total and min(extremes) < max(extremes) and same >= least * total:
            how = "as it was" if same == total else f"nearly as it was: {same} of {total} values are the same"
            yield Doubt(
                "step-changed-nothing", name, f"{step} left it {how}",
                count=same, total=total, place=step.place, step=step.number,
            )  # fmt: skip


def same_values(old: Column, new: Column) -> Booleans:
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
