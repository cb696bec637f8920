"""A file of several levels that is checked against rules: by an engine, or on the linked records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Literal, Protocol

import numpy as np

from maskwright.commands.levels.arriving import edits_of_levels, linked_as, outcomes
from maskwright.commands.options import data_files, own_params, pipeline_levels, read_rule_files
from maskwright.commands.reading import load
from maskwright.data.levels.nested_document import NestedElements
from maskwright.edits.edit_set import EditSet
from maskwright.edits.engines.nested.checker import Node, place_of
from maskwright.edits.evaluation.check import Outcome
from maskwright.edits.evaluation.placed import Placed
from maskwright.edits.evaluation.svrl import SvrlWriter
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.progress import Progress, silent
from maskwright.plugins.registry import find_edit_reader, find_source
from maskwright.release.check_nested import check_nested

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.commands.options import ReadingOptions
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.evaluation.tally import EditOutcome
    from maskwright.pipeline.resolved import DataSource, LevelSources

Fired = Literal["summary", "all"]
SCHEMATRON = "schematron"


class FileOfLevels(Protocol):
    """A file of several levels, and the rules that it is checked against."""

    @property
    def rules(self) -> EditSet:
        """All rules."""
        ...

    def check(self, svrl: IO[bytes] | None, fired: Fired, progress: Progress) -> Outcome:
        """Verdict of every rule on the records of its level."""
        ...


@dataclass(frozen=True)
class NestedFile:
    """Nested XML against Schematron: an engine has the word."""

    data: DataSource
    rules: EditSet
    limits: SchematronOptions
    levels: tuple[str, str] | None

    def check(self, svrl: IO[bytes] | None, fired: Fired, progress: Progress) -> Outcome:
        """Verdict of every rule on the records of its level, read as a stream."""
        assert self.data.source.open_nested is not None
        reading = self.data.source.open_nested(self.data.path, self.data.params, progress)
        return check_nested(
            self.data.path, reading, self.rules, self.limits, levels=self.levels, svrl=svrl, fired=fired
        )


@dataclass(frozen=True)
class LinkedFile:
    """A file whose levels a pipeline declares: each rule is evaluated on the linked records of its level."""

    sources: LevelSources
    rules: EditSet

    def check(self, svrl: IO[bytes] | None, fired: Fired, progress: Progress) -> Outcome:
        """Verdict of every rule on the records of its level."""
        del fired
        levels = self.sources
        read: dict[str, Dataset] = {}
        for name, source in levels.sources.items():
            same = next(iter(read.values())) if levels.form == "flat" and read else None
            read[name] = same if same is not None else load(source, progress, identifiers=True, may_lack="anything")
        linked = linked_as(levels, read)
        bound = edits_of_levels(self.rules, linked)
        found = outcomes(linked, bound)
        named = [replace(each, level=name) for name, outcome in found.items() for each in outcome.edits]
        together = Outcome(sum(map(len, linked)), tuple(named), levels={level.name: len(level) for level in linked})
        if svrl is not None:
            elements = _elements(levels)
            of_level = zip(bound.edits.values(), (elements.group, elements.member), strict=True)
            edits = [replace(edit, context=element) for each, element in of_level for edit in each]
            with SvrlWriter(svrl, edits, None) as writer:
                placed = [_placed(each, linked, elements) for each in together.edits]
                writer.write_placed(together.records, placed)
        return together


def file_of_levels(data: Path, rules: Sequence[Path], options: ReadingOptions) -> FileOfLevels | None:
    """A file as one of several levels, where a pipeline says so or it is nested XML; None: it is flat.

    Parameters
    ----------
    data : Path
    rules : sequence of Path
    options : ReadingOptions

    Raises
    ------
    InputError
        Mistakes in rules, options or levels.
    """
    declared = pipeline_levels(options, data)
    readers = [find_edit_reader(path) for path in rules]
    source = find_source(options.file_format or data)
    by_engine = all(reader.name == SCHEMATRON for reader in readers) and source.open_nested is not None
    if declared is not None and not (by_engine and declared.form == "nested"):
        if declared.form == "linked":
            hint = "`maskwright run` checks them together, before anything is masked and after."
            raise InputError(
                Problem("the pipeline's levels are in files of their own, and one file is named", hint=hint)
            )
        return LinkedFile(declared, read_rule_files(rules, options))
    if not by_engine:
        return None
    (checked,) = data_files((data,), options, rules)
    levels: tuple[str, str] | None = None
    if declared is not None:
        top, bottom = declared.sources
        levels = (top, bottom)
        checked = declared.sources[top]
    assert source.open_nested is not None
    if source.open_nested(data, checked.params, silent).elements is None:
        return None
    found = EditSet()
    limits = SchematronOptions()
    for path, reader in zip(rules, readers, strict=True):
        chosen = own_params(reader.params, options)
        limits = chosen if isinstance(chosen, SchematronOptions) else limits
        found = found.joined(read_schematron(path, limits, for_engine=True))
    return NestedFile(replace(checked, path=data), found, limits, levels)


def _elements(levels: LevelSources) -> NestedElements:
    """Names for locations: those of the file, or of the levels."""
    (top, upper), (bottom, lower) = levels.declared.items()
    if levels.form != "nested":
        return NestedElements(("records",), top, bottom)
    return NestedElements(_path(levels.sources[top]), upper.record or top, lower.record or bottom)


def _path(source: DataSource) -> tuple[str, ...]:
    assert source.source.open_nested is not None
    elements = source.source.open_nested(source.path, source.params, silent).elements
    return ("records",) if elements is None else elements.path


def _placed(found: EditOutcome, linked: LinkedData, elements: NestedElements) -> Placed:
    """Where an edit fails, of the first that are listed."""
    top, bottom = linked.levels
    rows = found.listed - 1
    if found.level == top.name:
        nodes = [Node(int(row) + 1, 0) for row in rows]
    else:
        assert bottom.groups is not None
        groups = bottom.groups[rows]
        first = np.searchsorted(bottom.groups, groups)
        nodes = [
            Node(int(group) + 1, int(row - start) + 1) for group, row, start in zip(groups, rows, first, strict=True)
        ]
    message = found.message or found.name
    failed = [((node.group, node.member), place_of(elements, node), (message,)) for node in nodes]
    return Placed(found.fired, [], failed)
