"""One level of records that are inside each other: the upper without its members, or members with their group's key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright_builtin.sources.xml.nested.member_form import find_member_form, is_called
from maskwright_builtin.sources.xml.nested.parts import GroupsPart, MembersPart
from maskwright_builtin.sources.xml.nested.stream import GroupRecords, MemberRecords, examine_nested, nested_batches
from maskwright_builtin.sources.xml.opening import find_opening
from maskwright_builtin.sources.xml.template import RecordTemplate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from maskwright_builtin.sources.xml.parser import ByteProgress, GuardedParser, Name, XmlParams
    from maskwright_builtin.sources.xml.stream import Found


class GroupsForm:
    """Records of the upper level."""

    def __init__(self, path: Path, params: XmlParams) -> None:
        self._path, self._params = path, params
        found = find_opening(path, params)
        self._members = tuple(
            dict.fromkeys((*params.members, *(cell.tag for cell in found.cells if self._is_member(cell))))
        )
        self.opening = replace(found, cells=tuple(cell for cell in found.cells if not self._is_member(cell)))

    def _is_member(self, name: Name) -> bool:
        return any(is_called(name, each) for each in self._params.members)

    def template(self) -> RecordTemplate:
        """Template of the fast reader."""
        part = GroupsPart(self.opening.record.tag, self._members)
        return RecordTemplate(self.opening, self._params.max_text, part)

    def examine(self, progress: ByteProgress) -> Found:
        """Look at the whole file with the streaming parser."""
        return examine_nested(self._path, self._params, self._handlers, progress)

    def stream(self, columns: list[Name], progress: ByteProgress) -> Iterator[pa.RecordBatch]:
        """Yield the records."""
        return nested_batches(self._path, self._params, self._handlers, columns, progress)

    def _handlers(self, guarded: GuardedParser) -> GroupRecords:
        return GroupRecords(guarded, self.opening, self._params.members)

    def details(self) -> Mapping[str, object]:
        """Nothing more: what is known of members stands in their own layout."""
        return {}


class MembersForm:
    """Records of the lower level."""

    def __init__(self, path: Path, params: XmlParams) -> None:
        assert params.group is not None
        assert params.record is not None
        self._path, self._params = path, params
        ((group, key),) = params.group.items()
        self._groups = find_opening(path, params.model_copy(update={"record": group}))
        self._form = find_member_form(path, params, self._groups, params.record, key)
        self.opening = self._form.opening(self._groups)

    def template(self) -> RecordTemplate:
        """Template of the fast reader."""
        part = MembersPart(self._groups.record.tag, self._form.key.tag, self._form.name.tag)
        return RecordTemplate(self.opening, self._params.max_text, part)

    def examine(self, progress: ByteProgress) -> Found:
        """Look at the whole file with the streaming parser."""
        return examine_nested(self._path, self._params, self._handlers, progress)

    def stream(self, columns: list[Name], progress: ByteProgress) -> Iterator[pa.RecordBatch]:
        """Yield the records."""
        return nested_batches(self._path, self._params, self._handlers, columns, progress)

    def _handlers(self, guarded: GuardedParser) -> MemberRecords:
        return MemberRecords(guarded, self._groups, self._form)

    def details(self) -> Mapping[str, object]:
        """Where members stand in their group."""
        around = (*(name.tag for name in self.opening.path), self._groups.record.tag)
        return {"record_path": (*around, self.opening.record.tag), "follow": self._form.after}
