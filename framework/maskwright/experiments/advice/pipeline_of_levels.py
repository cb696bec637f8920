"""A first pipeline for data of two levels: which records are groups, by which key, and what points to what."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.describe_data import described
from maskwright.commands.edits import suggest_for_file
from maskwright.commands.init import (
    MOST_SUGGESTED,
    StartedPipeline,
    already_there,
    answered,
    doubts_of_plan,
    numbers_with_zeros,
    put_pipeline,
    with_demoted_edits,
)
from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files
from maskwright.commands.profiled_file import is_nested, levels_inside, read_profiled
from maskwright.commands.starting_pipeline import LinkedFiles, pipeline_text
from maskwright.data.profiling.level_advice import LOWER, UPPER, advise_levels
from maskwright.data.record_groups import names_each_record, shared_codes
from maskwright.foundation.errors import DataError, InputError, Problem
from maskwright.foundation.exit_codes import EXIT_FINE, EXIT_INPUT, EXIT_REFUSED
from maskwright.foundation.files import reads_noted, refuse_to_overwrite
from maskwright.foundation.progress import Quiet, Reporter, silent, stage
from maskwright.foundation.release_outcomes import EditViolation
from maskwright.release.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright.commands.describe_data import Description
    from maskwright.commands.profiled_file import ProfiledFile
    from maskwright.commands.starting_lists import PlannedDoubt
    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.profiling.column_profile import ColumnProfile
    from maskwright.edits.suggestions.model import Suggestion
    from maskwright.pipeline.resolved import DataSource


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups and their members: two linked files, or one with records inside records; what is of groups first.

    `names`: of the levels. `own`: what ``data: levels:`` says of each besides its key. `key`: of the groups.
    """

    files: tuple[ProfiledFile, ProfiledFile]
    paths: tuple[Path, Path]
    names: tuple[str, str]
    own: tuple[dict[str, object], dict[str, object]]
    key: str
    unsure: tuple[str, ...] = ()

    @property
    def is_one_file(self) -> bool:
        """Whether members are inside their groups."""
        return self.paths[0] == self.paths[1]

    @property
    def seen(self) -> str:
        """Names of the files and numbers of their records."""
        top, low = [each.data for each in self.files]
        if self.is_one_file:
            return f"{self.paths[0].name} ({plural(len(top), 'record')} with {len(low)} inside)"
        counted = zip(self.paths, (top, low), strict=True)
        return " and ".join(f"{path.name} ({plural(len(data), 'record')})" for path, data in counted)


def holds_levels(path: Path, options: ReadingOptions) -> bool:
    """Whether a file has records inside its records."""
    (file,) = data_files((path,), options)
    return is_nested(file)


