"""The rule set that is published beside the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.conversion.convert import Target, convert_edits
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from maskwright.data.dataset import Column
    from maskwright.edits.edit import Edit

SUFFIXES: dict[str, Target] = {".sch": "schematron", ".yaml": "yaml", ".yml": "yaml"}
RECORD = "Record"


def rule_file(path: Path, edits: EditSet, columns: Iterable[Column], record: str | None) -> tuple[str, tuple[str, ...]]:
    """Text of the rule set in the language that the file's ending names, and notices.

    Tests that only an engine understands cannot be written in another language: they are left out, and counted.

    Parameters
    ----------
    path : Path
        ``.sch``: Schematron; ``.yaml`` and ``.yml``: rules as text.
    edits : EditSet
        That hold in the published records.
    columns : iterable of Column
        Of the published data: they give the decimals, the dates and the codes for "no value".
    record : str or None
        Element of a record, where the data have one.

    Raises
    ------
    EditError
        No edit of the set can be said in that language.
    """
    target = SUFFIXES[path.suffix.lower()]
    masked = tuple(columns)
    decimals = {each.name: each.variable.decimals for each in masked if each.variable.is_numeric}
    dates = {each.name: each.variable.date_text for each in masked if each.variable.is_date}
    empty = {each.name: each.variable.empty_texts for each in masked}

    def written(*chosen: Edit) -> str:
        edits = EditSet(chosen)
        return convert_edits(edits, target, record=record or RECORD, decimals=decimals, dates=dates, empty=empty).text

    sayable, unsaid = [], []
    for edit in edits:
        try:
            written(edit)
            sayable.append(edit)
        except EditError as error:
            unsaid.append((edit, error))
    if unsaid and not sayable:
        raise EditError([problem for _, error in unsaid for problem in error.problems])
    return written(*sayable), tuple(
        f"{path.name} has no edit {edit.name!r}, which holds as well: {error.problems[0].message}"
        for edit, error in unsaid
    )
