"""A written file with records inside records, read once more by plain means: lxml, element by element."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lxml import etree

from maskwright.edits.evaluation.plain_numbers import CannotTell
from maskwright.release.levels.whole_columns import WholeColumns
from maskwright.release.plain_blocks import Notation, text_column

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.release.plain_blocks import Readable

    Rows = list[dict[str, str]]

GROUPS = 10_000
"""Groups that are read before their cells are packed."""


def nested_columns(
    path: Path, upper: Dataset, lower: Dataset, key: str
) -> tuple[dict[str, Readable], dict[str, Readable]]:
    """Whole columns of both levels of a file; those of the lower one hold the key of the group, too.

    `upper`, `lower`: variables and layout of what was written; no records. `key`: variable of the upper level that
    tells groups apart.
    """
    group, member = (_local(each.layout.details["record"]) for each in (upper, lower))
    above, below = _Rows(upper), _Rows(lower)
    key_tag = _tag(upper, key)
    try:
        for _, element in etree.iterparse(
            path, tag=f"{{*}}{group}", resolve_entities=False, no_network=True, huge_tree=True
        ):
            own: dict[str, str] = {}
            members: Rows = []
            for child in element:
                name = _local_name(child)
                if name == member:
                    members.append({_local_name(cell): cell.text or "" for cell in child})
                else:
                    own[name] = child.text or ""
            above.add([own])
            below.add([{**each, _tag(lower, key): own[key_tag]} for each in members])
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
    except (etree.XMLSyntaxError, KeyError):
        raise CannotTell from None
    return above.columns(), below.columns()


class _Rows:
    """Cells of a level, packed after so many records."""

    def __init__(self, table: Dataset) -> None:
        self._tags = {name: _tag(table, name) for name in table.names}
        has_commas = table.layout.details.get("decimal") == ","
        numeric = [each.name for each in table.variables if each.is_numeric and not each.is_date]
        self._notations = dict.fromkeys(numeric if has_commas else (), Notation(",", None))
        self._rows: Rows = []
        self._found = WholeColumns(table.names)

    def add(self, rows: Rows) -> None:
        self._rows += rows
        if len(self._rows) >= GROUPS:
            self._pack()

    def columns(self) -> dict[str, Readable]:
        self._pack()
        return self._found.joined()

    def _pack(self) -> None:
        rows = self._rows
        self._found.add(
            {
                name: replace(text_column([row.get(tag) for row in rows]), notation=self._notations.get(name))
                for name, tag in self._tags.items()
            }
        )
        self._rows = []


def _tag(table: Dataset, name: str) -> str:
    return _local(table.layout.details.get("tags", {}).get(name, name))


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]


def _local_name(element: Any) -> str:
    """Name of an element without its namespace; empty for what is none."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
