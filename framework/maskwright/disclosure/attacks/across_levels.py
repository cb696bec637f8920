"""Inference across levels: suppressed cells that the other level discloses by dependencies no edit states."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.dependencies import GROUP, HOME, OWN, Spanning, ValueCodes, determines
from maskwright.data.variable import Variable
from maskwright.disclosure.attacks.dependency import CellsByWay, InferableCells, Reader
from maskwright.disclosure.attacks.group_counts import CountReader
from maskwright.disclosure.attacks.group_members import SoleReader, SoleValue, sole_values
from maskwright.disclosure.cells import CellMasks, LevelCellMasks, joined_cells, of_level, with_any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.foundation.arrays import Booleans, Integers


class AcrossReader:
    """Inference of suppressed cells of one level from the other, and of members from other members of their group.

    `shown`: as it would be published without suppression; two levels. `published`: variables that are published, keys
    left out. `wanted`: variables that steps suppressed, the others went beside them. `last`, `never`: variables to
    suppress only where no other does, and those that are not suppressed.
    """

    def __init__(
        self,
        shown: LinkedData,
        published: Mapping[str, Collection[str]],
        wanted: Collection[Source],
        last: Collection[Source],
        never: Collection[Source],
    ) -> None:
        self._shown = shown
        self.levels = self._top, self._low = shown.names
        groups = shown[self._low].groups
        assert groups is not None
        self._groups = groups
        self._published = published
        self._wanted = frozenset(name for _, name in wanted)
        self._last = {name for _, name in last}
        self._by_counting = frozenset(disclosed_by_size(shown, published[self._top]))
        self._never = {name for _, name in never} | self._by_counting
        self._known: tuple[frozenset[str], _Joined] | None = None
        sole = sole_values(shown, published[self._low])
        self._by_members = (
            CountReader(shown, published, self._wanted, self._never, self._by_counting),
            SoleReader(shown, sole, self._wanted, self._never),
        )
        self._references = tuple(self._joined_of(each) for each in _references(sole))

    def complement(self, hidden: LevelCellMasks) -> tuple[dict[Source, Booleans], dict[Source, Booleans]]:
        """Cells to suppress as well, and cells that follow from which others of their record are empty."""
        gone = with_any(hidden)
        disclosed: dict[Source, Booleans] = {}
        while True:
            before = gone
            for reader in self._by_members:
                gone = joined_cells(gone, reader.complement(gone))
            for joined in (self._joined(gone), *self._references):
                read = joined.reader.complement(joined.hidden(gone))
                disclosed, gone = (
                    joined_cells(disclosed, joined.cells(read.disclosed)),
                    joined_cells(gone, joined.cells(read.cells)),
                )
            if all(source in before and np.array_equal(cells, before[source]) for source, cells in gone.items()):
                break
        return with_any({source: cells & ~hidden.get(source, np.False_) for source, cells in gone.items()}), disclosed

    def left(self, hidden: LevelCellMasks) -> Mapping[str, InferableCells]:
        """Suppressed cells that can be inferred all the same, by level."""
        left: dict[Source, Booleans] = {}
        by: dict[Source, CellsByWay] = {}
        for joined in (self._joined(hidden), *self._references):
            read = joined.reader.left(joined.hidden(hidden), joined.real)
            left = joined_cells(left, joined.cells(read.left))
            for name, ways in read.by.items():
                for way, gone in ways.items():
                    for source, cells in joined.cells({name: gone}).items():
                        by[source] = joined_cells(by.get(source, {}), {way: cells})
        for reader in self._by_members:
            for source, ways in reader.left(hidden).items():
                for cells in ways.values():
                    left = joined_cells(left, {source: cells})
                by[source] = joined_cells(by.get(source, {}), ways)
        return {
            level: InferableCells({}, of_level(left, level), of_level(by, level)) for level in (self._top, self._low)
        }

    def _joined(self, hidden: LevelCellMasks) -> _Joined:
        """Joined records, with what those whom members point to have in the variables that are suppressed."""
        names = frozenset(name for (level, name), gone in hidden.items() if level == self._low and gone.any())
        if self._known is None or self._known[0] != names:
            self._known = (names, self._joined_of(None, names))
        return self._known[1]

    def _joined_of(self, members: Integers | None, seen: frozenset[str] = frozenset()) -> _Joined:
        return _Joined(
            self._shown, self._published, seen, self._wanted, self._last, self._never, self._by_counting, members
        )


def _references(sole: Collection[SoleValue]) -> Iterator[Integers]:
    """Rows of the members of whom each group has one; codes and labels that name the same ones give them once."""
    seen = set()
    for each in sole:
        if each.members.tobytes() not in seen:
            seen.add(each.members.tobytes())
            yield np.flatnonzero(each.members)


class _Joined:
    """Members beside what their group has, and those whom they point to; or those of some rows beside their group."""

    def __init__(
        self,
        shown: LinkedData,
        published: Mapping[str, Collection[str]],
        seen: frozenset[str],
        wanted: frozenset[str],
        last: Collection[str],
        never: Collection[str],
        by_counting: Collection[str],
        members: Integers | None = None,
    ) -> None:
        self._top, self._low = shown.names
        top, low = shown[self._top], shown[self._low]
        assert low.groups is not None
        self._members, self._of = members, len(low)
        self._groups = low.groups if members is None else low.groups[members]
        self._counted = len(top)
        home = top.declared.key
        # The key first: what a group has in common goes in the rows of all members before anything else is examined.
        belongs = {home: HOME}
        columns = [top.data[home].taken(self._groups)]
        # What counting the members tells is known without the variable that says it, and who lives together is.
        labels, ends = {home: home}, dict.fromkeys((home, *by_counting), "")
        for level, word in ((top, GROUP), (low, OWN)):
            for name in published[level.name]:
                belongs[name] = word
                labels[name] = f"{name} of {level.name}"
                columns.append(self._own(level.data[name]) if word == OWN else level.data[name].taken(self._groups))
        self.real = frozenset(belongs)
        self._level = {name: self._low if word == OWN else self._top for name, word in belongs.items()}
        sizes = np.bincount(low.groups, minlength=self._counted)[self._groups]
        size = f"number of {self._low} records"
        for column in _facts(size, sizes):
            belongs[column.name], labels[column.name], ends[column.name] = GROUP, f"the {size}", ""
            columns.append(column)
        # Of whom each virtual column says what one of the real ones says.
        self._pointed: dict[str, tuple[str, Integers]] = {}
        for pointer, targets in low.pointers.items() if members is None else ():
            # A pointer is published whatever its role is.
            leaving = f"the pointer {pointer} (declared as `role: identifier`, and not under `pointers`)"
            named = np.zeros(len(low), dtype=np.int64)
            named[targets[targets >= 0]] = 1
            there = (targets >= 0).astype(np.int64)
            for column in (*_facts(f"being {pointer}", named), *_facts(f"having {pointer}", there)):
                belongs[column.name], ends[column.name] = f"facts of {pointer}", leaving
                columns.append(column)
            labels |= {f"being {pointer}": f"being named as {pointer}", f"having {pointer}": f"naming a {pointer}"}
            for name in sorted(seen & wanted):
                if len(low) and name in self.real and name not in never:
                    column = _of_other(low.data[name], f"{pointer}.{name}", targets)
                    self._pointed[column.name] = (name, targets)
                    belongs[column.name], ends[column.name] = pointer, leaving
                    labels[column.name] = f"{name} of the {pointer}"
                    columns.append(column)
        fixed = set(belongs) - self.real - set(self._pointed)
        keys = {*last, *(each for each, (name, _) in self._pointed.items() if name in last)}
        spanning = Spanning(belongs, self._groups, wanted, size, labels, ends)
        self.reader = Reader(Dataset(tuple(columns)), list(belongs), keys, {*never, *fixed}, (home,), spanning)

    def _own(self, column: Column) -> Column:
        return column if self._members is None else column.taken(self._members)

    def hidden(self, cells: LevelCellMasks) -> dict[str, Booleans]:
        """Suppressed cells in the joined records."""
        found = {
            name: gone[self._groups] if level == self._top else gone if self._members is None else gone[self._members]
            for (level, name), gone in cells.items() if name in self.real
        }  # fmt: skip
        for each, (name, targets) in self._pointed.items():
            if name in found:
                found[each] = found[name][np.maximum(targets, 0)] & (targets >= 0)
        return found

    def cells(self, hidden: CellMasks) -> dict[Source, Booleans]:
        """Cells of the levels that cells of the joined records are."""
        found: dict[Source, Booleans] = {}
        for joined_name, gone in hidden.items():
            name, own = joined_name, gone
            if joined_name in self._pointed:
                name, targets = self._pointed[joined_name]
                own = np.zeros(len(gone), dtype=np.bool_)
                own[targets[gone & (targets >= 0)]] = True
            level = self._level[name]
            if level == self._top:
                own = np.bincount(self._groups, own, self._counted) > 0
            elif self._members is not None:
                own = np.zeros(self._of, dtype=np.bool_)
                own[self._members[gone]] = True
            found = joined_cells(found, {(level, name): own})
        return with_any(found)


def disclosed_by_size(shown: LinkedData, names: Collection[str]) -> Iterator[str]:
    """Variables of the upper level that counting the members discloses: there is no use in emptying them."""
    top, low = shown
    assert low.groups is not None
    codes, sizes = ValueCodes(top.data), np.bincount(low.groups, minlength=len(top)).astype(np.int64)
    for name in names:
        if determines(sizes, codes.of(name), max(len(names), 1)):
            yield name


def _facts(name: str, codes: Integers) -> Iterator[Column]:
    """What everybody sees by counting and following pointers: a variable that no one can suppress, if it varies."""
    distinct, values = np.unique(codes, return_inverse=True)
    if len(distinct) > 1:
        variable = Variable(name, "nominal", categories=tuple(map(str, distinct)))
        yield Column(variable, values.astype(np.int32), np.zeros(len(codes), dtype=np.bool_))


def _of_other(column: Column, name: str, targets: Integers) -> Column:
    """What the record has that each one points to, missing where it points to none."""
    own = column.taken(np.maximum(targets, 0))
    untargeted = targets < 0
    values = own.values.copy()
    values[untargeted] = np.nan if column.variable.is_numeric else -1
    return Column(replace(column.variable, name=name), values, own.missing | untargeted)