@reads_noted()
def start_pipeline_of_levels(
    data: Sequence[Path],
    to: Path,
    *,
    options: ReadingOptions = NO_OPTIONS,
    answers: Sequence[str] = (),
    force: bool = False,
    reporter: Reporter | None = None,
) -> StartedPipeline:
    """Look at two linked files, or a nested one, and write a commented pipeline, which holds no value of a record."""
    shown = reporter or Quiet()
    if len(data) > 2:
        hint = "Write two of them, and declare the others by hand: maskwright explain levels."
        raise InputError(Problem(f"two linked files are described at most, not {len(data)}", hint=hint))
    if to.exists() and not force:
        raise already_there(to)
    refuse_to_overwrite({"the pipeline": to}, {f"data file {path.name}": path for path in data})
    groups = _linked(data, options, shown) if len(data) == 2 else _nested(data[0], options, shown)
    upper, lower = groups.files
    advice = advise_levels(lower.data, groups.key)
    if advice.member_key is None:
        hint = f"Number the members of each group, 1, 2, ..., within each {groups.key}."
        message = f"no variable of {_called(groups, 1)} identifies the members within a group"
        raise InputError(Problem(message, hint=hint))
    found = [answered(described(each, silent), answers) for each in groups.files]
    found[0] = _with_counts(found[0], upper.data[groups.key], lower.data[groups.key], upper.data)
    structure = {groups.key, advice.member_key, *advice.pointers}
    variables = tuple(each for own in found for each in own.variables if each.name not in structure)
    labels = dict.fromkeys(path.name for path in groups.paths)
    together = replace(
        found[1], variables=variables, household=None, source=" and ".join(labels),
        tried=tuple(dict.fromkeys(
            f"{path.name}: {messages}" for path, own in zip(groups.paths, found, strict=True) for messages in own.tried
        )),
        unsure=tuple(dict.fromkeys((*found[0].unsure, *found[1].unsure, *groups.unsure))),
    )  # fmt: skip
    zeros = [name for one, own in zip(groups.files, found, strict=True) for name in numbers_with_zeros(one.data, own)]
    stated: dict[str, Any] = {}
    for each in groups.files:
        stated |= each.file.params.model_dump(exclude_unset=True, exclude={"record", "members", "group"})
    if options.file_format is not None:
        stated = {"format": options.file_format, **stated}
    top, bottom = groups.names
    member: dict[str, object] = {"key": advice.member_key, "in": top}
    if advice.pointers:
        member["pointers"] = dict.fromkeys(advice.pointers, advice.member_key)

    def text(
        folder: Path | None, doubts: Sequence[PlannedDoubt] = (), problem: str = "", *,
        suggested: Sequence[Suggestion] = (), active: bool = False, violation: str = "", drops: bool = False,
    ) -> str:  # fmt: skip
        places = [
            (path.absolute() if folder is None else Path(os.path.relpath(path.absolute(), folder))).as_posix()
            for path in groups.paths
        ]
        sources: list[dict[str, object]] = [{} if groups.is_one_file else {"source": place} for place in places]
        levels = {
            top: {**sources[0], **groups.own[0], "key": groups.key}, bottom: {**sources[1], **groups.own[1], **member},
        }  # fmt: skip
        one = places[0] if groups.is_one_file else ""
        return pipeline_text(
            together, places[1], stated, suggested, active=active, doubts=doubts, problem=problem,
            linked=LinkedFiles(levels, groups.seen, one, violation, drops), zeros=zeros,
        )  # fmt: skip

    suggested = _suggested(text(None), shown)
    with stage(shown, "Planning"):
        with_edits = partial(text, suggested=suggested)
        try:
            (failing, doubts, problem, violation), hint = _planned(with_edits), ""
        except InputError as error:
            first = error.problems[0]
            failing, doubts, problem, violation, hint = "", [], _about_file(first, data), "", first.hint or ""
    # A plan that fails without the edits as well does not fail for them.
    active, together = not failing, with_demoted_edits(together, failing)
    written = with_edits(to.absolute().parent, doubts, problem, active=active, violation=violation)
    put_pipeline(to, written, force=force)
    code = EXIT_REFUSED if violation else EXIT_INPUT if problem else EXIT_FINE
    return StartedPipeline(to, to.read_text(encoding="utf-8"), together, tuple(doubts), problem, code, hint)


def _linked(data: Sequence[Path], options: ReadingOptions, reporter: Reporter) -> Groups:
    """Two files, of which one has the groups."""
    profiled, both = _read_with_same_options(data_files(data, options), reporter)
    with stage(reporter, "Searching for what links them"):
        upper, key = linking_key([each.data for each in profiled], [path.name for path in data])
    files, paths = (profiled[upper], profiled[1 - upper]), (data[upper], data[1 - upper])
    return Groups(
        files, paths, _names_of_levels([path.name.split(".")[0] for path in paths], files), ({}, {}), key, both
    )


def _nested(path: Path, options: ReadingOptions, reporter: Reporter) -> Groups:
    """A file with members inside their groups."""
    (file,) = data_files((path,), options)
    inside = levels_inside(file, reporter)
    files, (top, low) = (inside.upper, inside.lower), inside.records
    names = _names_of_levels([each.rpartition(":")[2] for each in (top, low)], files)
    return Groups(files, (path, path), names, ({"record": top}, {"record": low}), inside.key)


def _called(groups: Groups, place: int) -> str:
    """How messages call the records of a level."""
    return f"<{groups.own[place]['record']}>" if groups.is_one_file else groups.paths[place].name


