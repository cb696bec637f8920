"""What a source gives of a file with records inside records: documents of whole records of the upper level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.data.levels.nested_document import NestedDocument, NestedElements


class NestedReading(Protocol):
    """A file with records inside records, opened for reading."""

    @property
    def elements(self) -> NestedElements | None:
        """Names of its elements; None: no record has records in it."""
        ...

    def documents(self, at_once: int | None = ...) -> Iterator[NestedDocument]:
        """Yield the file in documents of so many records of the upper level; None: of all."""
        ...
