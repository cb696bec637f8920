"""Nested XML as documents of whole groups, for engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright import NestedDocument, NestedElements, Progress
from maskwright_builtin.sources.files import readable_size, reading
from maskwright_builtin.sources.xml.nested_stream import is_called, misplaced
from maskwright_builtin.sources.xml.parser import GuardedParser, Name, Opening, XmlParams, element_name, find_opening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


BYTES_SEARCHED = 1 << 18
"""Bytes of a file in which members are looked for, where no one says which elements they are."""
AT_ONCE = 500
"""Records of the upper level in one document."""
LONGEST_DOCUMENT = 1 << 20
"""Bytes after which a document ends with the next record."""


class NestedXml:
    """An XML file with records inside records, as documents that hold whole records of the upper level."""

    def __init__(self, path: Path, params: XmlParams, progress: Progress) -> None:
        self._path, self._params, self._progress = path, params, progress
        self._size = readable_size(path, params.max_file_size)
        self._opening = find_opening(path, params)
        self._member = _member(path, params, self._opening)

    @property
    def elements(self) -> NestedElements | None:
        """Names of the elements; None: no record has records in it."""
        if self._member is None:
            return None
        opening = self._opening
        return NestedElements(tuple(name.tag for name in opening.path), opening.record.tag, self._member.tag)

    def documents(self, at_once: int | None = AT_ONCE) -> Iterator[NestedDocument]:
        """Yield the file in documents."""
        assert self._member is not None
        opening = self._opening
        head = "".join(gap + tag for gap, tag in zip(opening.gaps, opening.start_tags, strict=True))
        tail = "".join(f"</{name.tag}>" for name in reversed(opening.path))
        guarded = GuardedParser(self._path, self._params)
        bounds = _Bounds(guarded, opening, self._member)
        with reading(self._path) as file:
            done = 0
            texts: list[str] = []
            sizes: list[int] = []
            length = 0
            for _ in guarded.feed(lambda fed: self._progress(min(1.0, fed / self._size))):
                for start, stop, members in bounds.taken():
                    while done < start:
                        done += len(file.read(min(start - done, 1 << 20)))
                    texts.append(file.read(stop - start).decode(opening.encoding))
                    done = stop
                    sizes.append(members)
                    length += stop - start
                    if at_once is not None and (len(sizes) >= at_once or length > LONGEST_DOCUMENT):
                        yield NestedDocument(f"{head}{''.join(texts)}{tail}", tuple(sizes))
                        texts, sizes, length = [], [], 0
            if sizes:
                yield NestedDocument(f"{head}{''.join(texts)}{tail}", tuple(sizes))


class _Bounds:
    """Handlers that find where records of the upper level begin and end, in bytes, and count their members."""

    def __init__(self, guarded: GuardedParser, opening: Opening, member: Name) -> None:
        self._guarded, self._member = guarded, member
        self._record, self._depth_of_record = opening.record, len(opening.path) + 1
        self._names: dict[str, Name] = {}
        self._depth = self._members = self._start = 0
        self._inside = self._ending = False
        self._found: list[tuple[int, int, int]] = []
        guarded.expat.StartElementHandler = self.start
        guarded.expat.EndElementHandler = self.end

    def taken(self) -> list[tuple[int, int, int]]:
        """Records since the last time: where each begins and ends, and its members."""
        found, self._found = self._found, []
        return found

    def _settle(self) -> None:
        """End a record where the next tag begins: of its end tag, only the beginning is known."""
        self._found.append((self._start, self._guarded.expat.CurrentByteIndex, self._members))
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
        if name == self._member:
            if not self._inside or self._depth != self._depth_of_record + 1:
                raise misplaced(self._guarded, name, self._record)
            self._members += 1
        elif name == self._record:
            if self._inside or self._depth != self._depth_of_record:
                raise self._guarded.refuse(f"<{name.tag}> in a second place: all of them are children of one element")
            self._inside, self._members = True, 0
            self._start = self._guarded.expat.CurrentByteIndex
        else:
            self._guarded.check_depth(self._depth)

    def end(self, expanded: str) -> None:
        """Take an end tag."""
        del expanded
        if self._ending:
            self._settle()
        if self._inside and self._depth == self._depth_of_record:
            self._inside, self._ending = False, True
        self._depth -= 1


class _MemberSearch:
    """Handlers that look for a child of a record that is one itself: it has two elements, or a sibling has one."""

    def __init__(self, guarded: GuardedParser, opening: Opening) -> None:
        self._opening, self._guarded = opening, guarded
        self._open: list[Name] = []
        self._cells = 0
        self._with_cells: dict[Name, int] = {}
        self.found: Name | None = None
        guarded.expat.StartElementHandler = self.start
        guarded.expat.EndElementHandler = self.end

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        del attributes
        above = len(self._opening.path)
        if len(self._open) == above + 2 and self._open[above] == self._opening.record:
            self._cells += 1
            name = self._open[-1]
            self._with_cells[name] = self._with_cells.get(name, 0) + (self._cells == 1)
            if self.found is None and (self._cells > 1 or self._with_cells[name] > 1):
                self.found = name
        elif len(self._open) == above + 1:
            self._cells = 0
        elif len(self._open) == above:
            self._with_cells = {}
        self._open.append(element_name(expanded))
        self._guarded.check_depth(len(self._open))

    def end(self, expanded: str) -> None:
        """Take an end tag."""
        del expanded
        self._open.pop()


def _member(path: Path, params: XmlParams, opening: Opening) -> Name | None:
    """Element of the members: the one that is declared, or the first child of a record that has children."""
    if params.members:
        wanted = params.members[0]
        return next(
            (name for name in opening.cells if is_called(name, wanted)), Name(wanted.rpartition(":")[2], wanted)
        )
    guarded = GuardedParser(path, params)
    search = _MemberSearch(guarded, opening)
    fed = 0
    for _ in guarded.feed(lambda _: None, block=1 << 16):
        fed += 1 << 16
        if search.found is not None or fed > BYTES_SEARCHED:
            break
    return search.found
