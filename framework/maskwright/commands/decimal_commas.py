"""XML with decimal commas, and rules that read numbers as XPath does: with a point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maskwright.edits.edit_set import EditSet
    from maskwright.pipeline.resolved import DataSource


def refuse_xpath_on_commas(edits: EditSet, sources: Iterable[DataSource]) -> None:
    """Refuse tests of Schematron on a document whose numbers have commas: to XPath, none of them is a number.

    Files that hold no documents are another matter: no engine ever reads them, and their numbers are judged as numbers.
    """
    first = next((edit for edit in edits if edit.assertion is not None), None)
    if first is None:
        return
    for each in sources:
        if each.source.open_nested is not None and getattr(each.params, "decimal", ".") == ",":
            message = f"edit {first.name!r} is Schematron, which reads numbers with a point, and {each.name} has commas"
            hint = "Hold the rules in YAML (`maskwright edits RULES --to yaml`), or write the file with points."
            raise InputError(Problem(message, first.place, hint))
