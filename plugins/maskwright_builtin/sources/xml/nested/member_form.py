"""The form of members: of records that are elements inside the records of another level."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maskwright import DataError, Place, Problem
from maskwright_builtin.sources.xml.opening import LONGEST_GAP, Opening, white_gap
from maskwright_builtin.sources.xml.parser import GuardedParser, Name, XmlParams, element_name

if TYPE_CHECKING:
    from pathlib import Path

MOST_NAMES = 1000
"""Elements of groups that are remembered, to name the nearest one where another was meant."""


@dataclass(frozen=True)
class MemberForm:
    """How the first member of a file is written.

    `key`: element of the group that tells groups apart. `after`: elements of the group that stand before the first of
    its members, in order. `before_record`, `before_cell`, `after_cells`: white space before a member, before a cell,
    and after the last cell.
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
    """Read a file until a member and the key of its group have been seen.

    `groups`: of the records that the members are inside of. `member`: name of the members' element. `key`: name of the
    element that tells groups apart.
    """
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
        said = f"no <{group}> of the file has an element <{member}>{search.like(member)}"
        raise DataError(Problem(said, Place(str(path)), hint))
    return MemberForm(
        found.name,
        tuple(found.cells),
        found.key,
        found.after,
        white_gap(found.before),
        white_gap(found.before_cell),
        white_gap(found.after_cells),
    )
