"""What is done with groups that break an edit on arrival: refused, dropped, or given what most of their rows say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.levels.broken_edits import ways_instead_of_failing
from maskwright.commands.running.left_out import dropped_doubts, is_many
from maskwright.data.levels.linking import with_most_frequent
from maskwright.edits.analysis.analyse import analyse
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.refusals import EditViolation
from maskwright.planning.applicable_edits import without_violations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.levels.false_on_missing import FalseOnMissing
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.evaluation.tally import EditOutcome
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.pipeline.resolved import Pipeline


@dataclass(frozen=True, eq=False)
class DoneOnArrival:
    """What was done with groups that break an edit.

    `linked`: of the groups that are left. `notices`: what was done; empty: nothing. `dropped`: records that are left
    out.
    """

    linked: LinkedData
    notices: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


def on_violation(
    described: Pipeline,
    linked: LinkedData,
    files: Mapping[str, Dataset],
    bound: BoundEdits,
    found: FalseOnMissing,
) -> DoneOnArrival:
    """Do what the pipeline says with groups that break an edit."""
    broken = [
        each
        for outcome in found.arrival.values() for each in outcome.edits if each.violations and each.severity == "error"
    ]  # fmt: skip
    if not broken:
        return DoneOnArrival(linked)
    shown = ", ".join(f"{each.name}: {each.violations}" for each in broken)
    if described.on_input_violation == "fail":
        raise EditViolation(
            Problem(
                f"records of the original violate edits ({shown})",
                hint=ways_instead_of_failing(linked, bound, [each.name for each in broken]),
            )
        )
    top = linked.levels[0]
    varying = {name: int(varies.sum()) for name, varies in top.varying.items() if varies.any()}
    doubts = tuple(_varying_doubts(top, linked.levels[-1], varying))
    if described.on_input_violation == "drop":
        return _dropped(linked, bound, found, broken, doubts)
    if not varying:
        return DoneOnArrival(linked)
    said = ", ".join(f"{name}: {count}" for name, count in varying.items())
    notice = f"the rows of a {top.name} differ in what is declared of it ({said}): the most frequent value is taken"
    return DoneOnArrival(with_most_frequent(next(iter(files.values())), linked), (notice,), doubts)


def _dropped(
    linked: LinkedData,
    bound: BoundEdits,
    found: FalseOnMissing,
    broken: Sequence[EditOutcome],
    doubts: tuple[Doubt, ...],
) -> DoneOnArrival:
    top, shown = linked.levels[0], ", ".join(f"{each.name}: {each.violations}" for each in broken)
    bad = np.zeros(len(top), dtype=np.bool_)
    for level in linked:
        broken_here = _violating(linked, bound, level.name)
        if level.name in found.records:
            broken_here |= found.records[level.name]
        bad |= _groups_of(broken_here, linked, level.name)
    if bad.all():
        message = f"every {top.name} violates an edit ({shown}), so on_input_violation: drop leaves none"
        raise InputError(Problem(message, None, _excluding_each_other(bound)))
    kept = linked.taken(np.flatnonzero(~bad).astype(np.int64))
    dropped = {before.name: len(before) - len(after) for before, after in zip(linked, kept, strict=True)}
    lost = ", ".join(f"{count} {name}" for name, count in dropped.items())
    notice = f"records of groups that violate an edit on arrival were dropped: {lost} ({shown})"
    many = dropped_doubts(int(bad.sum()), len(top), f"records of {top.name}", broken)
    return DoneOnArrival(kept, (notice,), (*doubts, *many), dropped)


def _varying_doubts(top: Level, lowest: Level, varying: Mapping[str, int]) -> Iterator[Doubt]:
    """A doubt for each variable that is declared of groups, and is not the same in many of them."""
    for name, count in varying.items():
        if is_many(count, len(top)):
            message = f"it is declared of {top.name} and differs between the rows of {count:,} of {len(top):,}"
            hint = f"If it says something of each {lowest.name}, take it out of the variables of {top.name}."
            yield Doubt("varies-within-groups", name, message, count, len(top), hint=hint)


def _excluding_each_other(bound: BoundEdits) -> str | None:
    """Rules that no record can keep together, in words; None where none are found."""
    found = [
        " and ".join(map(repr, each.edits))
        for edits in bound.edits.values() for each in analyse(edits, thorough=False).blocking
    ]  # fmt: skip
    return f"no record can keep these rules together: {'; '.join(found)}" if found else None


def _violating(linked: LinkedData, bound: BoundEdits, level: str) -> NDArray[np.bool_]:
    """Records of a level that violate an edit of severity error."""
    data = with_linked_columns(linked, bound, level)
    if not any(each.severity == "error" for each in bound.edits[level]):
        return np.zeros(len(data), dtype=np.bool_)
    kept = without_violations(data, bound.edits[level])[1]
    bad = np.ones(len(data), dtype=np.bool_)
    bad[kept] = False
    return bad


def _groups_of(records: NDArray[np.bool_], linked: LinkedData, level: str) -> NDArray[np.bool_]:
    """Records of the top level to which any of these belong."""
    groups = linked[level].groups
    if groups is None:
        return records
    return np.bincount(groups, records, len(linked.levels[0])) > 0
