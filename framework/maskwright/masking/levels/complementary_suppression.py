"""Complementary suppression across levels: cells that follow from other members by edits, or by single values."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Dataset
from maskwright.disclosure.attacks.equation import reached
from maskwright.disclosure.cells import LevelCellMasks, joined_cells, of_level, with_any, without_cells
from maskwright.edits.expression import variable_names
from maskwright.edits.levels.column_values import records_seen, selected_members
from maskwright.edits.levels.expansion import OPEN, UNKNOWN, Pattern, UndefinedValue, name_of, written_out
from maskwright.edits.levels.pairs import on_two_levels
from maskwright.edits.levels.structure import MembersColumn, OtherRecordColumn
from maskwright.edits.levels.structure_edits import Source, sources_of_edit, spans_records
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.progress import Progress, part, silent
from maskwright.masking.suppressing.complementary_suppression import Complement, complement

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.foundation.arrays import Booleans, Integers

    Lacking = Callable[[dict[Source, Booleans]], LevelCellMasks]


def complement_across(
    shown: LinkedData,
    hidden: LevelCellMasks,
    bound: BoundEdits,
    last: Collection[Source] = (),
    never: Collection[Source] = (),
    progress: Progress = silent,
) -> Complement[Source]:
    """Choose cells to suppress as well, so that no suppressed cell follows from records of another level and the edits.

    Each level is examined with each one below it; edits that only three together would decide are refused.
    """
    views = {pair: on_two_levels(shown, bound, pair, with_any(hidden)) for pair in shown.pairs}
    _refuse_joined(bound, set(with_any(hidden)), {pair: own for pair, (_, own) in views.items()})
    found = Complement[Source]()
    for pair, (linked, own) in views.items():
        gone = {source: cells for source, cells in hidden.items() if source[0] in pair}
        problem = _Problem(linked, gone, own, frozenset(last), frozenset(never), progress)
        if not problem.spans:
            continue
        more = problem.solved()
        found = Complement(
            joined_cells(found.cells, more.cells), Counter(found.known) + Counter(more.known),
            Counter(found.undecided) + Counter(more.undecided), joined_cells(found.disclosed, more.disclosed),
            found.given_up | more.given_up,
        )  # fmt: skip
    return found


def _refuse_joined(bound: BoundEdits, hidden: set[Source], views: Mapping[tuple[str, str], BoundEdits]) -> None:
    """Refuse edits on suppressed cells that no two levels hold, alone or with other edits on these cells."""
    if len(views) == 1:
        return
    waiting = {
        edit.name: (
            hidden & sources_of_edit(bound, edit),
            {
                pair for pair, own in views.items()
                if any(each.name == edit.name and spans_records(own, each) for each in own.edits.get(edit.level, ()))
            } if spans_records(bound, edit) else set(views),
        )
        for edits in bound.edits.values() for edit in edits
        if edit.severity == "error" and not edit.shadowed and hidden & sources_of_edit(bound, edit)
    }  # fmt: skip
    while waiting:
        name, (read, homes) = waiting.popitem()
        names = [name]
        while joined := [each for each, (other, _) in waiting.items() if read & other]:
            for each in joined:
                other, of_other = waiting.pop(each)
                read, homes = read | other, homes & of_other
                names.append(each)
        if not homes:
            variables = ", ".join(sorted(variable for _, variable in read))
            message = (
                f"cells of {variables} are suppressed, and {', '.join(sorted(names))} tie them across three levels: "
                "what follows from what is examined on two levels at once, and not on three"
            )
            hint = (
                "Name fewer keys in the steps that suppress (edits make cells of other variables go with them), "
                "or mask the values of one of these variables instead."
            )
            raise InputError(Problem(message, hint=hint))


class _Problem:
    def __init__(
        self,
        shown: LinkedData,
        hidden: LevelCellMasks,
        bound: BoundEdits,
        last: frozenset[Source],
        never: frozenset[Source],
        progress: Progress,
    ) -> None:
        self._shown, self._bound, self._last = shown, bound, last
        self._hidden = with_any(hidden)
        self._top, self._low = (level.name for level in shown)
        self._edits = self._reached()
        keys = {(level.name, name) for level in shown for name in level.key_columns}
        self._never = never | keys
        self._progress = progress
        self._reaching_known: dict[frozenset[Source], list[Edit]] = {}
        self.spans = any(spans_records(bound, edit) for edit in self._edits)

    def _reached(self) -> list[Edit]:
        """Edits that read suppressed variables, or variables that such edits read, and so on."""
        left = [
            replace(edit, expression=self._bound.plain.get(edit.name, edit.expression))
            for edits in self._bound.edits.values() for edit in edits
            if edit.engine is None and edit.severity == "error" and not edit.shadowed
        ]  # fmt: skip
        return reached(self._hidden, left, lambda edit: sources_of_edit(self._bound, edit))

    def _reaching(self, hidden: frozenset[Source]) -> list[Edit]:
        """Edits that read these variables, or variables that such edits read, and so on, in their order."""
        if hidden not in self._reaching_known:
            read = {edit.name: sources_of_edit(self._bound, edit) for edit in self._edits}
            found = {edit.name for edit in reached(hidden, self._edits, lambda edit: read[edit.name])}
            self._reaching_known[hidden] = [edit for edit in self._edits if edit.name in found]
        return self._reaching_known[hidden]

    def solved(self) -> Complement[Source]:
        cells: dict[Source, Booleans] = {}
        disclosed: dict[Source, Booleans] = {}
        known: Counter[Source] = Counter()
        undecided: Counter[Source] = Counter()
        given_up: set[Source] = set()
        alike = list(self._alike())
        done, every = 0, sum(len(groups) for groups, _ in alike)
        for groups, pattern in alike:
            share = part(self._progress, done / every, (done + len(groups)) / every)
            done += len(groups)
            joined, hidden = self._joined(groups, pattern)
            names = {name_of(name, place): (level, name, place) for level, name, place in self._cells(pattern)}
            edits, inexpressible = self._written_out(pattern, {names[name][:2] for name in hidden})
            found = complement(
                joined, hidden, edits, last=self._named(self._last, pattern), never=self._named(self._never, pattern),
                progress=share,
            )  # fmt: skip
            for all_cells, more_cells in ((cells, found.cells), (disclosed, found.disclosed)):
                for joined_name, gone in more_cells.items():
                    level, name, place = names[joined_name]
                    own = all_cells.setdefault((level, name), np.zeros(len(self._shown[level]), dtype=np.bool_))
                    own[self._rows(groups, place)] |= gone
            for counts, more in ((known, found.known), (undecided, found.undecided)):
                for joined_name, count in more.items():
                    counts[names[joined_name][:2]] += count
            given_up |= {names[joined_name][:2] for joined_name in found.given_up}
            for joined_name, gone in hidden.items():
                if names[joined_name][:2] in inexpressible:
                    undecided[names[joined_name][:2]] += int(gone.sum())
        return Complement(cells, known, undecided, disclosed, frozenset(given_up))

    def _rows(self, groups: Integers, place: int | None) -> Integers:
        return groups if place is None else self._shown.starts(self._low)[groups] + place

    def _cells(self, pattern: Pattern) -> Iterator[tuple[str, str, int | None]]:
        """Variables of the long record, those that no edit reads left out."""
        read = {source for edit in self._edits for source in sources_of_edit(self._bound, edit)}
        for level in self._shown:
            places = [None] if level.name == self._top else range(pattern.members)
            for name in level.data.names:
                if (level.name, name) in read:
                    yield from ((level.name, name, place) for place in places)

    def _named(self, sources: Collection[Source], pattern: Pattern) -> tuple[str, ...]:
        return tuple(name_of(n, place) for level, n, place in self._cells(pattern) if (level, n) in sources)

    def _joined(self, groups: Integers, pattern: Pattern) -> tuple[Dataset, dict[str, Booleans]]:
        """Groups as long records, and their suppressed cells."""
        columns, hidden = [], {}
        for level, name, place in self._cells(pattern):
            rows = self._rows(groups, place)
            column = self._shown[level].data[name].taken(rows)
            long_name = name_of(name, place)
            columns.append(replace(column, variable=replace(column.variable, name=long_name)))
            if (level, name) in self._hidden and (gone := self._hidden[level, name][rows]).any():
                hidden[long_name] = gone
        return Dataset(tuple(columns)), hidden

    def _written_out(self, pattern: Pattern, hidden: Collection[Source]) -> tuple[list[Edit], set[Source]]:
        """Edits on long records that reach their suppressed cells, and the variables of those that cannot be said."""
        edits: list[Edit] = []
        inexpressible: set[Source] = set()
        for edit in self._reaching(frozenset(hidden)):
            try:
                edits += written_out(edit, self._bound, pattern)
            except UndefinedValue:
                if spans_records(self._bound, edit):
                    inexpressible |= sources_of_edit(self._bound, edit)
        return edits, inexpressible

    def _alike(self) -> Iterator[tuple[Integers, Pattern]]:
        """Groups with suppressed cells, by pattern."""
        low = self._shown[self._low]
        assert low.groups is not None
        affected = np.zeros(len(self._shown[self._top]), dtype=np.bool_)
        for (level, _), gone in self._hidden.items():
            affected[np.flatnonzero(gone) if level == self._top else low.groups[gone]] = True
        starts = self._shown.starts(self._low)
        sizes = np.diff(starts)
        targets, truths = self._targets(starts), self._truths()
        for members in np.unique(sizes[affected]).tolist():
            groups = np.flatnonzero(affected & (sizes == members)).astype(np.int64)
            rows = starts[groups][:, None] + np.arange(members)
            parts = [each[rows] for each in (*targets.values(), *truths.values())]
            together = np.stack(parts, axis=1) if parts else np.zeros((len(groups), 0, members), dtype=np.int64)
            flat = together.reshape(len(groups), len(parts) * members)
            # Nothing to tell groups apart by: one pattern.
            distinct, which = np.unique(flat, axis=0, return_inverse=True) if flat.size else (flat[:1], 0 * groups)
            for number, row in enumerate(distinct.reshape(len(distinct), len(parts), members).tolist()):
                decided = dict(zip((*targets, *truths), map(tuple, row), strict=True))
                pattern = Pattern(
                    self._top, self._low, members, {name: decided[name] for name in targets},
                    {name: decided[name] for name in truths},
                )  # fmt: skip
                yield groups[which.ravel() == number], pattern

    def _targets(self, starts: Integers) -> dict[str, Integers]:
        """For each pointer that edits follow: place in its group of the member that each one sees."""
        low = self._shown[self._low]
        assert low.groups is not None
        found = {}
        for column in self._columns(self._low):
            if isinstance(column, OtherRecordColumn) and column.through != self._top:
                seen = records_seen(self._shown, self._low, column.through)
                found[column.through] = np.where(seen >= 0, seen - starts[low.groups], -1)
        return found

    def _truths(self) -> dict[str, Integers]:
        """For each column with a condition: where members satisfy it, and where that is open or was never known."""
        published = self._shown.with_data(
            {level.name: without_cells(level.data, of_level(self._hidden, level.name)) for level in self._shown}
        )
        found = {}
        for column in self._columns(self._top):
            if isinstance(column, MembersColumn) and column.condition is not None:
                holds, unknown = selected_members(published, self._bound, column)
                _, before = selected_members(self._shown, self._bound, column)
                found[column.name] = np.where(before, UNKNOWN, np.where(unknown, OPEN, holds.astype(np.int64)))
        return found

    def _columns(self, level: str) -> Sequence[MembersColumn | OtherRecordColumn]:
        """Columns that the edits read, and those that these read."""
        read = {source for edit in self._edits for source in edit.variables}
        known = {each.name: each for columns in self._bound.columns.values() for each in columns}
        growing = True
        while growing:
            inner = {
                name for each in map(known.get, read)
                for name in (_names_in(each) if isinstance(each, (MembersColumn, OtherRecordColumn)) else ())
            }  # fmt: skip
            growing = not inner <= read
            read |= inner
        return [
            each for each in self._bound.columns[level]
            if each.name in read and isinstance(each, (MembersColumn, OtherRecordColumn))
        ]  # fmt: skip


def _names_in(column: MembersColumn | OtherRecordColumn) -> Iterator[str]:
    """Columns that a column is computed from."""
    if isinstance(column, OtherRecordColumn):
        yield from () if column.variable is None else (column.variable,)
        return
    yield from () if column.operand is None else (column.operand,)
    yield from () if column.condition is None else variable_names(column.condition)
