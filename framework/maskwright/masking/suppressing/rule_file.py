"""The rule set that is published beside the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import EditError
from maskwright.plugins.guarding.call import broke_contract
from maskwright.plugins.guarding.origin import origin_of
from maskwright.plugins.registry import find_rule_writer
from maskwright.plugins.rule_writer import RulesFor

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from maskwright.data.dataset import Column
    from maskwright.plugins.rule_writer import RuleWriter

RECORD = "Record"


def rule_file(path: Path, edits: EditSet, columns: Iterable[Column], record: str | None) -> tuple[str, tuple[str, ...]]:
    """Text of the rule set in the language that the file's ending names, and notices.

    Tests that only an engine understands cannot be written in another language: they are left out, and counted.

    `path`: ``.sch``: Schematron; ``.yaml`` and ``.yml``: rules as text; other endings are those of rule writers.
    `edits`: that hold in the published records. `columns`: of the published data: they give the decimals, the dates and
    the codes for "no value". `record`: element of a record, where the data have one.
    """
    writer = find_rule_writer(path)
    masked = tuple(columns)
    decimals = {each.name: each.variable.decimals for each in masked if each.variable.is_numeric}
    dates = {each.name: each.variable.date_text for each in masked if each.variable.is_date}
    empty = {each.name: each.variable.empty_texts for each in masked}
    about = RulesFor(record=record or RECORD, decimals=decimals, dates=dates, empty=empty)

    nothing = _of_no_edits(writer, about)
    sayable, unsaid = [], []
    for edit in edits:
        try:
            alone = writer.write(EditSet((edit,)), about)
        except EditError as error:
            unsaid.append((edit, error))
            continue
        if alone.text == nothing and not alone.notes:
            origin = origin_of(writer.write, "rule_writer", writer.name)
            raise broke_contract(origin, f"left out the edit {edit.name!r}, and does not say so")
        sayable.append(edit)
    if unsaid and not sayable:
        raise EditError([problem for _, error in unsaid for problem in error.problems])
    return writer.write(EditSet(tuple(sayable)), about).text, tuple(
        f"{path.name} has no edit {edit.name!r}, which holds as well: {error.problems[0].message}"
        for edit, error in unsaid
    )


def _of_no_edits(writer: RuleWriter, about: RulesFor) -> str | None:
    """Text of a file without edits; None: the language has none."""
    try:
        return writer.write(EditSet(), about).text
    except EditError:
        return None
