"""Checks of masked values: unchanged ones, beyond the range, at a limit, or equal to a missing code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from maskwright.data.missing import is_code_number, is_code_text
from maskwright.data.record_groups import varying
from maskwright.edits.analysis.statements import lines_of_signs
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.progress import Caution
from maskwright.planning.warnings.plan_warnings import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.planning.model import Step
    from maskwright.plugins.method import Limit


@dataclass(frozen=True, eq=False)
class CodedValues:
    """Records whose value of a variable a step put at one of its limits.

    `step`: 1-based. `records`: rows of the original; shape (m,). `reach`: how far the values that were not put there
    go: what lies within has left the limit.
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


def coded_value_notices(coded: Iterable[CodedValues], masked: Dataset) -> Iterator[str]:
    """Sentences on values that have left their limit; a loss, and no disclosure."""
    for each in coded:
        column = masked[each.variable]
        if not column.variable.is_numeric:
            continue
        rows = np.arange(len(masked)) if masked.origin is None else masked.origin
        own = np.isin(rows, each.records) & ~column.missing
        left = int(np.sum(each.side * column.values[own] < each.reach))
        if left:
            side = "below" if each.side > 0 else "above"
            yield (
                f"of {int(own.sum())} values of {each.variable} that step {each.step} put at its limit, {left} have "
                f"come to lie {side} others that it left as they were, to keep edits or by a later step"
            )


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
        slack = 1e-9 * max(abs(low), abs(high)) if places is None else 0.5 * 10.0**-places
        return cls(low, high, float(slack))

    def left_by(self, values: Floats) -> tuple[int, int]:
        """How many values are below 0, where none was, and how many others beyond the smallest or largest one.

        `values`: shape (n,).
        """
        negative = values < 0 if self.low >= 0 else np.zeros(len(values), dtype=np.bool_)
        beyond = ((values < self.low - self.slack) | (values > self.high + self.slack)) & ~negative
        return int(np.count_nonzero(negative)), int(np.count_nonzero(beyond))


def range_notices(original: Dataset, masked: Dataset, names: Sequence[str], edits: EditSet) -> Iterator[str]:
    """Sentences on masked values beyond the original's smallest or largest value; counts, never a value."""
    yield from range_sentences(range_counts(original, masked, names), edits)


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


def range_sentences(left: Mapping[str, tuple[int, int]], edits: EditSet) -> Iterator[str]:
    """Sentences on values that have left the range of the original."""
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


NEARLY_ALL = 0.999
"""Share of unchanged cells from which on a step has changed nearly nothing."""

RELATIVE = 1e-9
"""A number without a grid that moved by less, as a share of the range of its variable, has not moved."""


def unchanged_doubts(
    number: int, step: Step, names: Sequence[str], before: Dataset, after: Dataset, clusters: Integers | None = None
) -> Iterator[Doubt]:
    """Doubts about the variables that a step left as they were.

    Cells that are missing and numbers that are 0 do not count, nor do variables that are constant: there is nothing to
    hide. Where the step promises k, nor do values that all records of a cluster have: so many publish them. Steps that
    only remove are not looked at: they leave every other value as it is.

    `clusters`: cluster of each record, where the step makes any; shape (n,).
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
