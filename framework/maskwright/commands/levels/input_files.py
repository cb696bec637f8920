"""Files of several levels read on their own: for rules that an engine checks, or for finding levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Literal

from maskwright.commands.levels.declarations import notices_on_identifiers, without_dropped
from maskwright.commands.levels.loading import files_of, linked_as
from maskwright.commands.options import ReadingOptions, data_files, own_params, pipeline_levels, read_rule_files
from maskwright.commands.reading import load
from maskwright.data.number_columns import decimal_notices
from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.edits.levels.as_schematron import as_stated
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.structure import Structure
from maskwright.edits.levels.structure_edits import with_structure_edits
from maskwright.foundation.errors import InputError, Problem, refuse_problems
from maskwright.foundation.progress import Progress, Reporter, notify, silent
from maskwright.pipeline.data_section import source_of
from maskwright.pipeline.reading import read_pipeline
from maskwright.pipeline.variable_names import names_of_files, unknown_uses, wrong_level_names
from maskwright.planning.levels.bound_edits import check_linked, edits_of_levels
from maskwright.plugins.registry import find_rule_language
from maskwright.release.file_validation import check_nested
from maskwright.release.levels.engine_validation import SCHEMATRON, placed_edits, write_linked_svrl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.outcomes import EditOutcome, Placed
    from maskwright.pipeline.resolved import DataSource, LevelSources


Fired = Literal["summary", "all"]


@dataclass(frozen=True)
class NestedFile:
    """Nested XML against Schematron: an engine has the word, but for what linking rests on."""

    data: DataSource
    rules: EditSet
    limits: SchematronOptions
    declared: LevelSources | None

    def check(self, svrl: IO[bytes] | None, fired: Fired, progress: Progress) -> Outcome:
        """Verdict of every rule on the records of its level, read as a stream."""
        assert self.data.source.nested is not None
        reading = self.data.source.nested.open(self.data.path, self.data.params, progress)
        levels = None
        if self.declared is not None:
            refuse_problems(_unknown_names(self.declared))
            levels = tuple(self.declared.sources)
        outcomes, others = self._of_structure(progress)
        found = check_nested(
            self.data.path, reading, self.rules, self.limits, levels=levels, svrl=svrl, fired=fired, evaluated=others
        )
        return replace(found, edits=(*found.edits, *outcomes))

    def _of_structure(self, progress: Progress) -> tuple[tuple[EditOutcome, ...], list[tuple[Edit, Placed]]]:
        """Verdicts on the pointers that a pipeline declares, which no test of the schema says, and where they fail."""
        if self.declared is None or not any(each.pointers for each in self.declared.declared.values()):
            return (), []
        linked = linked_sources(self.declared, progress)
        bound = with_structure_edits(bind(EditSet(), Structure.of(linked)), linked)
        outcomes = check_linked(linked, bound).edits
        return outcomes, placed_edits(linked, bound.edits, outcomes, self.declared)


@dataclass(frozen=True)
class LinkedFile:
    """A file whose levels a pipeline declares: each rule is evaluated on the linked records of its level."""

    sources: LevelSources
    rules: EditSet
    original: LevelSources | None
    reporter: Reporter

    def check(self, svrl: IO[bytes] | None, fired: Fired, progress: Progress) -> Outcome:
        """Verdict of every rule on the records of its level."""
        del fired
        levels = self.sources
        linked = linked_sources(levels, progress)
        rules = as_stated(self.rules, linked)
        unpublished = notices_on_identifiers(self.rules, levels)
        read = (note for level in linked for note in decimal_notices(level.data))
        notify(self.reporter, (*linked.notes, *read, *unpublished, *rules.notes[len(self.rules.notes) :]))
        original = None if self.original is None else linked_sources(self.original, progress)
        bound = edits_of_levels(rules, linked)
        together = check_linked(linked, bound, original)
        if svrl is not None:
            write_linked_svrl(svrl, linked, bound.edits, together.edits, levels)
        return together


FileOfLevels = NestedFile | LinkedFile
"""A file of several levels, and the rules that it is checked against."""


def linked_sources(levels: LevelSources, progress: Progress) -> LinkedData:
    """Levels as their files say them."""
    try:
        read = files_of(levels, lambda source: load(source, progress, identifiers=True, may_lack="anything"))
    except InputError as error:
        # A misspelt declaration is often the reason why cells are not understood.
        raise InputError([*error.problems, *_unknown_names(levels)]) from error
    return linked_as(levels, read)


def _unknown_names(levels: LevelSources) -> list[Problem]:
    """A problem for each name that is declared and that no file has, as far as it takes little to find out."""
    names = names_of_files(levels)
    if names is None:
        return []
    every = list(dict.fromkeys(name for own in names.values() for name in own))
    return [*wrong_level_names(without_dropped(levels, names), names), *unknown_uses(levels.uses, every)]


def _refuse_original(original: Path | None, form: str) -> None:
    """Refuse an original where it would be read as one table, and the data are none."""
    if original is None or form == "flat":
        return
    where = "the levels are in a file each" if form == "linked" else "the records stand inside each other"
    hint = "In Python: mw.validate(mw.linked_data(...), edits, original=mw.linked_data(...))."
    raise InputError(Problem(f"--original is read as one table, and {where}", hint=hint))


def file_of_levels(
    files: Sequence[Path],
    rules: Sequence[Path],
    options: ReadingOptions,
    original: Path | None,
    reporter: Reporter,
) -> FileOfLevels | None:
    """A file as one of several levels, where a pipeline says so or it is nested XML; None: it is flat."""
    data = files[0]
    declared = pipeline_levels(options, files)
    readers = [find_rule_language(path) for path in rules]
    source = source_of(str(data), file_format=options.file_format)
    by_engine = all(reader.name == SCHEMATRON for reader in readers) and source.nested is not None
    if declared is not None and not (by_engine and declared.form == "nested"):
        _refuse_original(original, declared.form)
        before = None if original is None else pipeline_levels(options, (original,))
        return LinkedFile(declared, read_rule_files(rules, options, None, declared.declared), before, reporter)
    if not by_engine:
        return None
    (checked,) = data_files((data,), options, rules)
    if declared is not None:
        checked = next(iter(declared.sources.values()))
    assert source.nested is not None
    if source.nested.open(data, checked.params, silent).elements is None:
        return None
    _refuse_original(original, "nested")
    found = EditSet()
    limits = SchematronOptions()
    for path, reader in zip(rules, readers, strict=True):
        chosen = own_params(reader.params, options)
        limits = chosen if isinstance(chosen, SchematronOptions) else limits
        found = found.joined(read_schematron(path, limits, for_engine=True))
    return NestedFile(replace(checked, path=data), found, limits, declared)


def flat_data_of(pipeline: Path, key: str | None) -> tuple[Dataset, str]:
    """Data of a pipeline, and the variable that names the groups."""
    levels = pipeline_levels(ReadingOptions(pipeline=pipeline), ())
    if levels is not None and levels.form != "flat":
        how = "each level has its own file" if levels.form == "linked" else "records stand inside each other"
        hint = f"`maskwright plan {pipeline}` says what is done with each level."
        raise InputError(Problem(f"{pipeline.name}: {how}: which variables a level has is said by that", hint=hint))
    if levels is not None:
        source = next(iter(levels.sources.values()))
        return load(source, may_lack="anything"), key or next(iter(levels.declared.values())).key
    data = read_pipeline(pipeline).data
    named = key or data.cluster
    if named is None:
        hint = "--key NAME, or `data: cluster: NAME` in the pipeline"
        raise InputError(Problem(f"{pipeline.name} does not say which variable names the household", hint=hint))
    return load(data, may_lack="identifiers"), named
