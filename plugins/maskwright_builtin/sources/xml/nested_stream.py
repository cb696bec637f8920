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
    element_name,
    white_gap,
)
from maskwright_builtin.sources.xml.stream import FLAT, Cell, Records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from maskwright_builtin.sources.xml.options import XmlParams


MOST_NAMES = 1000
"""Elements of groups that are remembered, to name the nearest one where another was meant."""


@dataclass(frozen=True)
class MemberForm:
    """How the first member of a file is written, with white space before it, before and after its cells.

    `around`: the records that it is in, the top first, and of each the element or attribute that is its key. `after`:
    elements of the one straight around it before the first of its members, in order.
    """

    name: Name
    cells: tuple[Name, ...]
    around: tuple[tuple[Name, Name], ...]
    after: tuple[str, ...]
    before_record: str
    before_cell: str
    after_cells: str

    @property
    def keys(self) -> tuple[Name, ...]:
        """Keys of the records around it, the top first."""
        return tuple(key for _, key in self.around)

    def opening(self, groups: Opening) -> Opening:
        """Opening of a file of the members alone, each with the keys of the records around it before its own cells."""
        return replace(
            groups,
            record=self.name,
            cells=(*self.keys, *self.cells),
            before_record=self.before_record,
            before_cell=self.before_cell,
            after_cells=self.after_cells,
        )


def is_called(name: Name, wanted: str) -> bool:
    """Whether an element has this name, with or without its prefix."""
    return wanted in (name.local, name.tag)


def _attribute(expanded: str) -> Name:
    return replace(element_name(expanded), is_attribute=True)


@dataclass
class _Found:
    name: Name | None = None
    after: tuple[str, ...] = ()
    before: str = ""
    before_cell: str = ""
    after_cells: str = ""
    cells: list[Name] = field(default_factory=list)
    is_complete: bool = False


@dataclass
class _Around:
    """A record around the members, as it is declared, and what was found of it."""

    record: str
    key: str
    name: Name | None = None
    key_name: Name | None = None
    passed: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def like(self, wanted: str) -> str:
        """Question whether another element in it was meant; nothing where none looks like it."""
        near = difflib.get_close_matches(wanted, sorted(self.seen), n=1)
        if not near:
            return ""
        return f"; did you mean {near[0] if near[0].startswith('@') else f'<{near[0]}>'}?"


class _Search:
    """Handlers that watch a file until it has shown a member and the keys of the records around it."""

    def __init__(self, guarded: GuardedParser, groups: Opening, member: str, around: Sequence[_Around]) -> None:
        self.guarded, self.groups, self.member, self.around = guarded, groups, member, around
        self.depth = 0
        self.group_depth = len(groups.path) + 1
        self.within = 0
        self.in_member = False
        self.gap = ""
        self.found = _Found()
        guarded.expat.StartElementHandler = self.start
        guarded.expat.EndElementHandler = self.end
        guarded.expat.CharacterDataHandler = self.text

    @property
    def is_done(self) -> bool:
        return self.found.is_complete and all(each.key_name is not None for each in self.around)

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.guarded.check_depth(self.depth)
        name, gap = element_name(expanded), self.gap
        self.gap = ""
        if self.depth == self.group_depth:
            if name == self.groups.record:
                self._enter(name, attributes)
        elif self.in_member and self.depth == self.group_depth + len(self.around) + 1:
            if not self.found.cells:
                self.found.before_cell = gap
            self.found.cells.append(name)
        elif self.within and self.depth == self.group_depth + self.within:
            self._start_in_group(name, attributes, gap)

    def _enter(self, name: Name, attributes: Iterable[str]) -> None:
        here = self.around[self.within]
        here.name = name
        here.passed = []
        for attribute in map(_attribute, attributes):
            here.seen.add(f"@{attribute.local}")
            if here.key_name is None and here.key in (f"@{attribute.local}", f"@{attribute.tag}"):
                here.key_name = attribute
        self.within += 1

    def _start_in_group(self, name: Name, attributes: Iterable[str], gap: str) -> None:
        here = self.around[self.within - 1]
        if len(here.seen) < MOST_NAMES:
            here.seen.add(name.local)
        if self.within < len(self.around) and is_called(name, self.around[self.within].record):
            self._enter(name, attributes)
            return
        if self.within == len(self.around) and is_called(name, self.member):
            if self.found.name is None:
                self.in_member = True
                self.found.name, self.found.before, self.found.after = name, gap, tuple(here.passed)
            return
        here.passed.append(name.local)
        if is_called(name, here.key) and here.key_name is None:
            here.key_name = name

    def end(self, expanded: str) -> None:
        del expanded
        if self.in_member and self.depth == self.group_depth + len(self.around):
            self.in_member = False
            self.found.is_complete = True
            self.found.after_cells = self.gap if self.found.cells else ""
        elif self.within and self.depth == self.group_depth + self.within - 1:
            self.within -= 1
        self.gap = ""
        self.depth -= 1

    def text(self, data: str) -> None:
        self.gap += data[: max(0, LONGEST_GAP - len(self.gap))]


