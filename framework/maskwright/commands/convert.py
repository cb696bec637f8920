"""Rules of some files in another language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, pipeline_levels, read_rule_files
from maskwright.commands.reading import load
from maskwright.edits.variable_ranges import written_out
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Reporter, stage
from maskwright.plugins.registry import find_rule_writer
from maskwright.plugins.rule_writer import RulesFor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.languages.conversion.converted import Converted
    from maskwright.pipeline.resolved import LevelSources


def convert_rules(
    files: Sequence[Path],
    target: str,
    *,
    language: str | None,
    data: Path | None,
    record: str | None,
    options: ReadingOptions = NO_OPTIONS,
    decimals: int | None,
    reporter: Reporter,
) -> str:
    """Rules of some files in another language; what differs is said as notices.

    `target`: name of a rule writer: ``yaml``, ``schematron``, ``validate``, . `language`: edit reader; by default the
    file names' endings tell. `data`: gives the decimals, and the order of variables. `record`: element of one record,
    for Schematron. `options`: of the data and of the rule languages. `decimals`: most decimals of the variables; what
    the data say otherwise, else 4.
    """
    levels = pipeline_levels(options, () if data is None else (data,))
    if levels is not None:
        rules = read_rule_files(files, options, language, levels.declared)
        return _told(_on_levels(rules, target, levels, decimals, reporter), rules, reporter)
    if data is None:
        # The element that rules are to be about, then, and no option of a file.
        options = options.without("record")
    given = data_files([] if data is None else (data,), options, [] if language else files)
    rules = read_rule_files(files, options, language)
    grids: int | dict[str, int | None] = 4 if decimals is None else decimals
    dates: dict[str, str] = {}
    empty: dict[str, tuple[str, ...]] = {}
    for file in given:
        with stage(reporter, f"Reading {file.name}"):
            original = load(file, identifiers=True, may_lack="identifiers")
        rules = written_out(rules, [column.name for column in original])
        dates |= {column.name: column.variable.date_text for column in original if column.variable.is_date}
        empty |= {column.name: column.variable.empty_texts for column in original}
        if decimals is None:
            grids = {column.name: column.variable.decimals for column in original if column.variable.is_numeric}
    about = RulesFor(record=record or "Record", decimals=grids, dates=dates, empty=empty)
    found = find_rule_writer(target).write(rules, about)
    return _told(found, rules, reporter)


def _on_levels(
    rules: EditSet, target: str, levels: LevelSources, decimals: int | None, reporter: Reporter
) -> Converted:
    """Rules of data of several levels: Schematron is about records inside records then."""
    from maskwright.commands.levels.file_of_levels import linked_sources
    from maskwright.edits.languages.conversion.convert import convert_edits
    from maskwright.edits.levels.as_schematron import nested_schematron_file
    from maskwright.edits.levels.written_rules import as_stated

    if target == "yaml" and all(edit.assertion is None or edit.assertion.rule is None for edit in rules):
        return convert_edits(rules, "yaml")
    if target not in ("yaml", "schematron"):
        find_rule_writer(target)  # a name that nobody has is the first mistake
        raise InputError(f"rules on data of several levels are written in yaml and schematron, not in {target}")
    with stage(reporter, "Reading the levels") as progress:
        linked = linked_sources(levels, progress)
    rules = as_stated(rules, linked)
    if target == "yaml":
        return convert_edits(rules, "yaml")
    return nested_schematron_file(rules, linked, decimals)


def _told(found: Converted, rules: EditSet, reporter: Reporter) -> str:
    for note in dict.fromkeys((*rules.notes, *found.notes)):
        reporter.notice(note)
    return found.text
