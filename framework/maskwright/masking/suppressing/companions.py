"""Cells that go with suppressed ones, emptied in all records alike: which are empty then says nothing of the values.

Where ``rent`` went only beside those suppressed ``tenure`` cells that it gives away, an empty ``rent`` would say what
it was to hide: whoever knows the program, the edits and the file asks for which values it takes a cell away.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from maskwright.edits.reasoning.answers import Value
    from maskwright.masking.suppressing.derivable import Derivation

MOST_DONORS = 30
"""Records whose cells are tried in another record, and records in which they are."""

MOST_WORLDS = 200
"""Cells that are tried for the records in which the same cells are suppressed; then a cell counts as told."""


class Companions:
    """What goes in the records in which the same cells are suppressed.

    A cell that has to go in one of them goes in all, but where it follows from what is left: that is asked of
    published cells only, so that anybody knows the answer. What could be told is that some record has needed it; of
    one record this says nothing where another may be the one, or where other values need it too.

    `gone`: suppressed variables of these records. `added`: what has to go besides, by one record of each class of
    records that are alike. `cost`: what is better kept has more. `added_if`: what would have to go for other cells of a
    record.
    """

    def __init__(
        self,
        derivation: Derivation,
        gone: frozenset[str],
        added: Mapping[int, frozenset[str]],
        sizes: Mapping[int, int],
        cost: Mapping[str, tuple[bool, int, int]],
        added_if: Callable[[int, dict[str, Value]], frozenset[str]],
    ) -> None:
        self._derivation, self._gone = derivation, gone
        self._added, self._sizes, self._cost, self._added_if = added, sizes, cost, added_if
        self._worlds_left = MOST_WORLDS

    @cached_property
    def _names(self) -> frozenset[str]:
        """Those that go, without what is superfluous once the others go everywhere."""
        names = frozenset[str]().union(*self._added.values())
        for name in sorted(names, key=self._cost.__getitem__, reverse=True):
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

    def told(self) -> Iterator[tuple[int, str]]:
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
        added = self._added_if(record, world)
        return companion in added and added <= self._names

    def _needs(self, record: int, companion: str, names: frozenset[str]) -> bool:
        """Whether a suppressed cell would follow if this companion stayed."""
        hidden = self._gone.union(names) - {companion}
        hidden -= self._derivation.fixed(record) - self._gone
        asked = (self._derivation.given(record, name, hidden) for name in sorted(hidden))
        return any(given is not None and companion in given.by for given in asked)
