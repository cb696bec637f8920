"""Functional dependencies of a file, within a level and across levels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.foundation.arrays import arrow_array, arrow_texts, numbers_of, scalar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset


OWN, GROUP, HOME = "own", "group", "home"
"""What a variable is of: the record, its group, or the group's name."""


@dataclass(frozen=True, eq=False)
class Spanning:
    """Which variables of joined records are examined together: those of one level alone are examined there.

    `belongs`: `OWN`, `GROUP`, `HOME`, or the record that a pointer names. `wanted`: variables whose single values
    count; of others, whole variables only: each cell that goes would take others with it, until most are gone. `size`:
    number of records of the group. `said`: names for messages. `ends`: the published variable without which no one
    knows one, where that is another; "": anybody counts it.
    """

    belongs: Mapping[str, str]
    groups: NDArray[np.int64]
    wanted: Collection[str] = ()
    size: str = ""
    said: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[str, str] = field(default_factory=dict)

    def asks(self, name: str, given: Sequence[str]) -> bool:
        """Whether variables read across levels or records: those of other records beside the record's own only."""
        read = {self.belongs[each] for each in (name, *given)}
        return len(read) > 1 and (read <= {GROUP, HOME} or OWN in read)

    def infers_values(self, name: str, given: Sequence[str]) -> bool:
        """Whether single values are asked: of one variable, or of one in groups of one size."""
        return name in self.wanted and self.asks(name, given) and (len(given) == 1 or self.size in given)

    def witnesses(self, given: Sequence[str]) -> NDArray[np.int64] | None:
        """Groups of the records, of which each is one witness; None where the group is asked about itself."""
        return None if any(self.belongs[each] == HOME for each in given) else self.groups

    def whole(self, name: str, gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Cells of a variable with those of all members, where it is one of the group."""
        return (np.bincount(self.groups, gone) > 0)[self.groups] if self.belongs[name] == GROUP else gone

    def cells(self, name: str, gone: NDArray[np.bool_]) -> int:
        """How many cells of a variable these are: that of a group is one, in the rows of all its members."""
        return len(np.unique(self.groups[gone])) if self.belongs[name] == GROUP else int(gone.sum())


def groups_of_each(codes: NDArray[np.int64], groups: NDArray[np.int64], counted: int) -> NDArray[np.int64]:
    """How many groups have records with each of the codes 0, 1, ...; shape (counted,)."""
    wide = int(groups.max(initial=0)) + 1
    return np.bincount(np.unique(codes * wide + groups) // wide, minlength=counted)


EXCEPTIONS = 0.05
"""Share of the exceptions that chance would leave, up to which a dependency is one."""

EXCEPTIONS_OF_COUNTS = 0.2
"""The same of a number of records: households that have a weight in common by chance are counted together."""

BY_CHANCE = 1000
"""One in so many files has a dependency, or a conditional that is suggested, by chance alone."""

CERTAINTY = 0.9
"""Share of cells that are rightly named from which an intruder may be said to know them."""

MOST_PAIRED = 24
"""Variables of which all pairs are tried: those with the fewest values."""

SAMPLED = 20_000
"""Records on which a pair is tried first, in files of more than twice as many."""

FEW_VALUES = 500
"""Values of a variable up to which a sample has enough records of each."""

LARGEST_COUNTED = 1000
"""Records that one value has at most where counting its rows may tell something: a household, no region."""


@dataclass(frozen=True)
class Dependency:
    """A variable that one other determines, or two of which neither does alone.

    `by_count`: the number of records with the same value determines it: a household size.
    """

    name: str
    given: tuple[str, ...]
    by_count: bool = False

    def __str__(self) -> str:
        names = " and ".join(self.given)
        return f"the number of records with the same {names}" if self.by_count else names


class ValueCodes:
    """Whole numbers in the place of values, made when they are requested."""

    def __init__(self, data: Dataset) -> None:
        self._data = data
        self._codes: dict[str, NDArray[np.int64]] = {}
        self._distinct: dict[str, int] = {}

    def of(self, name: str) -> NDArray[np.int64]:
        """Codes 0, 1, ... of the values of a variable, -1 where missing; shape (n,)."""
        if name not in self._codes:
            column = self._data[name]
            found = np.where(column.missing, np.nan, column.values.astype(np.float64))
            self._codes[name] = dense(found)
        return self._codes[name]

    def distinct(self, name: str) -> int:
        """Return how many different values a variable has."""
        if name not in self._distinct:
            self._distinct[name] = int(self.of(name).max(initial=-1)) + 1
        return self._distinct[name]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Values of a variable as numbers, NaN where missing or where the category is none; shape (n,)."""
        column = self._data[name]
        values = column.values.astype(np.float64)
        if not column.variable.is_numeric:
            texts = arrow_texts([*column.variable.categories, ""])
            is_number = pc.match_substring_regex(texts, r"^[0-9]{1,15}$")
            numbers = pc.cast(pc.if_else(is_number, texts, scalar(None, pa.string())), pa.float64())
            values = numbers_of(numbers, np.float64, np.nan)[column.values]
        return np.where(column.missing, np.nan, values)

    def together(self, names: Sequence[str], rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Codes of the combinations of one or two variables, -1 where a cell is missing; of all records, or of some."""
        parts = [self.of(name) if rows is None else self.of(name)[rows] for name in names]
        if len(parts) == 1:
            return parts[0]
        one, other = parts
        joined = one * self.distinct(names[1]) + other
        joined[(one < 0) | (other < 0)] = -1
        wide = self.distinct(names[0]) * self.distinct(names[1])
        return joined if wide <= 4 * len(joined) else dense(np.where(joined < 0, np.nan, joined.astype(np.float64)))


def dense(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Codes 0, 1, ... of numbers without gaps, -1 for NaN."""
    # Adding 0 makes one number of 0 and -0.
    found = arrow_array(values + 0.0, np.isnan(values)).dictionary_encode()
    return numbers_of(found.indices, np.int64, -1)


def determines(
    given: NDArray[np.int64],
    found: NDArray[np.int64],
    tests: int = 1,
    groups: NDArray[np.int64] | None = None,
    exceptions: float = EXCEPTIONS,
) -> bool:
    """Whether one code determines another, but for few records, and not by chance.

    Of the r records whose `given` another record has before them, chance would let r (1 - s) differ from that record,
    s being the probability that two records agree in `found`; at most a share of `exceptions` of that many may differ
    from the most frequent value of those with the same `given`. All r agree by chance with probability s^r, which has
    to be below one in `BY_CHANCE` times the number of tests. Values that one record alone has say nothing, for or
    against.

    `given`, `found`: codes 0, 1, ..., -1 where missing: such records are left out; shape (n,). `groups`: of the
    records: those of one group bear witness once, and values that one group alone has say nothing; shape (n,).
    """
    both = (given >= 0) & (found >= 0)
    if groups is not None and both.any():
        witnesses = groups_of_each(given[both], groups[both], int(given.max()) + 1)
        both &= witnesses[given] > 1
    if not both.all():
        given, found = given[both], found[both]
    if not len(found):
        return False
    sizes = np.bincount(given)
    repeats = len(found) - int(np.count_nonzero(sizes))
    rows = repeats
    if groups is not None:
        witnesses = groups_of_each(given, groups[both], len(sizes))
        repeats = int(witnesses.sum()) - int(np.count_nonzero(sizes))
        rows = len(found) * repeats // int(witnesses.sum())
    shares = np.bincount(found) / len(found)
    alike = float(shares @ shares)
    if alike >= 1 or repeats * -math.log(alike) < math.log(BY_CHANCE * tests):
        return False
    allowed = exceptions * rows * (1 - alike)
    return _exceptions(given, found, len(sizes), allowed) <= allowed


def exceptions(given: NDArray[np.int64], found: NDArray[np.int64]) -> int:
    """Records that differ from the most frequent `found` of their `given`; codes below 0 are left out."""
    both = (given >= 0) & (found >= 0)
    if not both.any():
        return 0
    return _exceptions(given[both], found[both], int(given.max()) + 1, float(both.sum()))


def _exceptions(given: NDArray[np.int64], found: NDArray[np.int64], classes: int, allowed: float) -> int:
    """Records that differ from the most frequent value of their class; roughly where they are far more than allowed."""
    width = int(found.max()) + 1
    if classes * width <= 4 * len(found) + 1024:
        table = np.bincount(given * width + found, minlength=classes * width).reshape(classes, width)
        return len(found) - int(table.max(axis=1).sum())
    one = np.zeros(classes, dtype=np.int64)
    differing = len(found)
    for order in (slice(None), slice(None, None, -1)):
        one[given[order]] = found[order]
        differing = min(differing, int(np.count_nonzero(one[given] != found)))
    if differing > 4 * allowed:
        return differing
    pairs, counts = np.unique(given * width + found, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs // width, prepend=-1))
    return len(found) - int(np.maximum.reduceat(counts, starts).sum())


def _may_be_sizes(counts: NDArray[np.int64]) -> bool:
    """Whether numbers of records of each value may be sizes, as of households: small, different, and shared by many."""
    sizes = len(np.unique(counts))
    return bool(counts.max() <= LARGEST_COUNTED and 1 < sizes <= len(counts) / 2)


class Dependencies:
    """What determines the variables of a file, or of the joined records of levels; found when it is needed.

    `homes`: household of each record, where what its members show counts once: they are masked alike; shape (n,).
    """

    def __init__(
        self,
        data: Dataset,
        columns: Sequence[str],
        spanning: Spanning | None = None,
        homes: NDArray[np.int64] | None = None,
    ) -> None:
        self._spanning, self._homes = spanning, homes
        self.codes = ValueCodes(data)
        self._n = len(data)
        self._columns = tuple(columns)
        self._found: dict[str, tuple[Dependency, ...]] = {}
        self._samples: dict[str, NDArray[np.int64]] = {}

    def of(self, name: str) -> tuple[Dependency, ...]:
        """Dependencies that determine a variable: of one variable, of the number of its records, of two."""
        if name not in self._found:
            singles = tuple(self._singles(name))
            alone = {each.given[0] for each in singles if not each.by_count}
            self._found[name] = (*singles, *self._pairs(name, alone))
        return self._found[name]

    def behind(self, names: Sequence[str]) -> Iterator[str]:
        """Variables that determine these, or determine what determines these, and so on; each once."""
        seen, left = set(names), list(names)
        while left:
            for dependency in self.of(left.pop()):
                for name in dependency.given:
                    if name not in seen:
                        seen.add(name)
                        left.append(name)
                        yield name

    def _singles(self, name: str) -> Iterator[Dependency]:
        found = self.codes.of(name)
        others = [other for other in self._columns if other != name and self.codes.distinct(other) > 1]
        for other in others:
            if not self._is_wanted(name, (other,)):
                continue
            given = self.codes.of(other)
            if determines(given, found, 2 * len(others), self._groups((other,))):
                yield Dependency(name, (other,))
            if self._is_counted(found, given, 2 * len(others)):
                yield Dependency(name, (other,), by_count=True)

    def _is_counted(self, found: NDArray[np.int64], given: NDArray[np.int64], tests: int) -> bool:
        """Whether the number of records with the same `given` determines another variable."""
        counts = np.bincount(given[given >= 0])
        if not _may_be_sizes(counts):
            return False
        of_record = np.where(given >= 0, counts[given], -1)
        return determines(of_record, found, tests, exceptions=EXCEPTIONS_OF_COUNTS)

    def _pairs(self, name: str, alone: set[str]) -> Iterator[Dependency]:
        candidates = [
            other for other in self._columns
            if other != name and other not in alone and 1 < self.codes.distinct(other) < self._n
        ]  # fmt: skip
        chosen = sorted(candidates, key=self.codes.distinct)[:MOST_PAIRED]
        tests = max(len(chosen) ** 2, 1)
        found = self.codes.of(name)
        for place, one in enumerate(chosen):
            for other in chosen[:place]:
                if not self._is_wanted(name, (other, one)):
                    continue
                rows, groups = self._sample(one), self._groups((other, one))
                if rows is not None and not determines(
                    self.codes.together((other, one), rows), found[rows], 1, None if groups is None else groups[rows]
                ):
                    continue
                both = self.codes.together((other, one))
                if determines(both, found, tests, groups):
                    yield Dependency(name, (other, one))
                elif self._spanning is None and self._is_counted(found, both, tests):
                    yield Dependency(name, (other, one), by_count=True)

    def _is_wanted(self, name: str, given: tuple[str, ...]) -> bool:
        return self._spanning is None or self._spanning.asks(name, given)

    def _groups(self, given: tuple[str, ...]) -> NDArray[np.int64] | None:
        return self._homes if self._spanning is None else self._spanning.witnesses(given)

    def _sample(self, name: str) -> NDArray[np.int64] | None:
        """Records to try a pair on: of many values, all records with some of them; None: the file is small."""
        if self._n <= 2 * SAMPLED:
            return None
        if name not in self._samples and self.codes.distinct(name) < FEW_VALUES:
            self._samples[name] = np.linspace(0, self._n - 1, SAMPLED).astype(np.int64)
        elif name not in self._samples:
            # Multiplying by an odd number is a permutation of 32 bits that has no regularity in common with the file.
            scattered = (self.codes.of(name) * 2_654_435_761) % 2**32
            self._samples[name] = np.flatnonzero(scattered < 2**32 * SAMPLED / self._n)[: 2 * SAMPLED]
        return self._samples[name]
