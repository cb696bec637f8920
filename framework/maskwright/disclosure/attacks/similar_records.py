"""What the other published records say of a cell: those equal to its record, and those nearest to it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright.data.code_parts import CodePart, CodeParts
from maskwright.data.dependencies import BY_CHANCE, CERTAINTY, ValueCodes
from maskwright.disclosure.attacks.record_order import in_runs, rules_of_neighbours
from maskwright.disclosure.decision import LEVEL, certain_cells, claims_of, relations
from maskwright.plugins.attack import Attack, Inference, Published

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.disclosure.cells import CellMasks
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.foundation.no_params import NoParams


CERTAIN = 0.95
"""Share of the published records with the same values that show the value of a suppressed cell when it is known."""

FEWEST_OTHERS = 3
"""Other published records that have to be there."""

NEAREST = 4
"""Published records nearest to one that have to agree."""

MOST_NEAR = 20_000
"""Published records among which the nearest in two variables are searched."""


def majorities(seen: Integers, cells: Integers, values: int, width: int) -> tuple[Integers, Integers, Integers]:
    """For each code: its records, how many have its most frequent cell, and which that is; shape (values,)."""
    sizes = np.bincount(seen, minlength=values)
    if values * width <= 4 * len(seen) + 1_000_000:
        table = np.bincount(seen * width + cells, minlength=values * width).reshape(values, width)
        value = table.argmax(axis=1)
        return sizes, table[np.arange(values), value], value
    pairs, counts = np.unique(seen * width + cells, return_counts=True)
    most, value = np.zeros(values, dtype=np.int64), np.zeros(values, dtype=np.int64)
    # The last one written stays: that with the most records.
    order = np.argsort(counts, kind="stable")
    most[pairs[order] // width], value[pairs[order] // width] = counts[order], pairs[order] % width
    return sizes, most, value


def shown_by_equal(given: Integers, cells: Integers, hidden: Booleans, fewest: int = FEWEST_OTHERS) -> Integers:
    """What nearly all other published records with the same `given` have; -1: nothing, or too few; shape (n,).

    `given`, `cells`: codes 0, 1, ..., -1 where missing or not published; a published cell is left out of those that
    show it; shape (n,). `fewest`: other published records that have to be there.
    """
    there = (given >= 0) & (cells >= 0) & ~hidden
    named = np.full(len(cells), -1, dtype=np.int64)
    if not there.any():
        return named
    values, width = int(given.max()) + 1, int(cells.max()) + 1
    sizes, most, value = majorities(given[there], cells[there], values, width)
    wanted = np.flatnonzero(given >= 0)
    known, classes = there[wanted], given[wanted]
    others = sizes[classes] - known
    alike = most[classes] - (known & (cells[wanted] == value[classes]))
    enough = (others >= fewest) & (alike >= CERTAIN * others)
    named[wanted[enough]] = value[classes[enough]]
    return named


def shown_by_nearest(place: Floats, cells: Integers, hidden: Booleans, order: Integers) -> Integers:
    """What the published records next to each in one variable have, where they agree; -1: nothing; shape (n,).

    `place`: NaN where missing or not published; shape (n,). `order`: records by their places; shape (n,).
    """
    named = np.full(len(cells), -1, dtype=np.int64)
    order = order[(np.isfinite(place) & (cells >= 0) & ~hidden)[order]]
    if len(order) <= NEAREST:
        return named
    found = cells[order]
    half = NEAREST // 2
    # Of a published record as many on either side, at the ends none.
    before, after = found[: -2 * half], found[2 * half :]
    agree = before == after
    for shift in (*range(1, half), *range(half + 1, 2 * half)):
        agree &= found[shift : len(found) - 2 * half + shift] == before
    named[order[half:-half]] = np.where(agree, before, -1)
    wanted = np.flatnonzero(np.isfinite(place) & hidden)
    starts = np.clip(np.searchsorted(place[order], place[wanted]) - half, 0, len(order) - NEAREST)
    nearest = found[starts[:, None] + np.arange(NEAREST)]
    named[wanted] = np.where((nearest == nearest[:, :1]).all(axis=1), nearest[:, 0], -1)
    return named


def shown_by_nearest_of_two(places: tuple[Floats, Floats], cells: Integers, hidden: Booleans) -> Integers:
    """The same in two variables, each in units of its spread; of published records some; shape (n,)."""
    from scipy.spatial import KDTree  # heavy

    named = np.full(len(cells), -1, dtype=np.int64)
    known = np.isfinite(places[0]) & np.isfinite(places[1])
    there = np.flatnonzero(known & (cells >= 0) & ~hidden)
    if len(there) <= NEAREST:
        return named
    there = there[np.linspace(0, len(there) - 1, min(len(there), MOST_NEAR)).astype(np.int64)]
    points = np.column_stack([each / (float(np.std(each[there])) or 1.0) for each in places])
    tree, found = KDTree(points[there]), cells[there]
    nearest = np.asarray(tree.query(points[there], NEAREST + 1)[1])
    itself = nearest == np.arange(len(there))[:, None]
    # Of many records in one place the record itself may not be among the nearest.
    itself[~itself.any(axis=1), -1] = True
    others = found[nearest[~itself].reshape(len(there), NEAREST)]
    named[there] = np.where((others == others[:, :1]).all(axis=1), others[:, 0], -1)
    wanted = np.flatnonzero(known & hidden)
    if len(wanted):
        others = found[np.asarray(tree.query(points[wanted], NEAREST)[1])]
        named[wanted] = np.where((others == others[:, :1]).all(axis=1), others[:, 0], -1)
    return named


def shown_by_interval(place: Floats, cells: Integers, hidden: Booleans, certainty: float) -> Integers:
    """What all published records of an interval have, if they are enough for that; -1: nothing; shape (n,).

    They are if the lower bound on the share that has it is at least `certainty`, corrected for the intervals that are
    tried, and if it is not by chance. The first interval and the last one have no end.

    `place`: NaN where missing or not published; shape (n,).
    """
    named = np.full(len(cells), -1, dtype=np.int64)
    there = np.isfinite(place) & (cells >= 0) & ~hidden
    if not there.any():
        return named
    places, at = np.unique(place[there], return_inverse=True)
    sizes, most, value = majorities(at, cells[there], len(places), int(cells.max()) + 1)
    value = np.where(most == sizes, value, -1)
    first = np.flatnonzero(np.diff(value, prepend=-2))
    records, shown = np.add.reduceat(sizes, first), value[first]
    tests = int(np.sum(shown >= 0))
    shares = np.bincount(cells[there]) / int(there.sum())
    is_sure = records * np.log(certainty) <= math.log(LEVEL / max(tests, 1))
    share = np.where(shown >= 0, shares[shown], 1.0)
    is_no_chance = records * np.log(share) < -math.log(BY_CHANCE * max(tests, 1))
    shown = np.where(is_sure & is_no_chance, shown, -1)
    # Between two intervals nothing is shown.
    last = np.append(first[1:], len(places)) - 1
    wanted = np.flatnonzero(np.isfinite(place))
    run = np.maximum(np.searchsorted(places[first], place[wanted], side="right") - 1, 0)
    inside = (place[wanted] <= places[last][run]) | (run == len(first) - 1)
    named[wanted] = np.where(inside, shown[run], -1)
    return named


FEWEST_ORDERED = 20
"""Different values of a variable from which records near in it say something, and not only equal ones."""

MOST_PAIRED = 6
"""Numbers of which pairs are places: coordinates are among those with the most values."""


@dataclass(frozen=True)
class Similarity:
    """In which variables records are similar: equal in one, near in one or in two, or in one interval of one.

    `part`: of the code, that is equal.
    """

    given: tuple[str, ...]
    near: bool = False
    interval: bool = False
    part: CodePart | None = None

    def __str__(self) -> str:
        names = " and ".join(self.given)
        if self.part is not None:
            return f"agree in {self.part} of {names}"
        if self.interval:
            return f"lie in one interval of {names}"
        return f"are nearest in {names}" if self.near else f"agree in {names}"


class SimilarRecords:
    """What records that are similar in variables of a file show, few of each value, all of them together.

    `shown`: the records as they would be published without suppression. `paired`: variables of which pairs are examined
    as well, those with the fewest values.
    """

    def __init__(
        self,
        shown: Dataset,
        columns: Sequence[str],
        codes: ValueCodes,
        paired: int = 0,
        certainty: float = CERTAINTY,
    ) -> None:
        self._certainty = certainty
        self._shown, self._columns, self._codes = shown, tuple(columns), codes
        self._places: dict[str, Floats] = {}
        self._orders: dict[str, Integers] = {}
        self._related: dict[tuple[str, Similarity], Integers] = {}
        self._of: dict[str, tuple[Similarity, ...]] = {}
        self._parts = {name: CodeParts(shown, name, codes) for name in self._columns}
        self._similarities = (*self._tried(), *self._pairs(paired))

    def of(self, name: str) -> tuple[Similarity, ...]:
        """Similarities that are examined for a variable."""
        if name not in self._of:
            tried = (each for each in self._similarities if name not in each.given)
            self._of[name] = (*tried, *self._of_parts(name))
        return self._of[name]

    def _of_parts(self, name: str) -> Iterator[Similarity]:
        """Of parts of codes those that say something of a variable in a sample, wider ones only if they say more."""
        for other, parts in self._parts.items():
            held: dict[CodePart, int] = {}
            for part in parts.tried if other != name else ():
                right = self._right_in_sample(name, other, part)
                if right > max((held[each] for each in held if part.has(each)), default=0):
                    held[part] = right
                    yield Similarity((other,), part=part)

    def certain_records(self, name: str, similarity: Similarity, hidden: CellMasks) -> Integers:
        """Records whose suppressed cell is known by similar ones, rightly, as positions, ascending."""
        own, families = self._codes.of(name), self._families(name)
        key = (name, similarity)
        if key not in self._related:
            nothing = np.zeros(len(own), dtype=np.bool_)
            complete = self.named(name, similarity, {name: nothing})
            self._related[key] = relations(claims_of(complete, own, own), families, self._certainty)
        if not len(self._related[key]):
            return np.zeros(0, dtype=np.int64)
        named = self.named(name, similarity, hidden)
        shown = np.where(hidden[name], -1, own)
        found = certain_cells(named, own, shown, self._related[key], families, self._certainty)
        return np.flatnonzero(found & (named == own))

    def named(self, name: str, similarity: Similarity, hidden: CellMasks) -> Integers:
        """What similar records show of each cell of a variable: codes of its values, -1 for nothing; shape (n,)."""
        own, gone = self._codes.of(name), hidden[name]
        if not similarity.near:
            codes = self._together(similarity)
            for other in similarity.given:
                codes = np.where(hidden[other], -1, codes) if other in hidden else codes
            return shown_by_equal(codes, own, gone)
        places = [self._place(each, hidden) for each in similarity.given]
        if similarity.interval:
            return shown_by_interval(places[0], own, gone, self._certainty)
        if len(places) == 1:
            return shown_by_nearest(places[0], own, gone, self._order(*similarity.given))
        return shown_by_nearest_of_two((places[0], places[1]), own, gone)

    def _families(self, name: str) -> int:
        parts = sum(len(each.tried) for each in self._parts.values())
        return (len(self._similarities) + parts) * (1 + self._codes.distinct(name))

    def _together(self, similarity: Similarity) -> Integers:
        if similarity.part is None:
            return self._codes.together(similarity.given)
        return self._parts[similarity.given[0]].of(similarity.part)

    def _right_in_sample(self, name: str, code: str, part: CodePart) -> int:
        """Cells of a sample that records with the same part of a code name rightly; 0 where that is by chance."""
        rows = self._parts[code].rows
        own = self._codes.of(name)[rows]
        claims = claims_of(shown_by_equal(self._parts[code].of(part, rows), own, own < 0), own, own)
        return int(claims.seen_right[0]) if len(relations(claims, self._families(name), self._certainty)) else 0

    def _tried(self) -> list[Similarity]:
        distinct = {name: self._codes.distinct(name) for name in self._columns}
        ordered = [name for name in self._columns if distinct[name] >= FEWEST_ORDERED]
        numbers = [name for name in ordered if self._shown[name].variable.is_numeric]
        paired = sorted(numbers, key=lambda name: -distinct[name])[:MOST_PAIRED]
        return [
            *(Similarity((name,)) for name in self._columns if 1 < distinct[name] < len(self._shown)),
            *(Similarity((name,), near=True) for name in ordered),
            *(Similarity((name,), near=True, interval=True) for name in ordered),
            *(Similarity(pair, near=True) for pair in itertools.combinations(sorted(paired), 2)),
        ]

    def _pairs(self, most: int) -> Iterator[Similarity]:
        varying = [name for name in self._columns if 1 < self._codes.distinct(name) < len(self._shown)]
        for pair in itertools.combinations(sorted(varying, key=self._codes.distinct)[:most], 2):
            yield Similarity(pair)

    def _order(self, name: str) -> Integers:
        if name not in self._orders:
            self._orders[name] = np.argsort(self._places[name], kind="stable")
        return self._orders[name]

    def _place(self, name: str, hidden: CellMasks) -> Floats:
        """Numbers, and of texts their places in alphabetical order: codes of one area begin alike."""
        if name not in self._places:
            column = self._shown[name]
            values = column.values.astype(np.float64)
            if not column.variable.is_numeric:
                order = np.argsort(np.array([*column.variable.categories, ""], dtype=object)[:-1], kind="stable")
                values = np.append(np.argsort(order, kind="stable"), -1)[column.values].astype(np.float64)
            self._places[name] = np.where(column.missing, np.nan, values)
        found = self._places[name]
        return np.where(hidden[name], np.nan, found) if name in hidden else found


class DependencyParams(BaseModel, extra="forbid", frozen=True):
    """Which records are similar."""

    paired: int = Field(
        12, ge=0, description="Variables of which all pairs are tried: those with the fewest different values."
    )


def infer_by_dependencies(published: Published, params: DependencyParams) -> Iterator[Inference]:
    """What nearly all other records show that agree in one variable, in a part of its codes, or in two variables.

    Of a cell that is published, its own record is left out. At least three others have to be there, and 95 % of them
    to agree.
    """
    yield from _inferred(published, params.paired, near=False)


def infer_by_position(published: Published, params: NoParams) -> Iterator[Inference]:  # noqa: ARG001 - of every attack
    """What the nearest records show: in a number, in the first letters of a code, in two coordinates, in the file.

    In the file the records before and after, too, in the order that it has: members of households stand together.

    Of a cell that is published, its own record is left out. The four nearest have to agree; or all of an interval, and
    these have to be many: the youngest, the largest.
    """
    yield from _inferred(published, 0, near=True)
    order = np.arange(len(published.data), dtype=np.float64)
    codes = ValueCodes(published.data)
    common = in_runs(published.data, published.data.names, codes)
    for name in published.targets:
        named = shown_by_nearest(order, codes.of(name), published.data[name].missing, order.astype(np.int64))
        yield Inference(name, "records that are next to each other in the file", _values(published, name, codes, named))
        for rule, named in rules_of_neighbours(codes, name, common):
            yield Inference(name, rule, _values(published, name, codes, named))


def _inferred(published: Published, paired: int, *, near: bool) -> Iterator[Inference]:
    data = published.data
    codes = ValueCodes(data)
    similar = SimilarRecords(data, data.names, codes, paired)
    hidden = {name: data[name].missing for name in data.names}
    for name in published.targets:
        for similarity in similar.of(name):
            if similarity.near == near:
                rule = f"records that {similarity}"
                yield Inference(name, rule, _values(published, name, codes, similar.named(name, similarity, hidden)))


def _values(published: Published, name: str, codes: ValueCodes, named: Integers) -> Floats:
    """Values that codes stand for, NaN where there is none."""
    own, values = codes.of(name), published.values(name)
    of_code = np.full(codes.distinct(name) + 1, np.nan)
    of_code[own] = values
    of_code[-1] = np.nan
    return of_code[named]


DEPENDENCY = Attack(
    name="dependency",
    infer=infer_by_dependencies,
    params=DependencyParams,
    reference="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007), l-diversity, ACM TKDD 1(1), section 2.",
    summary="What records that agree in other variables show: labels, codes, strata, children who are not married.",
)

POSITION = Attack(
    name="position",
    infer=infer_by_position,
    reference="Cover, Hart (1967), Nearest neighbor pattern classification, IEEE Trans. Information Theory 13(1).",
    summary="What the nearest records show: in numbers, coordinates, codes of areas, and in the order of the file.",
)
