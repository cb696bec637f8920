"""Fields to change so that groups and their members obey the edits: each group with its members is one long record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.levels.arriving import edits_of_levels
from maskwright.data.dataset import Dataset
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.expression import InSet, Number, Text, VariableReference
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.expansion import OPEN, Pattern, Unsaid, name_of, written_out
from maskwright.edits.levels.linked_columns import MembersColumn, StructureColumn
from maskwright.edits.levels.structure import NEIGHBOURS
from maskwright.edits.localisation.localize import Localisation, localize
from maskwright.edits.localisation.search import Located
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits

    Rows = NDArray[np.int64]

MOST_MEMBERS = 8
"""Members up to which a group is one record."""

UNDECIDED = "what is missing in it leaves its edits undecided"

KEYS = 1000.0
"""Cost of changing a key, in which everything else would be changed first."""


def localize_levels(linked: LinkedData, edits: EditSet, weights: Mapping[str, float] | None = None) -> Localisation:
    """Find for each group that violates edits, with its members, the smallest weighted set of fields to change.

    A pointer may be what is wrong: what rules ask of whomever it names is asked of each member that it could name.
    Records stand before each other as they are; that somebody is missing is not found.

    Parameters
    ----------
    linked : LinkedData
    edits : EditSet
    weights : mapping of name to float, optional
        How much each variable is trusted; 1 unless given. Positive.

    Returns
    -------
    Localisation
        Records are groups, in their order; ``income[2]`` is the income of the second member of one, as they stand.

    Raises
    ------
    InputError
        A weight is not positive, or names no variable; mistakes in edits.
    """
    bound = edits_of_levels(edits, linked)
    top = linked.levels[0]
    costs = _costs(linked, weights or {})
    groups = _Groups(linked, bound)
    found: dict[int, Located] = {}
    names: tuple[str, ...] = ()
    for pattern, rows in groups.patterns():
        joined = groups.joined(pattern, rows)
        names = joined.names if len(joined.names) > len(names) else names
        try:
            rules = groups.rules(pattern)
        except Unsaid as error:
            found |= {int(row): _not_located(str(error)) for row in rows}
            continue
        own = {name: costs[groups.variable(name)] for name in joined.names}
        result = localize(joined, rules, own, Domain.from_dataset(joined, ()))
        found |= {int(rows[number - 1]): each for number, each in zip(result.numbers, result.found, strict=True)}
    found |= {row: _not_located(why) for row, why in groups.left_out.items()}
    found |= {row: _not_located(UNDECIDED) for row in groups.bad if row not in found}
    numbers = np.array(sorted(found), dtype=np.int64)
    several = tuple(found[int(row)] for row in numbers)
    every = dict.fromkeys((*names, *(name for each in several for name in each.fields or ())), 1.0)
    return Localisation(len(top), numbers + 1, several, every, level=top.name)


def _not_located(reason: str) -> Located:
    return Located(None, {}, proven=False, reason=reason)


def _costs(linked: LinkedData, weights: Mapping[str, float]) -> dict[str, float]:
    """Cost of each variable of either level."""
    names = [name for level in linked for name in level.data.names]
    unknown = [Problem(unknown_name("variable", name, names)) for name in weights if name not in names]
    if unknown:
        raise InputError(unknown)
    keys = {level.declared.key for level in linked}
    return {name: float(weights.get(name, KEYS if name in keys else 1.0)) for name in names}


@dataclass(eq=False)
class _Groups:
    """Groups that violate an edit, as long records."""

    linked: LinkedData
    bound: BoundEdits

    def __post_init__(self) -> None:
        self.left_out: dict[int, str] = {}
        self.bad = self._violating()

    def _violating(self) -> dict[int, None]:
        """Groups that violate an edit; those whose rows differ are `left_out`."""
        found: dict[int, None] = {}
        for level in self.linked:
            edits = [edit for edit in self.bound.edits[level.name] if edit.severity == "error"]
            data = with_linked_columns(self.linked, self.bound, level.name)
            structure = {each.name for each in self.bound.columns[level.name] if isinstance(each, StructureColumn)}
            chunk = RecordChunk.from_dataset(data)
            domain = Domain.from_dataset(data, domain_tuples(edits))
            for edit in edits:
                verdict = evaluate_exact(edit.expression, chunk, domain)
                rows = np.flatnonzero(~verdict.holds & ~verdict.unknown)
                homes = rows if level.groups is None else level.groups[rows]
                if level.groups is None and structure & set(edit.variables):
                    why = f"its rows differ ({edit.name}): which of them is right, no edit says"
                    self.left_out |= {int(home): why for home in homes}
                    continue
                found |= dict.fromkeys(np.unique(homes).tolist())
        return found

    def variable(self, name: str) -> str:
        """Variable that a column of a long record shows."""
        return name.rpartition("[")[0] or name

    def patterns(self) -> Iterator[tuple[Pattern, Rows]]:
        """Groups whose members stand and point alike."""
        top, low = self.linked.levels
        starts = self.linked.starts(low.name)
        alike: dict[tuple[tuple[tuple[int, ...], ...], tuple[Number | Text, ...]], list[int]] = {}
        targets = self._targets()
        keys = _literals(low.data[low.declared.key])
        for row in sorted(set(self.bad) - set(self.left_out)):
            first, last = int(starts[row]), int(starts[row + 1])
            if last - first > MOST_MEMBERS:
                apart = f"look at the edits of the {top.name} and of each {low.name} apart"
                self.left_out[row] = f"more than {MOST_MEMBERS} members: {apart}"
                continue
            seen = tuple(tuple(np.where(to[first:last] < 0, -1, to[first:last] - first).tolist())
                         for to in targets.values())  # fmt: skip
            alike.setdefault((seen, tuple(keys(place) for place in range(first, last))), []).append(row)
        for (seen, named), rows in alike.items():
            members = len(named)
            truths = {
                each.name: (OPEN,) * members for each in self.bound.columns[top.name]
                if isinstance(each, MembersColumn) and each.condition is not None
            }  # fmt: skip
            yield (
                Pattern(
                    top.name, low.name, members, dict(zip(targets, seen, strict=True)), truths, low.declared.key, named
                ),
                np.array(rows, dtype=np.int64),
            )

    def _targets(self) -> dict[str, Rows]:
        """Whom each member sees by pointers and as neighbours."""
        low = self.linked.levels[1]
        found = dict(low.pointers)
        assert low.groups is not None
        keys = [np.asarray(low.data[name].values, dtype=np.float64) for name in reversed(low.declared.order or ())]
        order = np.lexsort((*keys, low.groups)).astype(np.int64)
        same = low.groups[order[1:]] == low.groups[order[:-1]]
        for name in NEIGHBOURS:
            there = np.full(len(low), -1, dtype=np.int64)
            one, other = (order[1:], order[:-1]) if name == "previous" else (order[:-1], order[1:])
            there[one[same]] = other[same]
            found[name] = there
        return found

    def joined(self, pattern: Pattern, rows: Rows) -> Dataset:
        """Long records of groups that stand alike."""
        top, low = self.linked.levels
        starts = self.linked.starts(low.name)[rows]
        columns = [column.taken(rows) for column in top.data]
        for place in range(pattern.members):
            for column in low.data:
                taken = column.taken(starts + place)
                name = name_of(column.name, place)
                columns.append(replace(taken, variable=replace(taken.variable, name=name)))
        return Dataset(tuple(columns))

    def _written_out(self, edit: Edit, pattern: Pattern) -> list[Edit]:
        """Edit on long records; with pointers as they stand where it would have too many cases otherwise."""
        try:
            return list(written_out(edit, self.bound, pattern))
        except Unsaid:
            return list(written_out(edit, self.bound, replace(pattern, keys=())))

    def rules(self, pattern: Pattern) -> EditSet:
        """All edits on these long records.

        Raises
        ------
        Unsaid
            One of them cannot be written out; its message says which.
        """
        found: list[Edit] = []
        for level in self.linked:
            structure = {each.name for each in self.bound.columns[level.name] if isinstance(each, StructureColumn)}
            for edit in self.bound.edits[level.name]:
                if edit.severity != "error" or structure & set(edit.variables):
                    continue
                plain = replace(edit, expression=self.bound.plain.get(edit.name, edit.expression))
                try:
                    found += self._written_out(plain, pattern)
                except Unsaid:
                    raise Unsaid(f"edit {edit.name} cannot be written out for {pattern.members} members") from None
        return EditSet(tuple(found)) + _pointing(pattern)


def _literals(column: Column) -> Callable[[int], Number | Text]:
    """Values of a column as rules write them."""
    if column.variable.is_numeric:
        return lambda row: Number(Fraction(repr(float(column.values[row]))))
    return lambda row: Text(column.variable.categories[int(column.values[row])])


def _pointing(pattern: Pattern) -> EditSet:
    """Edits that pointers name nobody, or another member."""
    items = []
    for pointer in pattern.pointers:
        for place in range(pattern.members):
            named = pattern.nameable(pointer, place).values()
            nobody: Number | Text = Text("0") if isinstance(pattern.keys[0], Text) else Number(Fraction(0))
            rule = InSet(VariableReference(name_of(pointer, place)), (nobody, *named))
            items.append({"rule": rule_text(rule), "name": f"pointer: {name_of(pointer, place)}"})
    return EditSet.parse(items)
