"""Reading of nested XML records of any form by a streaming parser: one level at a time, with its structure checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from maskwright_builtin.sources.xml.nested.member_form import MemberForm, is_called
from maskwright_builtin.sources.xml.parser import (
    WHITE_SPACE,
    ByteProgress,
    GuardedParser,
    Name,
    XmlParams,
    element_name,
)
from maskwright_builtin.sources.xml.stream import FLAT, Found, Records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from maskwright import DataError
    from maskwright_builtin.sources.xml.opening import Opening

RENAME = "A variable belongs to one level: rename one of the two, or leave it out."


class Rows(Protocol):
    """Handlers that keep the cells of a level, as rows of name and text."""

    rows: list[dict[str, str]]
    found: Found

    def in_order(self) -> Found:
        """What was found, with the variables in the order that the records show."""
        ...


class GroupRecords(Records):
    """Records of the upper level: what is in their members is skipped."""

    def __init__(self, guarded: GuardedParser, opening: Opening, members: Sequence[str]) -> None:
        super().__init__(guarded, opening)
        self.members = members
        self.member_depth = 0
        self.row: dict[str, str] = {}
        self.rows: list[dict[str, str]] = []

    @property
    def flat(self) -> str:
        """What to do about an element with elements in it: it may be the member that is called otherwise."""
        called = " or ".join(f"<{each}>" for each in self.members)
        return f"Records of the lower level are {called} (`record` of their level). Is it <{self.cell}>? {FLAT}"

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        name = element_name(expanded)
        if self.member_depth:
            self.depth += 1
            self.guarded.check_depth(self.depth)
        elif any(is_called(name, each) for each in self.members):
            self.depth += 1
            if not self.in_record or self.depth != self.record_depth + 1:
                raise misplaced(self.guarded, name, self.opening.record)
            self.member_depth = self.depth
        else:
            super().start(expanded, attributes)

    def end(self, expanded: str) -> None:
        """Take an end tag."""
        if not self.member_depth:
            super().end(expanded)
            return
        if self.depth == self.member_depth:
            self.member_depth = 0
        self.depth -= 1

    def text(self, data: str) -> None:
        """Take characters."""
        if not self.member_depth:
            super().text(data)

    def end_cell(self, name: str, content: str) -> None:
        """Keep the text of one cell."""
        self.row[name] = content

    def end_record(self) -> None:
        """Keep the row of one record."""
        self.rows.append(self.row)
        self.row = {}


class MemberRecords(Records):
    """Members, each with the key of its group: what else is in the group is skipped."""

    def __init__(self, guarded: GuardedParser, groups: Opening, form: MemberForm) -> None:
        super().__init__(guarded, groups)
        self.form = form
        self.groups = 0
        self.key: str | None = None
        self.in_group = self.in_key = False
        self.row: dict[str, str] = {}
        self.waiting: list[dict[str, str]] = []
        self.rows: list[dict[str, str]] = []
        self.found.columns.append(form.key)

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        name = element_name(expanded)
        if self.in_group and not self.in_record and not self.skipped_depth:
            self.depth += 1
            if self.in_key:
                raise self._refuse_group(f"element <{name.tag}> is nested inside cell <{self.form.key.tag}>")
            self._start_in_group(name, attributes)
            return
        if name == self.form.name:
            raise misplaced(self.guarded, name, self.opening.record)
        super().start(expanded, attributes)

    def _start_in_group(self, name: Name, attributes: dict[str, str]) -> None:
        if name == self.form.name:
            self.record_depth = self.depth
            super()._start_record(name, attributes)
            return
        self.declares_namespace = False
        if name == self.form.key:
            if self.key is not None:
                raise self._refuse_group(f"a second <{name.tag}> in one record")
            self.in_key, self.key = True, ""
        else:
            self.skipped_depth = self.depth

    def _start_record(self, name: Name, attributes: dict[str, str]) -> None:
        """Begin a group: records of the upper level are what the parser of flat records finds."""
        del name, attributes
        self.groups += 1
        self.in_group, self.key = True, None

    def _new_name(self, expanded: str) -> str:
        name, key = element_name(expanded), self.form.key
        if name.local == key.local:
            raise self._refuse(f"<{name.tag}> is the key of the <{self.opening.record.tag}> around it too", RENAME)
        local = super()._new_name(expanded)
        if self.found.columns[0] != key:
            self.found.columns.remove(key)
            self.found.columns.insert(0, key)
        return local

    def end(self, expanded: str) -> None:
        """Take an end tag."""
        if not self.in_group or self.in_record:
            super().end(expanded)
            return
        depth, self.depth = self.depth, self.depth - 1
        if self.in_key:
            self.in_key = False
        elif self.skipped_depth:
            self.skipped_depth = 0 if depth == self.skipped_depth else self.skipped_depth
        else:
            self._end_group()

    def _end_group(self) -> None:
        if self.key is None:
            raise self._refuse_group(f"there is no <{self.form.key.tag}>, the key by which its members are known")
        for row in self.waiting:
            row[self.form.key.local] = self.key
        self.rows += self.waiting
        self.waiting = []
        self.in_group = False

    def text(self, data: str) -> None:
        """Take characters."""
        if self.in_key:
            self.key = f"{self.key}{data}"
            if len(self.key) > self.max_text:
                raise self._refuse_group(f"the text of <{self.form.key.tag}> is longer than {self.max_text} characters")
        elif self.in_group and not self.in_record and not self.skipped_depth:
            if data.strip(WHITE_SPACE):
                raise self._refuse_group("text between the elements of a record")
        else:
            super().text(data)

    def end_cell(self, name: str, content: str) -> None:
        """Keep the text of one cell."""
        self.row[name] = content

    def end_record(self) -> None:
        """Keep the row of one record."""
        self.record_depth = len(self.opening.path) + 1
        self.waiting.append(self.row)
        self.row = {}

    def _refuse_group(self, what: str) -> DataError:
        return self.guarded.refuse(f"record {self.groups} of <{self.opening.record.tag}>: {what}", FLAT)


def misplaced(guarded: GuardedParser, name: Name, group: Name) -> DataError:
    """Error of a member that is not straight inside a record of the upper level."""
    return guarded.refuse(
        f"a <{name.tag}> that is not straight inside a <{group.tag}>",
        f"Each <{name.tag}> is a child element of the <{group.tag}> that it belongs to.",
    )


def nested_batches(
    path: Path,
    params: XmlParams,
    handlers: Callable[[GuardedParser], Rows],
    columns: Sequence[Name],
    progress: ByteProgress,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of one level; null is an absent element, "" an empty one.

    `handlers`: set the handlers of a parser. `columns`: all that the records of the level have.
    """
    guarded = GuardedParser(path, params)
    level = handlers(guarded)
    names = [column.local for column in columns]
    schema = pa.schema([(name, pa.string()) for name in names])
    for _ in guarded.feed(progress):
        if level.rows:
            arrays = [pa.array([row.get(name) for row in level.rows], pa.string()) for name in names]
            level.rows.clear()
            yield pa.record_batch(arrays, schema=schema)


def examine_nested(
    path: Path, params: XmlParams, handlers: Callable[[GuardedParser], Rows], progress: ByteProgress
) -> Found:
    """Parse a whole file, check the structure of one level, and say what columns it has."""
    guarded = GuardedParser(path, params)
    level = handlers(guarded)
    for _ in guarded.feed(progress):
        level.rows.clear()
    return level.in_order()
