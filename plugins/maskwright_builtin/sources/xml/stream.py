"""Streamed reading of flat XML records of any form, and the order of their elements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from maskwright_builtin.sources.xml.parser import WHITE_SPACE, GuardedParser, Name, element_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from maskwright import DataError
    from maskwright_builtin.sources.xml.parser import Opening


def in_order(names: Sequence[str], followed: Collection[tuple[str, str]]) -> tuple[list[str], bool]:
    """Names in an order that all records show, as near to the given one as can be."""
    waits: dict[str, set[str]] = {name: set() for name in names}
    for before, name in followed:
        waits[name].add(before)
    ordered: list[str] = []
    agree = True
    while waits:
        free = next((name for name, others in waits.items() if others.isdisjoint(waits)), None)
        agree = agree and free is not None
        ordered.append(next(iter(waits)) if free is None else free)
        del waits[ordered[-1]]
    return ordered, agree


FLAT = "A record holds one element for each variable, and each of those holds text only."


@dataclass
class Found:
    """Variables of a whole file in the order that the records show, and elements outside the records."""

    columns: list[Name] = field(default_factory=list)
    records: int = 0
    left_out: dict[str, int] = field(default_factory=dict)


class Records:
    """Handlers for records, which keep the cells of each in `rows`, by name; those of flat ones."""

    @property
    def flat(self) -> str:
        """What to do about an element with elements in it."""
        levels = "records inside records (persons in households) are levels: `data: levels:`, maskwright explain levels"
        return f"{FLAT} If <{self.cell}> is a record itself: {levels}."

    def __init__(self, guarded: GuardedParser, opening: Opening) -> None:
        self.guarded = guarded
        self.opening = opening
        self.max_text = guarded.params.max_text
        self.found = Found()
        self.depth = 0
        self.record_depth = len(opening.path) + 1
        self.in_record = False
        self.cell: str | None = None
        self.content = ""
        self.skipped_depth = 0
        self.container_closed = False
        self.declares_namespace = False
        self.names: dict[str, str] = {}
        self.seen: dict[str, int] = {}
        self.neighbours: set[tuple[str, str]] = set()
        self.row: dict[str, str] = {}
        self.rows: list[dict[str, str]] = []
        guarded.expat.StartElementHandler = self.start
        guarded.expat.EndElementHandler = self.end
        guarded.expat.CharacterDataHandler = self.text
        guarded.expat.StartNamespaceDeclHandler = self.namespace

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        self.depth += 1
        if not self.in_record:
            self._start_outside(expanded, attributes)
            return
        if self.depth > self.record_depth + 1:
            what = f"element <{element_name(expanded).tag}> is nested inside cell <{self.cell}>"
            raise self._refuse(what, self.flat)
        name = self.names.get(expanded)
        if name is None:
            name = self._new_name(expanded)
        if name in self.seen:
            raise self._refuse(f"a second <{name}> in one record", FLAT)
        if attributes or self.declares_namespace:
            self._refuse_attributes(name, attributes)
        self.seen[name] = 0
        self.cell = name
        self.content = ""

    def _start_outside(self, expanded: str, attributes: dict[str, str]) -> None:
        self.guarded.check_depth(self.depth)
        name = element_name(expanded)
        path = self.opening.path
        if name != self.opening.record:
            self.declares_namespace = False
        if not self.skipped_depth:
            if self.depth < self.record_depth and name == path[self.depth - 1] and not self.container_closed:
                return
            if self.depth == self.record_depth and name == self.opening.record:
                self._start_record(name, attributes)
                return
        if name == self.opening.record:
            raise self.guarded.refuse(
                f"<{name.tag}> in a second place: all records must be children of one element",
                f"The first record is in {'/'.join(element.tag for element in path)}.",
            )
        if not self.skipped_depth:
            self.skipped_depth = self.depth
            self.found.left_out[name.tag] = self.found.left_out.get(name.tag, 0) + 1
            if self.guarded.params.record is None and self.found.left_out[name.tag] > 1:
                raise self.guarded.refuse(
                    f"both <{self.opening.record.tag}> and <{name.tag}> are repeated, and one of them is the record",
                    "Name it: `record: NAME` in the pipeline's data section, or --record NAME.",
                )

    def _start_record(self, name: Name, attributes: dict[str, str]) -> None:
        self.in_record = True
        self.found.records += 1
        self.seen = {}
        if attributes or self.declares_namespace:
            self._refuse_attributes(name.tag, attributes)

    def _refuse_attributes(self, tag: str, attributes: dict[str, str]) -> None:
        if attributes:
            raise self._refuse(f"attribute {element_name(next(iter(attributes))).tag!r} on <{tag}>", FLAT)
        raise self._refuse(f"a namespace is declared on <{tag}>", "Declare namespaces on the root element.")

    def _new_name(self, expanded: str) -> str:
        name = element_name(expanded)
        if name.local == self.opening.record.local:
            raise self._refuse(f"a <{name.tag}> inside a <{name.tag}>", FLAT)
        if name.local in self.names.values():
            raise self._refuse(f"<{name.tag}> has the name of another variable in a different namespace", FLAT)
        before = next(reversed(self.seen), None)
        places = [column.local for column in self.found.columns]
        self.found.columns.insert(0 if before is None else places.index(before) + 1, name)
        self.names[expanded] = name.local
        return name.local

    def end(self, expanded: str) -> None:
        """Take an end tag."""
        del expanded
        depth = self.depth
        self.depth = depth - 1
        if self.cell is not None:
            self.row[self.cell] = self.content
            self.cell = None
        elif self.in_record:
            self.in_record = False
            self.neighbours.update(pairwise(self.seen))
            self.end_record()
        elif self.skipped_depth == depth:
            self.skipped_depth = 0
        elif not self.skipped_depth and depth == self.record_depth - 1:
            self.container_closed = True

    def text(self, data: str) -> None:
        """Take characters."""
        if self.cell is not None:
            self.content += data
            if len(self.content) > self.max_text:
                raise self._refuse(
                    f"the text of <{self.cell}> is longer than {self.max_text} characters",
                    "If the file is right, raise `max_text` in the pipeline's data section, or with --option.",
                )
        elif not self.skipped_depth and data.strip(WHITE_SPACE):
            if self.in_record:
                raise self._refuse("text between the elements of a record", FLAT)
            raise self.guarded.refuse("text between the records", FLAT)

    def namespace(self, prefix: str | None, uri: str | None) -> None:
        """Take the declaration of a namespace."""
        del prefix, uri
        self.declares_namespace = True

    def in_order(self) -> Found:
        """What was found, with the variables in the order that the records show."""
        columns = {column.local: column for column in self.found.columns}
        ordered, _ = in_order(tuple(columns), self.neighbours)
        return replace(self.found, columns=[columns[name] for name in ordered])

    def _refuse(self, what: str, hint: str) -> DataError:
        return self.guarded.refuse(f"record {self.found.records}: {what}", hint)

    def end_record(self) -> None:
        """Keep the row of one record."""
        self.rows.append(self.row)
        self.row = {}