def _read_with_same_options(
    files: Sequence[DataSource], reporter: Reporter
) -> tuple[list[ProfiledFile], tuple[str, ...]]:
    """Both files, read with the options that either of them needs; what a person should know of these."""
    profiled = [read_profiled(file, reporter) for file in files]
    needed = dict(profiled[1].options) | dict(profiled[0].options)
    if all(dict(each.options) == needed for each in profiled):
        return profiled, ()
    alike = []
    for file, each in zip(files, profiled, strict=True):
        free = {name: value for name, value in needed.items() if name not in file.params.model_fields_set}
        stated = file.params.model_dump(exclude_unset=True)
        model = file.source.params
        own = {name: value for name, value in free.items() if name in model.model_fields}
        again = replace(file, params=model.model_validate({**stated, **own}))
        try:
            alike.append(replace(read_profiled(again, reporter), tried=each.tried))
        except DataError:
            alike.append(each)
    message = ", ".join(f"{name}: {value!r}" for name, value in needed.items())
    return alike, (f"{message}: found for one of the files, and it holds for both",)


def _names_of_levels(stems: Sequence[str], files: Sequence[ProfiledFile]) -> tuple[str, str]:
    """Names of the levels: those of the files or elements, where rules can have them."""
    names = [re.sub(r"\W+", "_", stem) for stem in stems]
    taken = {"previous", "following", *(name for each in files for name in each.data.names)}
    if names[0] == names[1] or any(name in taken or not name.isidentifier() or iskeyword(name) for name in names):
        return UPPER, LOWER
    return names[0], names[1]


def _with_counts(found: Description, key: Column, members: Column, data: Dataset) -> Description:
    """Description in which a variable that says how many members each group has is a number, published as it is."""
    groups, of_members = shared_codes([key, members])
    counts = np.bincount(of_members, minlength=len(groups))[groups]

    def counted(look: ColumnProfile) -> ColumnProfile:
        column = data[look.name]
        # Who belongs together is published, and so is how many they are: emptying the cell would hide nothing.
        is_free = look.role in (None, "quasi_identifier")
        if not is_free or not column.variable.is_numeric or not np.array_equal(column.values, counts):
            return look
        return replace(look, type="integer", role="other", why="it counts the members of each group", unsure=())

    return replace(found, variables=tuple(map(counted, found.variables)))


def _suggested(text: str, reporter: Reporter) -> tuple[Suggestion, ...]:
    """Rules of groups, of members and across both, of the files as a pipeline reads them; none where it cannot."""
    with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
        trial = Path(folder) / "pipeline.yaml"
        trial.write_text(text, encoding="utf-8")
        options = ReadingOptions(pipeline=trial)
        try:
            found = suggest_for_file(None, (), share=None, language=None, options=options, reporter=reporter).found
        except InputError:
            return ()  # the plan says what is wrong
    return tuple(each for each in found if each.kind != "range")[:MOST_SUGGESTED]


def _planned(text: Callable[..., str]) -> tuple[str, list[PlannedDoubt], str, str]:
    """Why it fails with the edits alone, doubts of the plan, why there is none, and what the original violates."""
    failing = ""
    for active in (True, False):
        try:
            return failing, doubts_of_plan(text(None, active=active)), "", ""
        except EditViolation as error:
            violation = error.problems[0].sentence
            doubts = doubts_of_plan(text(None, active=active, violation=violation, drops=True))
            return failing, doubts, f"{violation}. See on_input_violation below", violation
        except InputError as error:
            if not active:
                raise
            failing = error.problems[0].sentence
    raise AssertionError("unreachable")


def _about_file(problem: Problem, data: Sequence[Path]) -> str:
    """What is wrong, with the name of the data file that it is about."""
    name = Path((problem.place and problem.place.file) or "").name
    return f"{name}: {problem.sentence}" if name in [path.name for path in data] else problem.sentence


def linking_key(data: Sequence[Dataset], files: Sequence[str]) -> tuple[int, str]:
    """Which of two files has the groups, and the variable by which the records of the other name them."""
    common = [name for name in data[0].names if name in data[1]]
    for name in common:
        columns = [each[name] for each in data]
        once = [names_each_record(column) for column in columns]
        if any(column.missing.any() for column in columns) or once[0] == once[1]:
            continue
        upper = 0 if once[0] else 1
        above, below = shared_codes([columns[upper], columns[1 - upper]])
        if np.isin(below, above).all():
            return upper, name
    shown = f" (both have: {', '.join(common)})" if common else ""
    hint = "The records of the lower level say by the key of the upper one which group they belong to."
    raise InputError(Problem(f"no variable links {files[0]} and {files[1]}{shown}", hint=hint))
