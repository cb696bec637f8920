"""Inference by dependencies: suppressed cells derivable from other records, by which paths, and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import CERTAINTY, Dependencies, Dependency, Spanning
from maskwright.disclosure.attacks.similar_records import CERTAIN, SimilarRecords
from maskwright.disclosure.attacks.single_values import FEWEST_EQUIVALENT, MAJORITY, SingleValues, majority_values
from maskwright.disclosure.cells import CellMasks, joined_cells, with_any
from maskwright.disclosure.decision import ALL, certain_cells
from maskwright.foundation.arrays import Booleans
from maskwright.foundation.counts import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Integers


DEPENDENCY, POSITION, GROUP, EMPTINESS = "dependency", "position", "group", "emptiness"
"""Attacks for which cells go: equal records, near ones, members of a household, cells that are empty together."""


@dataclass(frozen=True)
class InferencePath:
    """How suppressed cells of a variable are inferred.

    `off`: in words that follow "inferred from". `without`: variables each of which ends it if it is left out of the
    release; empty where none does: a group has as many members as it has. `attack`: that finds it.
    """

    off: str
    without: tuple[str, ...] = ()
    attack: str = DEPENDENCY


CellsByWay = Mapping[InferencePath, Booleans]
"""Suppressed cells by how they are inferred; shape (n,)."""


def describe_paths(ways: CellsByWay, total: int) -> str:
    """How many of the suppressed cells can be inferred, and from what; there is at least one way."""
    known: Booleans | np.bool_ = np.False_
    disclosed = {}
    for way, cells in ways.items():
        # One way is enough to know a cell.
        if np.any(cells & ~known):
            disclosed[way] = cells
            known = known | cells
    count = int(np.sum(known))
    if len(disclosed) == 1:
        (way,) = disclosed
        return f"{count} of {total} suppressed cells can be inferred from {way.off}"
    each = "; ".join(f"{int(cells.sum())} off {way.off}" for way, cells in disclosed.items())
    return f"{count} of {total} suppressed cells can be inferred from what is published: {each}"


def remedy_of_paths(name: str, ways: CellsByWay, *, is_key: bool) -> str:
    """What ends it: of the variable itself, or of those that give it away."""
    own = remedy_of_variable(name, is_key=is_key)
    if not all(way.without for way in ways):
        return f"{own}."
    # One variable of each way: that several ways have in common first.
    left = list(ways)
    named: list[str] = []
    while left:
        names = dict.fromkeys(each for way in left for each in way.without)
        best = max(names, key=lambda each: sum(each in way.without for way in left))
        named.append(best)
        left = [way for way in left if best not in way.without]
    them = "it" if len(named) == 1 else "them"
    return f"{own}; or publish without {listed(named)}, and without edits that read {them}."


def remedy_of_variable(name: str, *, is_key: bool) -> str:
    """What ends any reading of a variable's suppressed cells: none of them are suppressed, or none are published."""
    if is_key:
        return f"Recode {name} instead of suppressing it (leave it out of the keys of the step)"
    return (
        f"{name} is no key, and its cells are complementary suppressions: leave it out of the release, and edits that "
        "read it"
    )


@dataclass(frozen=True)
class InferableCells:
    """What dependencies in the data require.

    `cells`: cells suppressed besides; shape (n,). `left`: suppressed cells that can be inferred from all the same: what
    gives them away is not suppressed; shape (n,). `by`: the same cells by what they are inferred from; shape (n,).
    `disclosed`: suppressed cells that follow from what is empty with them; shape (n,). `by_attack`: the cells of a
    variable that go because an attack would read others off them; shape (n,).
    """

    cells: CellMasks = field(default_factory=dict)
    left: CellMasks = field(default_factory=dict)
    by: Mapping[str, CellsByWay] = field(default_factory=dict)
    by_attack: Mapping[tuple[str, str], Booleans] = field(default_factory=dict)
    disclosed: CellMasks = field(default_factory=dict)


