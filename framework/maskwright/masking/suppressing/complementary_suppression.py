"""Complementary suppression: cells that edits would make derivable, and cells suppressed in all records alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Generic

import numpy as np

from maskwright.data.dependencies import ValueCodes, dense
from maskwright.disclosure.attacks.equation import Derivation, Given, reached
from maskwright.disclosure.cells import CellMasks, Key, with_any
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.reasoning.answers import Value
    from maskwright.foundation.arrays import Booleans, Integers


MOST_DONORS = 30
"""Records whose cells are tried in another record, and records in which they are."""

MOST_WORLDS = 200
"""Cells that are tried for the records in which the same cells are suppressed; then a cell counts as disclosed."""


ALMOST_DONE = 0.99
"""Share of the work beyond which nothing is said before it ends."""


@dataclass(frozen=True)
class Complement(Generic[Key]):
    """What was suppressed besides, by variable, or by level and variable.

    `cells`: cells suppressed besides; shape (n,). `known`: cells that follow from the edits alone, whatever is
    suppressed, or from cells that are empty and would not look otherwise if they were suppressed. `undecided`: cells of
    which it was neither shown that they follow nor that they do not. `disclosed`: cells that follow from what is empty
    beside them: of no other record, and of no other value, that would be; shape (n,). `given_up`: variables of which
    cells are undecided because the search for one record has a limit.
    """

    cells: Mapping[Key, Booleans] = field(default_factory=dict)
    known: Mapping[Key, int] = field(default_factory=dict)
    undecided: Mapping[Key, int] = field(default_factory=dict)
    disclosed: Mapping[Key, Booleans] = field(default_factory=dict)
    given_up: frozenset[Key] = frozenset()


def complement(
    shown: Dataset,
    hidden: CellMasks,
    edits: Sequence[Edit],
    *,
    domain: Domain | None = None,
    last: Collection[str] = (),
    never: Collection[str] = (),
    progress: Progress = silent,
) -> Complement[str]:
    """Choose cells to suppress besides, so that no suppressed cell follows from published cells and edits.

    Greedy, record by record: of the published cells that give a suppressed one away, the one goes that leaves fewest
    suppressed cells known; of equals one that is not in `last`, then the one that fewest edits read, then the first of
    the file. In the end, cells that turn out to be superfluous are published again. What goes for one record goes for
    all with the same suppressed cells: see `UniformSuppression`.

    `shown`: the records as they would be published without suppression. `hidden`: suppressed cells; shape (n,).
    `edits`: that every published record obeys. `last`: variables to suppress only where no other does: keys. `never`:
    variables that are not suppressed: weights.

    The problem is that of tables: Fischetti and Salazar (2001), Solving the cell suppression problem on tabular data
    with linear constraints, Management Science 47(7), 1008-1027; here a record and its edits are the table.
    """
    candidates = [edit for edit in edits if edit.engine is None]
    reading = reached(with_any(hidden), candidates, lambda edit: edit.variables)
    linked = [name for name in hidden if any(name in edit.variables for edit in reading)]
    rows = np.flatnonzero(np.logical_or.reduce([hidden[name] for name in linked])) if linked else np.zeros(0, np.int64)
    if not len(rows):
        return Complement()
    derivation = Derivation(shown, rows, reading, domain)
    readers = {name: sum(name in edit.variables for edit in reading) for name in shown.names}
    cost = {name: (name in last, readers[name], place) for place, name in enumerate(shown.names)}
    cells: dict[str, Booleans] = {}
    disclosed: dict[str, Booleans] = {}
    known: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    given_up: set[str] = set()
    classes: dict[frozenset[str], list[Integers]] = {}
    for places in _equivalent_records(derivation.records, hidden, rows):
        gone = frozenset(name for name in linked if hidden[name][rows[places[0]]])
        classes.setdefault(gone, []).append(places)
    done = 0
    for gone, alike in classes.items():
        added: dict[int, frozenset[str]] = {}
        search = _Search(derivation, cost, frozenset(never), gone)
        for places in alike:
            record = int(places[0])
            derivation.renew()
            # One record of many members can take long by itself.
            derivation.tick = partial(progress, min(done / len(rows), ALMOST_DONE))
            choice = search.choose(record)
            given_up.update(choice.undecided if derivation.effort.is_spent else ())
            added[record] = frozenset(choice.added)
            known.update(dict.fromkeys(choice.known, len(places)))
            undecided.update(dict.fromkeys(choice.undecided, len(places)))
            done += len(places)
            progress(done / len(rows))
        sizes = {int(places[0]): len(places) for places in alike}
        derivation.renew(len(alike))
        derivation.tick = partial(progress, min(done / len(rows), ALMOST_DONE))
        companions = UniformSuppression(search, added, sizes)
        for places in alike:
            for name in companions.of(int(places[0])):
                cells.setdefault(name, np.zeros(len(shown), dtype=np.bool_))[rows[places]] = True
        for record, name in companions.disclosed():
            disclosed.setdefault(name, np.zeros(len(shown), dtype=np.bool_))[rows[record]] = True
    return Complement(cells, known, undecided, disclosed, frozenset(given_up))


def _equivalent_records(records: Dataset, hidden: CellMasks, rows: Integers) -> list[Integers]:
    """Records with the same values and the same cells suppressed, as positions among `rows`: they are examined once."""
    codes = ValueCodes(records)
    together = np.zeros(len(rows), dtype=np.int64)
    for name in sorted(records.names):
        gone = hidden[name][rows] if name in hidden else np.zeros(len(rows), dtype=np.bool_)
        of_cell = 2 * (codes.of(name) + 1) + gone
        together = dense((together * (2 * codes.distinct(name) + 2) + of_cell).astype(np.float64))
    order = np.argsort(together, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(together[order])) + 1)


@dataclass(frozen=True)
class _Choice:
    added: tuple[str, ...]
    known: tuple[str, ...]
    undecided: tuple[str, ...]


class _Search:
    """Choice for records with the same suppressed cells."""

    def __init__(
        self,
        derivation: Derivation,
        cost: Mapping[str, tuple[bool, int, int]],
        never: frozenset[str],
        gone: frozenset[str],
    ) -> None:
        self.derivation, self.cost, self.never, self.gone = derivation, cost, never, gone

    def choose(self, record: int) -> _Choice:
        """What goes in a record."""
        return self._chosen(lambda name, hidden: self.derivation.given(record, name, hidden), self._empty(record))

    def added_if(self, record: int, cells: dict[str, Value]) -> frozenset[str]:
        """What would go if the cells of the record were these."""
        try:
            choice = self._chosen(
                lambda name, hidden: self.derivation.given_if(record, cells, name, hidden), self._empty(record)
            )
        except InputError:
            # Such a file is refused, so that none can be it.
            return frozenset()
        return frozenset(choice.added)

    def _empty(self, record: int) -> frozenset[str]:
        return self.derivation.fixed(record) - self.gone

    def _chosen(self, given_of: Callable[[str, frozenset[str]], Given | None], empty: frozenset[str]) -> _Choice:
        def given_all(hidden: frozenset[str]) -> dict[str, Given]:
            found = {name: given_of(name, hidden) for name in sorted(hidden)}
            return {name: given for name, given in found.items() if given is not None}

        gone = self.gone
        added: list[str] = []
        hopeless: dict[str, Given] = {}
        renewed = False
        while True:
            hidden = gone.union(added)
            left = {name: given for name, given in given_all(hidden).items() if name not in hopeless}
            if not left:
                break
            name, given = next(iter(left.items()))
            candidates = sorted(given.by - self.never - empty, key=lambda each: self.cost[each])
            if candidates and given.is_open and self.derivation.effort.is_spent:
                # What is not shown to be safe goes as a whole, and is examined once more.
                added += candidates
                if not renewed:
                    self.derivation.renew()
                renewed = True
                continue
            if candidates:
                added.append(min(candidates, key=lambda each: (len(given_all(hidden | {each})), self.cost[each])))
                continue
            if given.by - empty and not given.is_open:
                raise InputError(
                    f"a suppressed cell of {name} follows from {', '.join(sorted(given.by))}, which is not suppressed: "
                    "leave that variable out of the file, or choose other keys"
                )
            hopeless[name] = given
        for name in () if renewed else sorted(added, key=lambda each: self.cost[each], reverse=True):
            fewer = gone.union(added) - {name}
            if all(each in hopeless and not given.by - empty for each, given in given_all(fewer).items()):
                added.remove(name)
        left = given_all(gone.union(added))
        return _Choice(
            tuple(added),
            tuple(name for name, given in left.items() if not given.is_open),
            tuple(name for name, given in left.items() if given.is_open),
        )


class UniformSuppression:
    """What goes in the records in which the same cells are suppressed.

    A cell that has to go in one of them goes in all, but where it follows from what is left: that depends on published
    cells only, so that it discloses nothing. What could be disclosed is that some record has needed it; of one record
    this says nothing where another may be the one, or where other values need it too.

    `added`: what has to go besides, by one record of each class of records that are alike. `sizes`: of these classes.
    """

    def __init__(self, search: _Search, added: Mapping[int, frozenset[str]], sizes: Mapping[int, int]) -> None:
        self._search, self._derivation, self._gone = search, search.derivation, search.gone
        self._added, self._sizes = added, sizes
        self._worlds_left = MOST_WORLDS

    @cached_property
    def _names(self) -> frozenset[str]:
        """Those that go, without what is superfluous once the others go everywhere."""
        names = frozenset[str]().union(*self._added.values())
        for name in sorted(names, key=self._search.cost.__getitem__, reverse=True):
            if not any(self._needs(record, name, names) for record in self._added):
                names -= {name}
        return names

    def of(self, record: int) -> frozenset[str]:
        """Return what goes in a record, and in those that are like it."""
        everything = self._gone | self._names
        return frozenset(
            name
            for name in self._names - self._derivation.fixed(record)
            if name in self._added[record] or self._derivation.given(record, name, everything) is None
        )

    def disclosed(self) -> Iterator[tuple[int, str]]:
        """Suppressed cells that follow from what is empty beside them: of which record, and of which variable."""
        found: dict[tuple[int, str], None] = {}
        for companion in sorted(self._names):
            needing = self._first_needing(companion)
            if len(needing) == 1 and not self._another_record(needing[0], companion):
                found |= {
                    (needing[0], name): None
                    for name in sorted(self._gone)
                    if self._derivation.value(needing[0], name) is not None
                    and not self._another_value(needing[0], name, companion)
                }
        yield from found

    def _first_needing(self, companion: str) -> list[int]:
        """One record or two that need a cell to go."""
        found: list[int] = []
        for record, size in self._sizes.items():
            if self._needs(record, companion, self._names):
                found += [record] * size
                if len(found) > 1:
                    break
        return found

    def _another_record(self, record: int, companion: str) -> bool:
        """Whether a cell may have gone for what another record has."""
        others = [each for each in self._added if each != record][:MOST_DONORS]
        return self._sizes[record] > 1 or any(
            self._takes(other, companion, world)
            for other in others
            for world in self._derivation.worlds(other, self._gone | self._names, [record])
        )

    def _another_value(self, record: int, name: str, companion: str) -> bool:
        """Whether a cell may have gone for another value of a variable of the record."""
        hidden = self._gone | self._names
        donors = [each for each in range(len(self._derivation.records)) if each != record][:MOST_DONORS]
        own = self._derivation.value(record, name)
        return any(
            world.get(name) != own and self._takes(record, companion, world)
            for world in self._derivation.worlds(record, hidden, donors, name)
        )

    def _takes(self, record: int, companion: str, world: dict[str, Value]) -> bool:
        """Whether the same cells would go for these."""
        self._worlds_left -= 1
        if self._worlds_left < 0:
            return False
        added = self._search.added_if(record, world)
        return companion in added and added <= self._names

    def _needs(self, record: int, companion: str, names: frozenset[str]) -> bool:
        """Whether a suppressed cell would follow if this companion stayed."""
        hidden = self._gone.union(names) - {companion}
        hidden -= self._derivation.fixed(record) - self._gone
        candidates = (self._derivation.given(record, name, hidden) for name in sorted(hidden))
        return any(given is not None and companion in given.by for given in candidates)
