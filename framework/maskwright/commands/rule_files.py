"""Rules of files: listed and analysed, or written in another language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, pipeline_levels, read_rule_files
from maskwright.commands.reading import load
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.normalisation import written_out
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Reporter, notify, stage
from maskwright.plugins.registry import find_rule_writer
from maskwright.plugins.rules import RulesFor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from maskwright.data.variable import Variable
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
    """Rules of some files in another language; what differs is said as notices."""
    levels = pipeline_levels(options, () if data is None else (data,))
    if levels is not None:
        rules = read_rule_files(files, options, language, levels.declared)
        return _with_notices(_on_levels(rules, target, levels, decimals, reporter), rules, reporter)
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
    return _with_notices(found, rules, reporter)


def _on_levels(
    rules: EditSet, target: str, levels: LevelSources, decimals: int | None, reporter: Reporter
) -> Converted:
    """Rules of data of several levels: Schematron is about records inside records then."""
    from maskwright.commands.levels.input_files import linked_sources
    from maskwright.edits.languages.conversion.convert import convert_edits
    from maskwright.edits.levels.as_schematron import as_stated, nested_schematron_file

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


def _with_notices(found: Converted, rules: EditSet, reporter: Reporter) -> str:
    notify(reporter, dict.fromkeys((*rules.notes, *found.notes)))
    return found.text


def describe_edits(
    files: Sequence[Path],
    *,
    data: Path | None,
    options: ReadingOptions = NO_OPTIONS,
    reporter: Reporter,
    language: str | None = None,
) -> dict[str, Any]:
    """List edits with kind and text, and analyse them; with data, how many records satisfy each."""
    from maskwright.edits.analysis.analyse import analyse

    given = data_files([] if data is None else (data,), options, [] if language else files)
    rules = read_rule_files(files, options, language)
    counts: Mapping[str, Any] = {}
    notes = list(rules.notes)
    records = None
    variables: tuple[Variable, ...] = ()
    for file in given:
        with stage(reporter, f"Reading {file.name}"):
            dataset = load(file, identifiers=True, may_lack="identifiers")
        variables = dataset.variables
        rules = written_out(rules, dataset.names)
        with stage(reporter, f"Checking {file.name}"):
            outcome = check_dataset(dataset, rules, Domain.from_dataset(dataset, domain_tuples(rules)))
        counts = {edit.name: edit for edit in outcome.edits}
        records = outcome.records
        notes += [
            f"edit {edit.name!r} is unknown in every record it is for: {'; '.join(edit.unknown_because)}"
            for edit in outcome.edits
            if edit.undecided
        ]
    with stage(reporter, "Analysing the edits"):
        analysis = analyse(rules, variables)
    # Warnings stop nothing, so neither do contradictions with them.
    warnings = {edit.name for edit in rules if edit.severity != "error"}
    blocked = any(warnings.isdisjoint(finding.edits) for finding in analysis.blocking)

    def satisfied(name: str) -> dict[str, int | None]:
        if name not in counts:
            return {"satisfied": None, "violations": None, "unknown": None, "fired": None}
        found = counts[name]
        return {
            "satisfied": found.fired - found.violations - found.unknown,
            "violations": found.violations,
            "unknown": found.unknown,
            "fired": found.fired,
        }

    return {
        "records": records,
        "edits": [
            {
                "name": edit.name,
                "kind": edit.kind,
                "severity": edit.severity,
                "text": edit.text,
                "variables": list(edit.variables),
                "place": None if edit.place is None else str(edit.place),
                **satisfied(edit.name),
            }
            for edit in rules
        ],
        "analysis": {"blocked": blocked, **analysis.to_json()},
        "notes": notes,
    }
