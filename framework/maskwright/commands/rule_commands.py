"""What the commands about rules and data do: find rules in a file, locate the fields in error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.file_commands import load_file, read_rule_files
from maskwright.edits.localisation.localize import Localisation, localize
from maskwright.edits.suggestions.suggest import suggest
from maskwright.edits.variable_ranges import written_out
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Reporter, stage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.edits.suggestions.model import Suggestions


def suggest_for_file(
    data: Path,
    files: Sequence[Path],
    *,
    share: float,
    record: str | None,
    language: str | None,
    reporter: Reporter,
    show_values: bool = False,
) -> Suggestions:
    """Rules that hold in a data file and do not follow from those in the rule files.

    Raises
    ------
    InputError
        Bad input; a share outside (0, 1].
    """
    rules = read_rule_files(files, language=language)
    with stage(reporter, f"Reading {data.name}"):
        dataset = load_file(data, record)
    with stage(reporter, "Searching for rules") as progress:
        return suggest(dataset, written_out(rules, dataset.names), share, progress, show_values=show_values)


def localize_file(
    data: Path, edits: Sequence[Path], *, weights: Sequence[str], record: str | None, reporter: Reporter
) -> Localisation:
    """Fields to change in the records of a data file that violate edits.

    Raises
    ------
    InputError
        Bad input; a weight that is not ``name=number`` with a positive number.
    """
    rules = read_rule_files(edits)
    with stage(reporter, f"Reading {data.name}"):
        dataset = load_file(data, record)
    with stage(reporter, "Locating errors") as progress:
        return localize(dataset, rules, dict(map(_weight, weights)), None, progress)


def _weight(text: str) -> tuple[str, float]:
    name, equals, value = text.rpartition("=")
    try:
        return name, float(value if equals else "")
    except ValueError:
        raise InputError(f"--weight {text}: expected name=number, for instance income=2") from None
