"""Streamed reading of nested XML records: one level at a time, with the form of members."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maskwright import DataError, Place, Problem
from maskwright_builtin.sources.xml.parser import (
    LONGEST_GAP,
    WHITE_SPACE,
    GuardedParser,
    Name,
    Opening,
    XmlParams,
    element_name,
    white_gap,
)
from maskwright_builtin.sources.xml.stream import FLAT, Records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


MOST_NAMES = 1000
"""Elements of groups that are remembered, to name the nearest one where another was meant."""


@dataclass(frozen=True)
class MemberForm:
    """How the first member of a file is written, with white space before it, before and after its cells.

    `key`: element that distinguishes groups. `after`: elements of the group before the first of its members, in order.
    """

    name: Name
    cells: tuple[Name, ...]
    key: Name
    after: tuple[str, ...]
    before_record: str
    before_cell: str
    after_cells: str

    def opening(self, groups: Opening) -> Opening:
        """Opening of a file of the members alone, each with the key of its group before its own cells."""
        return replace(
            groups,
            record=self.name,
            cells=(self.key, *self.cells),
            before_record=self.before_record,
            before_cell=self.before_cell,
            after_cells=self.after_cells,
        )


def is_called(name: Name, wanted: str) -> bool:
    """Whether an element has this name, with or without its prefix."""
    return wanted in (name.local, name.tag)


@dataclass
class _Found:
    name: Name | None = None
    key: Name | None = None
    after: tuple[str, ...] = ()
    before: str = ""
    before_cell: str = ""
    after_cells: str = ""
    cells: list[Name] = field(default_factory=list)
    is_complete: bool = False


class _Search:
    """Handlers that watch a file until it has shown a member and the key of its group."""

    def __init__(self, guarded: GuardedParser, groups: Opening, member: str, key: str) -> None:
        self.guarded, self.groups, self.member, self.key = guarded, groups, member, key
        self.depth = 0
        self.group_depth = len(groups.path) + 1
        self.in_group = False
        self.in_member = False
        self.passed: list[str] = []
        self.seen: set[str] = set()
        self.gap = ""
        self.found = _Found()
        guarded.expat.StartElementHandler = self.start
        guarded.expat.EndElementHandler = self.end
        guarded.expat.CharacterDataHandler = self.text

    @property
    def is_done(self) -> bool:
        return self.found.is_complete and self.found.key is not None

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        del attributes
        self.depth += 1
        self.guarded.check_depth(self.depth)
        name, gap = element_name(expanded), self.gap
        self.gap = ""
        if self.depth == self.group_depth:
            self.in_group, self.passed = name == self.groups.record, []
        if self.in_member and self.depth == self.group_depth + 2:
            if not self.found.cells:
                self.found.before_cell = gap
            self.found.cells.append(name)
        elif self.in_group and self.depth == self.group_depth + 1:
            self._start_in_group(name, gap)

    def like(self, wanted: str) -> str:
        """Question whether an element of the groups was meant; nothing where none looks like it."""
        near = difflib.get_close_matches(wanted, sorted(self.seen), n=1)
        return f"; did you mean <{near[0]}>?" if near else ""

    def _start_in_group(self, name: Name, gap: str) -> None:
        if len(self.seen) < MOST_NAMES:
            self.seen.add(name.local)
        if is_called(name, self.member):
            if self.found.name is None:
                self.in_member = True
                self.found.name, self.found.before, self.found.after = name, gap, tuple(self.passed)
            return
        self.passed.append(name.local)
        if is_called(name, self.key) and self.found.key is None:
            self.found.key = name

    def end(self, expanded: str) -> None:
        del expanded
        if self.in_member and self.depth == self.group_depth + 1:
            self.in_member = False
            self.found.is_complete = True
            self.found.after_cells = self.gap if self.found.cells else ""
        self.gap = ""
        self.depth -= 1

    def text(self, data: str) -> None:
        self.gap += data[: max(0, LONGEST_GAP - len(self.gap))]


def find_member_form(path: Path, params: XmlParams, groups: Opening, member: str, key: str) -> MemberForm:
    """Read a file until a member and the key of its group have been seen."""
    guarded = GuardedParser(path, params)
    search = _Search(guarded, groups, member, key)
    for _ in guarded.feed(lambda _: None, block=1 << 16):
        if search.is_done:
            break
    found, group = search.found, groups.record.tag
    if found.key is None:
        hint = f"It tells the records <{group}> apart: `key` of their level in the pipeline's data section."
        raise DataError(
            Problem(f"no <{group}> of the file has an element <{key}>{search.like(key)}", Place(str(path)), hint)
        )
    if found.name is None:
        hint = f"Records of the lower level are elements inside <{group}>."
        message = f"no <{group}> of the file has an element <{member}>{search.like(member)}"
        raise DataError(Problem(message, Place(str(path)), hint))
    return MemberForm(
        found.name,
        tuple(found.cells),
        found.key,
        found.after,
        white_gap(found.before),
        white_gap(found.before_cell),
        white_gap(found.after_cells),
    )


RENAME = "A variable belongs to one level: rename one of the two, or leave it out."


class GroupRecords(Records):
    """Records of the upper level: what is in their members is skipped."""

    def __init__(self, guarded: GuardedParser, opening: Opening, members: Sequence[str]) -> None:
        super().__init__(guarded, opening)
        self.members = members
        self.member_depth = 0

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


class MemberRecords(Records):
    """Members, each with the key of its group: what else is in the group is skipped."""

    def __init__(self, guarded: GuardedParser, groups: Opening, form: MemberForm) -> None:
        super().__init__(guarded, groups)
        self.form = form
        self.groups = 0
        self.key: str | None = None
        self.in_group = self.in_key = False
        self.waiting: list[dict[str, str]] = []
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
