"""What is read of an XML file: flat records, or one level of records that are inside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from maskwright_builtin.sources.xml.nested.forms import GroupsForm, MembersForm
from maskwright_builtin.sources.xml.opening import Opening, find_opening
from maskwright_builtin.sources.xml.stream import Found, examine, stream
from maskwright_builtin.sources.xml.template import RecordTemplate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from maskwright_builtin.sources.xml.parser import ByteProgress, Name, XmlParams


class Form(Protocol):
    """What is read of a file, and how."""

    opening: Opening

    def template(self) -> RecordTemplate:
        """Template of the fast reader; raises `Deviation`."""
        ...

    def examine(self, progress: ByteProgress) -> Found:
        """Look at the whole file with the streaming parser; raises `DataError`."""
        ...

    def stream(self, columns: list[Name], progress: ByteProgress) -> Iterator[pa.RecordBatch]:
        """Yield the records that `examine` has found sound."""
        ...

    def details(self) -> Mapping[str, object]:
        """What the layout says beside how flat records are written."""
        ...


class FlatForm:
    """Records that are inside no other."""

    def __init__(self, path: Path, params: XmlParams) -> None:
        self._path, self._params = path, params
        self.opening = find_opening(path, params)

    def template(self) -> RecordTemplate:
        """Template of the fast reader."""
        return RecordTemplate(self.opening, self._params.max_text)

    def examine(self, progress: ByteProgress) -> Found:
        """Look at the whole file with the streaming parser."""
        return examine(self._path, self._params, self.opening, progress)

    def stream(self, columns: list[Name], progress: ByteProgress) -> Iterator[pa.RecordBatch]:
        """Yield the records."""
        return stream(self._path, self._params, self.opening, columns, progress)

    def details(self) -> Mapping[str, object]:
        """Nothing more."""
        return {}


def form_of(path: Path, params: XmlParams) -> Form:
    """What the options say is to be read of a file."""
    if params.group is not None:
        return MembersForm(path, params)
    return GroupsForm(path, params) if params.members else FlatForm(path, params)
