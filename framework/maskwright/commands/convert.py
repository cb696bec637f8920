"""Rules of some files in another language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, read_rule_files
from maskwright.commands.reading import load
from maskwright.edits.variable_ranges import written_out
from maskwright.foundation.progress import Reporter, stage
from maskwright.plugins.registry import find_rule_writer
from maskwright.plugins.rule_writer import RulesFor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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

    Parameters
    ----------
    files : sequence of Path
    target : str
        Name of a rule writer: ``yaml``, ``schematron``, ``validate``, ...
    language : str, optional
        Edit reader; by default the file names' endings tell.
    data : Path, optional
        Gives the decimals, and the order of variables.
    record : str, optional
        Element of one record, for Schematron.
    options : ReadingOptions
        Of the data and of the rule languages.
    decimals : int, optional
        Most decimals of the variables; what the data say otherwise, else 4.
    reporter : Reporter
        Told what differs.

    Raises
    ------
    EditError
        Edits that the other language cannot say, by name.
    """
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
    for note in (*rules.notes, *found.notes):
        reporter.notice(note)
    return found.text
