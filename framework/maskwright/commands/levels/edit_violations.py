"""Edits violated in the input, or undecided on missing cells: what is done with the groups, and ways out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.running.input_violations import (
    dropped_doubts,
    input_violation,
    is_many,
    violated_edits,
    violation_counts,
)
from maskwright.data.levels.linking import with_most_frequent
from maskwright.edits.analysis.analyse import analyse
from maskwright.edits.edit_set import EditSet
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import StructureColumn
from maskwright.edits.levels.structure_edits import sources_of_edit
from maskwright.foundation.counts import listed
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.findings import Notice
from maskwright.planning.applicable_edits import without_violations
from maskwright.planning.levels.bound_edits import unknown_records
from maskwright.planning.levels.level_steps import maskable
from maskwright.release.file_validation import check_nested
from maskwright.release.levels.engine_validation import WHAT_TO_DO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.outcomes import EditOutcome
    from maskwright.edits.languages.schematron.options import SchematronOptions
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.foundation.progress import Progress
    from maskwright.pipeline.resolved import LevelSources, Pipeline


@dataclass(frozen=True, eq=False)
class FalseOnMissing:
    """What an engine finds broken in the original because cells are missing.

    `arrival`: in which these records count as violations, as they do in `maskwright validate`. `records`: where an edit
    of severity error is broken so.
    """

    arrival: Mapping[str, Outcome]
    records: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()


def false_on_missing(
    levels: LevelSources,
    rules: EditSet,
    limits: SchematronOptions,
    linked: LinkedData,
    bound: BoundEdits,
    arrival: Mapping[str, Outcome],
    progress: Progress,
) -> FalseOnMissing:
    """Ask an engine about the edits of which verdicts are unknown."""
    stated = {edit.name: edit for edits in bound.edits.values() for edit in edits}
    open_ = {each.name for outcome in arrival.values() for each in outcome.edits if each.unknown}
    requested = EditSet(tuple(edit for edit in rules if edit.name in open_ and not _is_written(stated[edit.name])))
    if not len(requested):
        return FalseOnMissing(arrival)
    source = next(iter(levels.sources.values()))
    assert source.source.nested is not None
    reading = source.source.nested.open(source.path, source.params, progress)
    found = check_nested(
        source.path, reading, requested, limits, levels=tuple(levels.sources), most_listed=sum(map(len, linked))
    )
    broken = {}
    for each in found.edits:
        failing = np.zeros(len(linked[each.level]), dtype=np.bool_)
        failing[each.listed - 1] = True
        failing &= unknown_records(stated[each.name], linked, bound)
        if failing.any():
            broken[each.name] = failing
    reported = {name: replace(outcome, edits=tuple(_counted(each, broken) for each in outcome.edits))
            for name, outcome in arrival.items()}  # fmt: skip
    errors = {
        name: [broken[edit.name] for edit in edits if edit.name in broken and edit.severity == "error"]
        for name, edits in bound.edits.items()
    }
    records = {name: np.logical_or.reduce(each) for name, each in errors.items() if each}
    message = ", ".join(f"{name}: {int(each.sum())}" for name, each in broken.items())
    message = f"tests that are false where cells are missing ({message} records): {WHAT_TO_DO}"
    notice = Notice("false-on-missing", "", message, len(broken))
    return FalseOnMissing(reported, records, (notice,) if broken else ())


def _is_written(edit: Edit) -> bool:
    """Whether a test was written from a rule, with guards for what is missing."""
    return edit.assertion is not None and edit.assertion.rule is not None


def _counted(each: EditOutcome, broken: Mapping[str, NDArray[np.bool_]]) -> EditOutcome:
    if each.name not in broken:
        return each
    count = int(broken[each.name].sum())
    return replace(each, violations=each.violations + count, unknown=each.unknown - count)


WHERE_MASKED = " where a step masks what an edit reads"
DROP = "leaves out whole groups that violate an edit"
CORRECT = "correct the file: no step masks keys or pointers"


def remedies_without_masking(linked: LinkedData, bound: BoundEdits, broken: Sequence[str], *, localized: bool) -> str:
    """What helps where no step masks what the broken edits read, under `mask` or after `localize`."""
    edits = _named(bound, broken)
    masked = [edit.name for edit in edits if _is_maskable(linked, bound, edit)]
    pointed = [edit.name for edit in edits if edit.name not in masked and _reads_pointer(linked, bound, edit)]
    ways = f"`on_input_violation: drop` {DROP}"
    if not localized and (masked or pointed) and _are_located(linked):
        ways += ", `localize` first adjusts the fewest fields"
        ways += ", and empties a pointer or points it to another record" if pointed else ""
    if masked:
        what = "the edit reads" if len(masked) == len(edits) else f"{listed(masked)} read{'s' * (len(masked) == 1)}"
        ways += f"; or mask what {what}"
    return ways if len(masked) == len(edits) else f"{ways}{', and' if masked else '; or'} {CORRECT}"


def alternatives_to_failing(linked: LinkedData, bound: BoundEdits, broken: Sequence[str]) -> str:
    """What a pipeline whose `on_input_violation` is `fail` could say instead."""
    edits = _named(bound, broken)
    mended = [edit.name for edit in edits if _is_maskable(linked, bound, edit) or _varies(bound, edit)]
    pointed = [edit.name for edit in edits if edit.name not in mended and _reads_pointer(linked, bound, edit)]
    ways = ["'drop' leaves out whole groups"]
    if mended:
        them = "them" if len(mended) == len(edits) else listed(mended)
        where = "" if all(_varies(bound, edit) for edit in edits if edit.name in mended) else WHERE_MASKED
        ways.insert(0, f"'mask' masks and mends {them}{where}")
    if (mended or pointed) and _are_located(linked):
        pointers = ", and empties a pointer or points it to another record" if pointed else ""
        ways.append(f"'localize' first adjusts the fewest fields{pointers}")
    message = f"on_input_violation is 'fail'; {', '.join(ways)}"
    return message if len(mended) == len(edits) else f"{message}; or {CORRECT}"


def _are_located(linked: LinkedData) -> bool:
    """Whether errors are located in data of so many levels."""
    return len(linked.levels) == 2


def _named(bound: BoundEdits, names: Iterable[str]) -> list[Edit]:
    every = {edit.name: edit for edits in bound.edits.values() for edit in edits}
    return [every[name] for name in names if name in every]


def _is_maskable(linked: LinkedData, bound: BoundEdits, edit: Edit) -> bool:
    """Whether it reads a variable that a step could mask."""
    own = {(level.name, each.name) for level in linked for each in maskable(level) if each.role != "identifier"}
    return not own.isdisjoint(sources_of_edit(bound, edit))


def _varies(bound: BoundEdits, edit: Edit) -> bool:
    """Whether it says that the rows of a group agree: under `mask` all get the most frequent value."""
    return any(each.broken == "varies" for each in _of_structure(bound, edit))


def _reads_pointer(linked: LinkedData, bound: BoundEdits, edit: Edit) -> bool:
    pointers = {(level.name, name) for level in linked for name in level.pointers}
    dangles = any(each.broken == "dangles" for each in _of_structure(bound, edit))
    return dangles or not pointers.isdisjoint(sources_of_edit(bound, edit))


def _of_structure(bound: BoundEdits, edit: Edit) -> list[StructureColumn]:
    columns = bound.columns[edit.level]
    return [each for each in columns if isinstance(each, StructureColumn) and each.name in edit.variables]


def is_of_structure(bound: BoundEdits, edit: Edit) -> bool:
    """Whether it says how the records of a group belong together."""
    return bool(_of_structure(bound, edit))


@dataclass(frozen=True, eq=False)
class InputViolations:
    """What was done with groups that break an edit.

    `linked`: of the groups that are left. `notices`: what was done; empty: nothing. `dropped`: records that are left
    out.
    """

    linked: LinkedData
    notices: tuple[Notice, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


def on_violation(
    described: Pipeline,
    linked: LinkedData,
    files: Mapping[str, Dataset],
    bound: BoundEdits,
    found: FalseOnMissing,
) -> InputViolations:
    """Do what the pipeline says with groups that break an edit."""
    broken = violated_edits(each for outcome in found.arrival.values() for each in outcome.edits)
    if not broken:
        return InputViolations(linked)
    if described.on_input_violation == "fail":
        raise input_violation(broken, alternatives_to_failing(linked, bound, [each.name for each in broken]))
    varying = {
        level.name: {name: int(varies.sum()) for name, varies in level.varying.items() if varies.any()}
        for level in linked
    }  # fmt: skip
    doubts = tuple(
        doubt for level in linked for doubt in _varying_doubts(level, linked.levels[-1], varying[level.name])
    )  # fmt: skip
    if described.on_input_violation == "drop":
        return _dropped(linked, bound, found, broken, doubts)
    notices = []
    for name, own in varying.items():
        if own:
            counts = ", ".join(f"{variable}: {count}" for variable, count in own.items())
            message = (
                f"the rows of a {name} differ in what is declared of it ({counts}): the most frequent value is taken"
            )
            notices.append(Notice("most-frequent-taken", "", message, len(own), level=name))
    if not notices:
        return InputViolations(linked)
    return InputViolations(with_most_frequent(next(iter(files.values())), linked), tuple(notices), doubts)


def _dropped(
    linked: LinkedData,
    bound: BoundEdits,
    found: FalseOnMissing,
    broken: Sequence[EditOutcome],
    doubts: tuple[Doubt, ...],
) -> InputViolations:
    top, shown = linked.levels[0], violation_counts(broken)
    bad = np.zeros(len(top), dtype=np.bool_)
    for level in linked:
        broken_here = _violating(linked, bound, level.name)
        if level.name in found.records:
            broken_here |= found.records[level.name]
        bad |= linked.above(broken_here, level.name, top.name)
    if bad.all():
        message = f"every {top.name} violates an edit ({shown}), so on_input_violation: drop leaves none"
        raise InputError(Problem(message, None, _excluding_each_other(bound)))
    kept = linked.taken(np.flatnonzero(~bad).astype(np.int64))
    dropped = {before.name: len(before) - len(after) for before, after in zip(linked, kept, strict=True)}
    lost = ", ".join(f"{count} {name}" for name, count in dropped.items())
    message = f"records of groups that violate an edit in the original data were dropped: {lost} ({shown})"
    notice = Notice("records-dropped", "", message, int(bad.sum()), len(top), level=top.name)
    many = dropped_doubts(int(bad.sum()), len(top), f"records of {top.name}", broken)
    return InputViolations(kept, (notice,), (*doubts, *many), dropped)


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