def find_member_form(
    path: Path, params: XmlParams, groups: Opening, member: str, around: Mapping[str, str]
) -> MemberForm:
    """Read a file until a member and the keys of the records around it, given by their names, have been seen."""
    guarded = GuardedParser(path, params)
    searched = [_Around(record, key) for record, key in around.items()]
    search = _Search(guarded, groups, member, searched)
    for _ in guarded.feed(lambda _: None, block=1 << 16):
        if search.is_done:
            break
    found, place = search.found, Place(str(path))
    names: list[tuple[Name, Name]] = []
    for each in searched:
        if each.name is None:
            break
        if each.key_name is None:
            hint = f"It tells the records <{each.name.tag}> apart: `key` of their level in the pipeline's data section."
            called = f"attribute {each.key}" if each.key.startswith("@") else f"element <{each.key}>"
            message = f"no <{each.name.tag}> of the file has an {called}{each.like(each.key)}"
            raise DataError(Problem(message, place, hint))
        names.append((each.name, each.key_name))
    if found.name is None:
        last, above = searched[len(names) - 1], names[-1][0].tag
        wanted = member if len(names) == len(searched) else searched[len(names)].record
        hint = f"Records of the lower level are elements inside <{above}>."
        raise DataError(Problem(f"no <{above}> of the file has an element <{wanted}>{last.like(wanted)}", place, hint))
    return MemberForm(
        found.name,
        tuple(found.cells),
        tuple(names),
        found.after,
        white_gap(found.before),
        white_gap(found.before_cell),
        white_gap(found.after_cells),
    )


RENAME = "A variable belongs to one level: rename one of the two in the file, or leave it out there."