class Reader:
    """Inference of suppressed cells from the other records of a file.

    `shown`: the records as they would be published without suppression. `last`: variables to suppress only where no
    other does: keys. `never`: variables that are not suppressed: weights. `homes`: those that name the household;
    they are not suppressed either. `importance`: of two variables that could be, the less important one is.
    `spanning`: where these are records of two levels joined: what is examined, and who bears witness.
    """

    def __init__(
        self,
        shown: Dataset,
        columns: Sequence[str],
        last: Collection[str] = (),
        never: Collection[str] = (),
        homes: Collection[str] = (),
        spanning: Spanning | None = None,
        certainty: float = CERTAINTY,
        importance: Mapping[str, float] | None = None,
    ) -> None:
        self._spanning, self._certainty, self._importance = spanning, certainty, importance or {}
        self._dependencies = Dependencies(shown, columns, spanning)
        self._singles = SingleValues(shown, columns, self._dependencies.codes, spanning, certainty)
        codes = self._dependencies.codes
        self._similar = None if spanning else SimilarRecords(shown, columns, codes, certainty=certainty)
        self._homes = frozenset(homes)
        # Variables, and their complementary ones, by what gives them away.
        self._complements: dict[tuple[str, str], dict[tuple[str, ...], None]] = {}
        self._went: dict[tuple[str, str], Booleans] = {}
        self._last = last
        self._never = frozenset(never).union(self._homes)
        self._n = len(shown)

    def complement(self, hidden: CellMasks) -> InferableCells:
        """Choose cells to suppress besides, so that no suppressed cell can be inferred from other records.

        Of a record whose cell can be inferred, the cell that gives it away goes; where that names the household, which
        stays, the same variable goes in the rows of all members. What goes with some suppressed cells of a
        variable goes with all, or it would say which value they had.
        """
        gone: dict[str, Booleans] = {name: cells.copy() for name, cells in hidden.items() if cells.any()}
        kept: dict[str, Booleans] = {}
        self._complements, self._went = {}, {}
        while True:
            self._protect(gone)
            more = self._alike(gone, kept)
            if not more:
                break
            gone = joined_cells(gone, more)
            self._count(more, EMPTINESS)
        cells = with_any({name: found & ~hidden.get(name, np.False_) for name, found in gone.items()})
        went = {key: each & cells[key[0]] for key, each in self._went.items() if key[0] in cells}
        return replace(self.left(gone), cells=cells, disclosed=self._disclosed(gone), by_attack=with_any(went))

    def _count(self, cells: CellMasks, attack: str) -> None:
        """Note for which attack cells go: the first that needs them."""
        for name, found in cells.items():
            before = [each for (of, _), each in self._went.items() if of == name]
            new = np.logical_and.reduce([found, *(~each for each in before)])
            self._went[name, attack] = self._went.get((name, attack), np.False_) | new

    def _protect(self, gone: dict[str, Booleans]) -> None:
        growing = True
        while growing:
            growing = False
            for name in list(gone):
                for dependency in self._dependencies.of(name):
                    growing |= self._protected(dependency, gone)
                growing |= self._protected_from_values(name, gone)

    def _alike(self, gone: CellMasks, kept: dict[str, Booleans]) -> dict[str, Booleans]:
        """Cells that go with all suppressed cells of a variable where they went with some.

        What could be inferred all the same is kept: that is visible to all.
        """
        more: dict[str, Booleans] = {}
        for name, other in self._complements:
            found = gone[name] if self._spanning is None else self._spanning.whole(other, gone[name])
            found = found & ~self._singles.unchanged_by_suppression((other,))
            found = found & ~(gone[other] | kept.get(other, np.False_))
            if found.any():
                more[other] = more.get(other, np.False_) | found
        for name, found in self.left(joined_cells(gone, more), tuple(more)).left.items():
            kept[name] = kept.get(name, np.False_) | (found & more[name])
            more[name] = more[name] & ~kept[name]
        return with_any(more)

    def _disclosed(self, gone: CellMasks) -> dict[str, Booleans]:
        """The only suppressed cell of a variable with which another went, if that goes for one value only."""
        disclosed: dict[str, Booleans] = {}
        for (name, other), given in self._complements.items():
            both = gone[name] & gone[other]
            cells = int(both.sum()) if self._spanning is None else self._spanning.cells(name, both)
            if cells == 1 and self._values_shown(name, given, gone) < 2:
                disclosed[name] = disclosed.get(name, np.False_) | both
        return disclosed

    def _values_shown(self, name: str, given: Collection[tuple[str, ...]], gone: CellMasks) -> int:
        """How many values of a variable published records show, by values of the others."""
        found: set[int] = set()
        codes = self._dependencies.codes
        for names in given:
            values, others = codes.of(name), codes.together(names)
            seen = (values >= 0) & (others >= 0)
            for each in (name, *names):
                seen &= ~gone.get(each, np.False_)
            width = int(values.max(initial=0)) + 1
            pairs, counts = np.unique(others[seen] * width + values[seen], return_counts=True)
            sizes = np.bincount(others[seen], minlength=int(others.max(initial=0)) + 1)[pairs // width]
            sure = (counts >= CERTAIN * sizes) & (sizes >= FEWEST_EQUIVALENT)
            found.update((pairs[sure] % width).tolist())
        return len(found)

    def left(self, hidden: CellMasks, names: Collection[str] | None = None) -> InferableCells:
        """Suppressed cells that can be inferred from as things are; no further cells are suppressed."""
        left: dict[str, Booleans] = {}
        by: dict[str, CellsByWay] = {}
        for name, cells in hidden.items():
            if names is not None and name not in names:
                continue
            for dependency in self._dependencies.of(name) if cells.any() else ():
                follows = self._follows(dependency, hidden)
                if follows.any():
                    left[name] = left.get(name, np.False_) | follows
                    way = self._way(dependency.given, by_count=dependency.by_count)
                    by[name] = joined_cells(by.get(name, {}), {way: follows})
            for way, _, rows in self._known_by_values(name, hidden) if cells.any() else ():
                shown = np.zeros(self._n, dtype=np.bool_)
                shown[rows] = True
                before = left.get(name, np.False_)
                # What is known already is not repeated for every other value that discloses it.
                if (shown & ~before).any():
                    by[name] = joined_cells(by.get(name, {}), {way: shown})
                    left[name] = before | shown
        return InferableCells({}, left, by)

    def _known_by_values(
        self, name: str, hidden: CellMasks
    ) -> Iterator[tuple[InferencePath, tuple[str, ...], Integers]]:
        """What gives suppressed cells of a variable away by single values, and of which records; one after another."""
        for size in (1, 2):
            for given in self._singles.given(name, size):
                yield self._way(given), given, self._singles.disclosing_records(name, given, hidden)
        if self._similar is None:
            return
        for similarity in self._similar.of(name):
            rows = self._similar.certain_records(name, similarity, hidden)
            off = f"other records: those that {similarity} show one value"
            attack = POSITION if similarity.near else DEPENDENCY
            yield InferencePath(off, similarity.given, attack), similarity.given, rows

    def _in_order(self, name: str, given: tuple[str, ...], rows: Integers, gone: CellMasks) -> list[str]:
        """Variables that may lose cells of these records, the first to lose them first.

        One that adds nothing to what the others show comes last, then by importance; of those alike one that lost
        cells for the same variable.
        """

        def cost(one: str) -> tuple[bool, float, bool, bool]:
            superfluous = self._singles.is_superfluous(name, one, given, rows, gone)
            is_new = (name, one) not in self._complements
            return superfluous, self._importance.get(one, 1.0), one in self._last, is_new

        return sorted((each for each in given if each not in self._never), key=cost)

    def _way(self, given: tuple[str, ...], *, by_count: bool = False) -> InferencePath:
        said, ends = ({}, {}) if self._spanning is None else (self._spanning.said, self._spanning.ends)
        names = [said.get(name, name) for name in given]
        equal = f"the number of records with the same {' and '.join(names)}" if by_count else " and ".join(names)
        without = tuple(dict.fromkeys(each for name in given if (each := ends.get(name, name))))
        return InferencePath(f"other records: those that agree in {equal} show one value", without)

    def _protected(self, dependency: Dependency, gone: dict[str, Booleans]) -> bool:
        """Suppress what gives cells away by a dependency; whether there was anything to suppress."""
        follows = self._follows(dependency, gone)
        if len(dependency.given) == 1 and not dependency.by_count:
            follows |= self._of_unpublished_codes(dependency, gone)
        if not follows.any():
            return False
        free = self._in_order(dependency.name, dependency.given, np.flatnonzero(follows), gone)
        if free:
            name = free[0]
            gone[name] = gone.get(name, np.False_) | follows
            self._count({name: follows}, DEPENDENCY)
            self._complements.setdefault((dependency.name, name), {})[dependency.given] = None
            return True
        if dependency.by_count or not set(dependency.given) <= self._homes:
            return False
        codes = self._dependencies.codes.together(dependency.given)
        members = np.isin(codes, codes[follows])
        self._count({dependency.name: members}, GROUP)
        gone[dependency.name] = gone[dependency.name] | members
        return True

    def _of_unpublished_codes(self, dependency: Dependency, gone: dict[str, Booleans]) -> Booleans:
        """Suppressed cells of records with a code that no published cell explains: who knows the codes reads them."""
        (other,) = dependency.given
        codes, hidden = self._dependencies.codes, gone[dependency.name]
        unexplained = np.zeros(self._n, dtype=np.bool_)
        if other in self._homes or other in self._never:
            return unexplained
        values, given = codes.of(dependency.name), codes.of(other)
        there = (given >= 0) & (values >= 0) & ~gone.get(other, np.False_)
        explained = np.zeros(codes.distinct(other), dtype=np.bool_)
        explained[given[there & ~hidden]] = True
        unexplained[there & hidden] = ~explained[given[there & hidden]]
        return unexplained & ~self._singles.unchanged_by_suppression((other,))

    def _protected_from_values(self, name: str, gone: dict[str, Booleans]) -> bool:
        """Suppress single values that give cells away, then pairs; whether there was anything to suppress."""
        changed = False
        lost = np.zeros(self._n, dtype=np.bool_)
        for way, given, known in self._known_by_values(name, gone):
            rows = known
            if len(given) == 1 and given[0] not in self._never:
                rows = np.union1d(rows, self._singles.unexplained(name, given[0], gone))
            # Where one value gives the cell away for good, suppressing another is of no use.
            rows = rows[~lost[rows]]
            for one in self._in_order(name, given, rows, gone) if len(rows) else ():
                # A cell that is suppressed already may read as an empty one, and that gives another away.
                spent = self._singles.unchanged_by_suppression((one,)) | gone.get(one, np.False_)
                able = rows[~spent[rows]]
                if len(able):
                    gone[one] = gone.get(one, np.zeros(self._n, dtype=np.bool_)).copy()
                    gone[one][able] = True
                    self._count({one: np.isin(np.arange(self._n), able)}, way.attack)
                    self._complements.setdefault((name, one), {})[given] = None
                    changed = True
                rows = np.setdiff1d(rows, able, assume_unique=True)
            if len(rows) and set(given) <= self._homes:
                homes = self._dependencies.codes.together(given)
                more = np.isin(homes, homes[rows]) & ~gone[name]
                gone[name] = gone[name] | more
                self._count({name: more}, GROUP)
                changed |= bool(more.any())
            lost[rows] = True
        return changed

    def _follows(self, dependency: Dependency, gone: CellMasks) -> Booleans:
        """Suppressed cells that other records show: nearly all that are equal in what determines it; shape (n,)."""
        codes = self._dependencies.codes
        values, hidden = codes.of(dependency.name), gone[dependency.name]
        given = codes.together(dependency.given)
        for name in dependency.given:
            given = np.where(gone[name], -1, given) if name in gone else given
        if dependency.by_count:
            counts = np.bincount(given[given >= 0], minlength=1)
            given = np.where(given >= 0, counts[given], -1)
        candidates = hidden & (given >= 0) & (values >= 0)
        if not candidates.any():
            return candidates
        published = ~hidden & (given >= 0) & (values >= 0)
        numbers = codes.numbers(dependency.name) if dependency.by_count else np.full(self._n, np.nan)
        if published.any() and np.mean(numbers[published] == given[published]) >= CERTAINTY:
            # The size of a household is the number of its records, also where no published one has as many.
            known = np.isfinite(numbers) & (values >= 0)
            sizes, first = np.unique(numbers[known], return_index=True)
            place = np.clip(np.searchsorted(sizes, given), 0, len(sizes) - 1)
            code = np.where(sizes[place] == given, values[known][first][place], codes.distinct(dependency.name))
            named = np.where(given < 0, -1, code)
        else:
            share = MAJORITY if dependency.by_count else CERTAIN
            classes = np.zeros(int(given.max()) + 1, dtype=np.bool_)
            classes[given[candidates]] = True
            named = majority_values(given, values, published & classes[given], share)
        shown = np.where(hidden, -1, values)
        certain = certain_cells(named, values, shown, (ALL,), certainty=self._certainty)
        return np.asarray(certain & (named == values))
