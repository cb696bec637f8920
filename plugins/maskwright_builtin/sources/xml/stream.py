"""Streamed reading of flat XML records of any form, and the order of their elements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from maskwright_builtin.sources.xml.namespaces import NIL, Namespaces
from maskwright_builtin.sources.xml.parser import WHITE_SPACE, GuardedParser, Name, element_name, variable_names

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from maskwright import DataError
    from maskwright_builtin.sources.xml.parser import Opening


N = TypeVar("N")


def in_order(names: Sequence[N], followed: Collection[tuple[N, N]]) -> tuple[list[N], bool]:
    """Names in an order that all records show, as near to the given one as can be."""
    waits: dict[N, set[N]] = {name: set() for name in names}
    for before, name in followed:
        waits[name].add(before)
    ordered: list[N] = []
    agree = True
    while waits:
        free = next((name for name, others in waits.items() if others.isdisjoint(waits)), None)
        agree = agree and free is not None
        ordered.append(next(iter(waits)) if free is None else free)
        del waits[ordered[-1]]
    return ordered, agree


FLAT = "A record holds one element for each variable, and each of those holds text only."
MOST_VARIABLES = 10_000
XML_TRUE = ("true", "1")


@dataclass
class Found:
    """Variables of a whole file in the order that the records show, and elements outside the records.

    `nil`: elements of which some are marked as nil, and how the file writes the mark. `empty`: those of which some are
    empty and not nil. `ignored`: attributes that are not read.
    """

    columns: list[Name] = field(default_factory=list)
    records: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    nil: dict[Name, str] = field(default_factory=dict)
    empty: set[Name] = field(default_factory=set)
    ignored: dict[str, None] = field(default_factory=dict)

    @property
    def variables(self) -> list[str]:
        """Names of the variables."""
        return variable_names(self.columns)


@dataclass
class Cell:
    """An element or attribute of records, and its attributes by what the parser calls them; None: one is ignored."""

    name: Name
    attributes: dict[str, Cell | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Looked up for every cell of a file: a text is faster than a name.
        self.key = self.name.key


class Records:
    """Handlers for records, which keep the cells of each in `rows`, by name; those of flat ones."""

    @property
    def flat(self) -> str:
        """What to do about an element with elements in it."""
        tag = "" if self.cell is None else self.cell.name.tag
        levels = "records inside records (persons in households) are levels: `data: levels:`, maskwright explain levels"
        return f"{FLAT} If <{tag}> is a record itself: {levels}."

    def __init__(self, guarded: GuardedParser, opening: Opening) -> None:
        self.guarded = guarded
        self.opening = opening
        self.max_text = guarded.params.max_text
        self.ignored = frozenset(guarded.params.ignore_attributes)
        self.found = Found()
        self.depth = 0
        self.record_depth = len(opening.path) + 1
        self.in_record = False
        self.cell: Cell | None = None
        self.content = ""
        self.is_nil = False
        self.skipped_depth = 0
        self.container_closed = False
        self.known: dict[str, Cell] = {}
        self.cells: dict[str, Cell] = {}
        self.order: list[str] = []
        self.first_free = 0
        self.of_record = Cell(opening.record)
        self.variables = 0
        self.seen: dict[str, None] = {}
        self.neighbours: set[tuple[str, str]] = set()
        self.row: dict[str, str] = {}
        self.rows: list[dict[str, str]] = []
        guarded.expat.StartElementHandler = self.start
        guarded.expat.EndElementHandler = self.end
        guarded.expat.CharacterDataHandler = self.text

    def start(self, expanded: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        self.depth += 1
        if not self.in_record:
            self._start_outside(expanded, attributes)
            return
        if self.depth > self.record_depth + 1:
            assert self.cell is not None
            what = f"element <{element_name(expanded).tag}> is nested inside cell <{self.cell.name.tag}>"
            raise self._refuse(what, self.flat)
        cell = self.known.get(expanded)
        if cell is None:
            cell = self._new_cell(expanded)
        if cell.key in self.seen:
            raise self._refuse(f"a second <{cell.name.tag}> in one record", REPEATED)
        self.seen[cell.key] = None
        self.cell = cell
        self.content = ""
        self.is_nil = False
        if attributes:
            self._take_attributes(cell, attributes)

    def _take_attributes(self, cell: Cell, attributes: dict[str, str]) -> None:
        of_record = cell is self.of_record
        for expanded, value in attributes.items():
            if expanded not in cell.attributes:
                cell.attributes[expanded] = self._new_attribute(cell, element_name(expanded))
            attribute = cell.attributes[expanded]
            if attribute is None:
                continue
            name = attribute.name
            if len(value) > self.max_text:
                raise self._refuse(f"an attribute of <{cell.name.tag}> is longer than {self.max_text} characters", LONG)
            if (name.uri, name.local) == NIL and not of_record:
                self.is_nil = value.strip(WHITE_SPACE) in XML_TRUE
                if self.is_nil:
                    self.found.nil.setdefault(cell.name, name.tag)
            else:
                self.row[attribute.key] = value

    def _new_attribute(self, cell: Cell, name: Name) -> Cell | None:
        """Attribute that is a variable; None: one that is ignored."""
        of_record = cell is self.of_record
        called = f"@{name.tag}" if of_record else f"{cell.name.local}/@{name.tag}"
        is_nil = (name.uri, name.local) == NIL and not of_record
        if self.ignored.intersection((called, "*")) and not is_nil:
            self.found.ignored[called] = None
            return None
        self._count()
        return Cell(replace(name, is_attribute=True, of=None if of_record else cell.name))

    def _start_outside(self, expanded: str, attributes: dict[str, str]) -> None:
        self.guarded.check_depth(self.depth)
        name = element_name(expanded)
        path = self.opening.path
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
        del name
        self.in_record = True
        self.found.records += 1
        self.seen = {}
        if attributes:
            self._take_attributes(self.of_record, attributes)

    def _new_cell(self, expanded: str) -> Cell:
        name = element_name(expanded)
        if name == self.opening.record:
            raise self._refuse(f"a <{name.tag}> inside a <{name.tag}>", FLAT)
        is_new = name.key not in self.cells
        cell = self.cells.setdefault(name.key, Cell(name))
        if is_new:
            self._count()
            before = next(reversed(self.seen), None)
            self.order.insert(self.first_free if before is None else self.order.index(before) + 1, cell.key)
        self.known[expanded] = cell
        return cell

    def _count(self) -> None:
        """Refuse a file without end of names: each is a column."""
        self.variables += 1
        if self.variables > MOST_VARIABLES:
            raise self._refuse(f"more than {MOST_VARIABLES:,} different elements and attributes in records", FLAT)

    def end(self, expanded: str) -> None:
        """Take an end tag."""
        del expanded
        depth = self.depth
        self.depth = depth - 1
        if self.cell is not None:
            if self.is_nil and self.content.strip(WHITE_SPACE):
                raise self._refuse(f"<{self.cell.name.tag}> is xsi:nil, and has a text", "Nil elements are empty.")
            if not self.content and not self.is_nil:
                self.found.empty.add(self.cell.name)
            self.row[self.cell.key] = "" if self.is_nil else self.content
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
                    f"the text of <{self.cell.name.tag}> is longer than {self.max_text} characters", LONG
                )
        elif not self.skipped_depth and data.strip(WHITE_SPACE):
            if self.in_record:
                raise self._refuse("text between the elements of a record", FLAT)
            raise self.guarded.refuse("text between the records", FLAT)

    def in_order(self) -> Found:
        """What was found, with the variables in the order that the records show."""
        ordered, _ = in_order(self.order, self.neighbours)
        columns: list[Name] = []
        for cell in (self.of_record, *(self.cells[key] for key in ordered)):
            columns += [] if cell is self.of_record else [cell.name]
            there = [each.name for each in cell.attributes.values() if each is not None]
            columns += [name for name in there if not self._is_nil(name)]
        # An attribute may come with more than one prefix, and one prefix may stand for two namespaces.
        columns = list(dict.fromkeys(columns))
        tags = Namespaces(self.opening, columns, self.found.nil).tags
        return replace(self.found, columns=[self._tagged(each, tags) for each in columns])

    @staticmethod
    def _tagged(name: Name, tags: Mapping[Name, str]) -> Name:
        return name if tags[name] == name.tag else replace(name, tag=tags[name])

    @staticmethod
    def _is_nil(name: Name) -> bool:
        return name.of is not None and (name.uri, name.local) == NIL

    def _refuse(self, what: str, hint: str) -> DataError:
        return self.guarded.refuse(f"record {self.found.records}: {what}", hint)

    def end_record(self) -> None:
        """Keep the row of one record."""
        self.rows.append(self.row)
        self.row = {}


LONG = "If the file is right, raise `max_text` in the pipeline's data section, or with --option."
REPEATED = f"{FLAT} Elements that are repeated are records of a level of their own: `data: levels:`."