class LevelRecords(Records):
    """Records of one level: what is in their members is skipped, and so is what else the records around them hold.

    Each has the keys of the records around it. `form`: None at the top, where records are in no other.
    """

    def __init__(
        self, guarded: GuardedParser, opening: Opening, members: Sequence[str], form: MemberForm | None = None
    ) -> None:
        super().__init__(guarded, opening)
        self.members = members
        self.member_depth = 0
        self.around = () if form is None else form.around
        self.name = opening.record if form is None else form.name
        self.groups = [0] * len(self.around)
        self.within = 0
        self.in_key = False
        self.keys: list[str | None] = [None] * len(self.around)
        self.waiting: list[list[dict[str, str]]] = [[] for _ in self.around]
        self.of_record = Cell(self.name)
        self.cells |= {key.key: Cell(key) for _, key in self.around}
        self.order += self.cells
        self.first_free = len(self.order)

    @property
    def flat(self) -> str:
        """What to do about an element with elements in it: it may be the member that is called otherwise."""
        if not self.members:
            return super().flat
        called = " or ".join(f"<{each}>" for each in self.members)
        tag = "" if self.cell is None else self.cell.name.tag
        return f"Records of the lower level are {called} (`record` of their level). Is it <{tag}>? {FLAT}"

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        name = element_name(expanded)
        if self.member_depth:
            self.depth += 1
            self.guarded.check_depth(self.depth)
        elif any(is_called(name, each) for each in self.members):
            self.depth += 1
            if not self.in_record or self.depth != self.record_depth + 1:
                raise misplaced(self.guarded, name, self.name)
            self.member_depth = self.depth
        elif self.within and not self.in_record and not self.skipped_depth:
            self.depth += 1
            if self.in_key:
                key = self.around[self.within - 1][1]
                raise self._refuse_group(f"element <{name.tag}> is nested inside cell <{key.tag}>")
            self._start_in_group(name, attributes)
        elif self.around and name == self.name:
            raise misplaced(self.guarded, name, self.around[-1][0])
        else:
            super().start(expanded, attributes)

    def _start_in_group(self, name: Name, attributes: dict[str, str]) -> None:
        records = [*(group for group, _ in self.around), self.name]
        if name in records and name != records[self.within]:
            raise misplaced(self.guarded, name, records[records.index(name) - 1])
        if name == self.name:
            self.record_depth = self.depth
            super()._start_record(name, attributes)
            return
        if name in records:
            self._enter(attributes)
        elif name == self.around[self.within - 1][1]:
            if self.keys[self.within - 1] is not None:
                raise self._refuse_group(f"a second <{name.tag}> in one record")
            self.in_key, self.keys[self.within - 1] = True, ""
        else:
            self.skipped_depth = self.depth

    def _start_record(self, name: Name, attributes: dict[str, str]) -> None:
        """Begin a record of the top level: these are what the parser of flat records finds."""
        if not self.around:
            super()._start_record(name, attributes)
        else:
            self._enter(attributes)

    def _enter(self, attributes: Mapping[str, str]) -> None:
        """Begin a record around the members; its key may be one of its attributes."""
        self.groups[self.within] += 1
        _, key = self.around[self.within]
        values = (value for expanded, value in attributes.items() if _attribute(expanded) == key)
        self.keys[self.within] = next(values, None) if key.is_attribute else None
        self.within += 1

    def _new_cell(self, expanded: str) -> Cell:
        self._refuse_key(element_name(expanded))
        return super()._new_cell(expanded)

    def _new_attribute(self, cell: Cell, name: Name) -> Cell | None:
        found = super()._new_attribute(cell, name)
        if found is not None:
            self._refuse_key(found.name)
        return found

    def _refuse_key(self, name: Name) -> None:
        """Refuse a variable of the name of a key above: the level has that one as well."""
        for group, key in self.around:
            if name == key:
                called = f"attribute {name.tag}" if name.is_attribute else f"<{name.tag}>"
                raise self._refuse(f"{called} is the key of the <{group.tag}> around it too", RENAME)

    def end(self, expanded: str) -> None:
        """Take an end tag."""
        if self.member_depth:
            if self.depth == self.member_depth:
                self.member_depth = 0
            self.depth -= 1
            return
        if not self.within or self.in_record:
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
        _, key = self.around[self.within - 1]
        value = self.keys[self.within - 1]
        if value is None:
            called = f"attribute {key.tag}" if key.is_attribute else f"<{key.tag}>"
            raise self._refuse_group(f"there is no {called}, the key by which its members are known")
        self.within -= 1
        rows, self.waiting[self.within] = self.waiting[self.within], []
        for row in rows:
            row[key.key] = value
        self._hand_on(rows)

    def _hand_on(self, rows: list[dict[str, str]]) -> None:
        """Keep rows, or make them wait for the first key of the records around them that has not come yet."""
        for (_, key), value, waiting in reversed(
            list(zip(self.around, self.keys, self.waiting, strict=True))[: self.within]
        ):
            if value is None or waiting:
                waiting.extend(rows)
                return
            for row in rows:
                row[key.key] = value
        self.rows += rows

    def text(self, data: str) -> None:
        """Take characters."""
        if self.member_depth:
            return
        if self.in_key:
            key = self.around[self.within - 1][1]
            value = self.keys[self.within - 1] = f"{self.keys[self.within - 1]}{data}"
            if len(value) > self.max_text:
                raise self._refuse_group(f"the text of <{key.tag}> is longer than {self.max_text} characters")
        elif self.within and not self.in_record and not self.skipped_depth:
            if data.strip(WHITE_SPACE):
                raise self._refuse_group("text between the elements of a record")
        else:
            super().text(data)

    def end_record(self) -> None:
        """Keep the row of one record."""
        self.record_depth = len(self.opening.path) + 1
        self._hand_on([self.row])
        self.row = {}

    def _refuse_group(self, what: str) -> DataError:
        group = self.around[self.within - 1][0]
        return self.guarded.refuse(f"record {self.groups[self.within - 1]} of <{group.tag}>: {what}", FLAT)


def misplaced(guarded: GuardedParser, name: Name, group: Name) -> DataError:
    """Error of a member that is not straight inside a record of the level above."""
    return guarded.refuse(
        f"a <{name.tag}> that is not straight inside a <{group.tag}>",
        f"Each <{name.tag}> is a child element of the <{group.tag}> that it belongs to.",
    )
