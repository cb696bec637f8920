"""Nested XML as documents of whole groups, for engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright import NestedDocument, NestedElements, Progress
from maskwright_builtin.sources.files import readable_size, reading
from maskwright_builtin.sources.xml.nested_stream import is_called, misplaced
from maskwright_builtin.sources.xml.parser import GuardedParser, Name, Opening, element_name, find_opening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from maskwright_builtin.sources.xml.options import XmlParams


BYTES_SEARCHED = 1 << 18
"""Bytes of a file in which members are looked for, where no one says which elements they are."""
AT_ONCE = 500
"""Records of the upper level in one document."""
LONGEST_DOCUMENT = 1 << 20
"""Bytes after which a document ends with the next record."""


class NestedXml:
    """An XML file with records inside records, as documents that hold whole records of the top level."""

    def __init__(self, path: Path, params: XmlParams, progress: Progress) -> None:
        self._path, self._params, self._progress = path, params, progress
        self._size = readable_size(path, params.max_file_size, of_text=True)
        self._opening = find_opening(path, params)
        self._members = _members(path, params, self._opening)

    @property
    def elements(self) -> NestedElements | None:
        """Names of the elements; None: no record has records in it."""
        if not self._members:
            return None
        records = (self._opening.record, *self._members)
        return NestedElements(tuple(name.tag for name in self._opening.path), tuple(name.tag for name in records))

    def documents(self, at_once: int | None = AT_ONCE) -> Iterator[NestedDocument]:
        """Yield the file in documents."""
        assert self._members
        opening = self._opening
        head = "".join(gap + tag for gap, tag in zip(opening.gaps, opening.start_tags, strict=True))
        tail = "".join(f"</{name.tag}>" for name in reversed(opening.path))
        guarded = GuardedParser(self._path, self._params)
        bounds = _Bounds(guarded, opening, self._members)
        with reading(self._path) as file:
            done = 0
            texts: list[str] = []
            sizes: list[list[int]] = [[] for _ in self._members]
            length = 0
            for _ in guarded.feed(lambda fed: self._progress(min(1.0, fed / self._size))):
                for start, stop, members in bounds.taken():
                    while done < start:
                        done += len(file.read(min(start - done, 1 << 20)))
                    texts.append(file.read(stop - start).decode(opening.encoding))
                    done = stop
                    for level, counted in zip(sizes, members, strict=True):
                        level.extend(counted)
                    length += stop - start
                    if at_once is not None and (len(texts) >= at_once or length > LONGEST_DOCUMENT):
                        yield NestedDocument(f"{head}{''.join(texts)}{tail}", tuple(map(tuple, sizes)))
                        texts, sizes, length = [], [[] for _ in self._members], 0
            if texts:
                yield NestedDocument(f"{head}{''.join(texts)}{tail}", tuple(map(tuple, sizes)))


class _Bounds:
    """Handlers that find where records of the top level begin and end, in bytes, and count the members in them."""

    def __init__(self, guarded: GuardedParser, opening: Opening, members: tuple[Name, ...]) -> None:
        self._guarded = guarded
        self._levels = {name: depth for depth, name in enumerate((opening.record, *members))}
        self._record, self._depth_of_record = opening.record, len(opening.path) + 1
        self._names: dict[str, Name] = {}
        self._depth = self._start = self._within = 0
        self._sizes: list[list[int]] = []
        self._ending = False
        self._found: list[tuple[int, int, list[list[int]]]] = []
        guarded.expat.StartElementHandler = self.start
        guarded.expat.EndElementHandler = self.end

    def taken(self) -> list[tuple[int, int, list[list[int]]]]:
        """Records since the last time: where each begins and ends, and the members of its records of each level."""
        found, self._found = self._found, []
        return found

    def _settle(self) -> None:
        """End a record where the next tag begins: of its end tag, only the beginning is known."""
        self._found.append((self._start, self._guarded.expat.CurrentByteIndex, self._sizes))
        self._ending = False

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        del attributes
        self._depth += 1
        name = self._names.get(expanded)
        if name is None:
            name = self._names.setdefault(expanded, element_name(expanded))
            self._guarded.check_depth(self._depth)
        if self._ending:
            self._settle()
        level = self._levels.get(name)
        if level is None:
            self._guarded.check_depth(self._depth)
        elif level == 0:
            if self._within or self._depth != self._depth_of_record:
                raise self._guarded.refuse(f"<{name.tag}> in a second place: all of them are children of one element")
            self._start = self._guarded.expat.CurrentByteIndex
            self._sizes = [[0], *([] for _ in range(len(self._levels) - 2))]
            self._within = 1
        else:
            if self._within != level or self._depth != self._depth_of_record + level:
                raise misplaced(self._guarded, name, list(self._levels)[level - 1])
            self._sizes[level - 1][-1] += 1
            if level < len(self._sizes):
                self._sizes[level].append(0)
            self._within += 1

    def end(self, expanded: str) -> None:
        """Take an end tag."""
        del expanded
        if self._ending:
            self._settle()
        if self._within and self._depth == self._depth_of_record + self._within - 1:
            self._within -= 1
            self._ending = not self._within
        self._depth -= 1


class _MemberSearch:
    """Handlers that look for a child of a record that is one itself: it has two elements, or a sibling has one.

    `around`: elements around the child, outermost first. `wanted`: how it is called, where that is declared.
    """

    def __init__(self, guarded: GuardedParser, around: tuple[Name, ...], wanted: str | None) -> None:
        self._around, self._guarded, self._wanted = around, guarded, wanted
        self._open: list[Name] = []
        self._cells = 0
        self._with_cells: dict[Name, int] = {}
        self.found: Name | None = None
        guarded.expat.StartElementHandler = self.start
        guarded.expat.EndElementHandler = self.end

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        del attributes
        depth = len(self._around)
        if self._wanted is not None:
            name = element_name(expanded)
            if self.found is None and tuple(self._open) == self._around and is_called(name, self._wanted):
                self.found = name
        elif len(self._open) == depth + 1 and self._open[depth - 1] == self._around[-1]:
            self._cells += 1
            name = self._open[-1]
            self._with_cells[name] = self._with_cells.get(name, 0) + (self._cells == 1)
            if self.found is None and (self._cells > 1 or self._with_cells[name] > 1):
                self.found = name
        elif len(self._open) == depth:
            self._cells = 0
        elif len(self._open) == depth - 1:
            self._with_cells = {}
        self._open.append(element_name(expanded))
        self._guarded.check_depth(len(self._open))

    def end(self, expanded: str) -> None:
        """Take an end tag."""
        del expanded
        self._open.pop()


def _members(path: Path, params: XmlParams, opening: Opening) -> tuple[Name, ...]:
    """Elements of the members of each level: those that are declared, or in turn the first child with children."""
    around = (*opening.path, opening.record)
    for wanted in params.members:
        first = (name for name in opening.cells if around[-1] == opening.record and is_called(name, wanted))
        found = next(first, None) or _first_member(path, params, around, wanted)
        around = (*around, found or Name(wanted.rpartition(":")[2], wanted))
    while not params.members and (found := _first_member(path, params, around)) is not None:
        around = (*around, found)
    return around[len(opening.path) + 1 :]


def _first_member(path: Path, params: XmlParams, around: tuple[Name, ...], wanted: str | None = None) -> Name | None:
    """First child that is a record, or that is called so, in the beginning of a file."""
    guarded = GuardedParser(path, params)
    search = _MemberSearch(guarded, around, wanted)
    fed = 0
    for _ in guarded.feed(lambda _: None, block=1 << 16):
        fed += 1 << 16
        if search.found is not None or fed > BYTES_SEARCHED:
            break
    return search.found
