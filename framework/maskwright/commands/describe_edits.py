"""Edits of rule files, listed and analysed; with data, how many records satisfy each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, read_rule_files
from maskwright.commands.reading import load
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.variable_ranges import written_out
from maskwright.foundation.progress import Reporter, stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from maskwright.data.variable import Variable


def describe_edits(
    files: Sequence[Path],
    *,
    data: Path | None,
    options: ReadingOptions = NO_OPTIONS,
    reporter: Reporter,
    language: str | None = None,
) -> dict[str, Any]:
    """List edits with kind and text, and analyse them; with data, how many records satisfy each.

    With data, published decimals are those of its cells, and the analysis says whether they can be met.

    `files`: rule files; none where rules are only looked for. `language`: of the rule files; by default their endings
    tell. Returns what ``maskwright edits --json`` prints.
    """
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
