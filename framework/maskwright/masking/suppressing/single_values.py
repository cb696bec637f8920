"""Single values that give a suppressed cell away: all records with `status` 0 are children, or with two such values.

Whether a whole variable determines another is asked in `maskwright.data.dependencies`; one value may do so where the
others do not. What is published of a cell is its value: a missing code, too. A value that a handful of records have in
common, all alike by chance, is none: see `SingleValues.giving_away`.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskwright.data.dependencies import BY_CHANCE, EXCEPTIONS, MOST_PAIRED, ValueCodes
from maskwright.masking.suppressing.cell_states import reads_suppressed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset

CERTAIN = 0.95
"""Share of the published records with the same values that show the value of a suppressed cell when it is known."""

FEWEST_ALIKE = 10
"""Published records that have to show it where one value, and not a whole variable, gives a cell away."""

MOST_READ = 100_000_000
"""Records times pairs of variables that are looked at for one variable; the pairs with the fewest values come first."""


class SingleValues:
    """Values of the variables of a file, and what other records with these values show.

    Parameters
    ----------
    shown : Dataset
        The records as they would be published without suppression.
    columns : sequence of str
        Variables that are published.
    codes : ValueCodes
        Of `shown`.
    """

    def __init__(self, shown: Dataset, columns: Sequence[str], codes: ValueCodes) -> None:
        self._shown, self._codes, self._n = shown, codes, len(shown)
        self._columns = tuple(columns)
        self._given: dict[tuple[str, int], tuple[tuple[str, ...], ...]] = {}
        self._said: dict[str, NDArray[np.int64]] = {}
        self._frequent: dict[str, tuple[NDArray[np.int64], int]] = {}
        self._silent: dict[str, NDArray[np.bool_]] = {}
        self._found: dict[tuple[str, tuple[str, ...]], tuple[tuple[int, ...], NDArray[np.int64]]] = {}

    def given(self, name: str, size: int) -> tuple[tuple[str, ...], ...]:
        """Variables, or pairs of them, whose values may give one away.

        Parameters
        ----------
        name : str
        size : {1, 2}
        """
        if (name, size) not in self._given:
            self._given[name, size] = tuple(self._candidates(name, size))
        return self._given[name, size]

    def _candidates(self, name: str, size: int) -> Iterator[tuple[str, ...]]:
        useful = [other for other in self._columns if other != name and self._values(other)[1] > 0]
        if size == 1:
            yield from ((other,) for other in useful)
            return
        chosen = sorted(useful, key=lambda each: self._values(each)[1])[:MOST_PAIRED]
        pairs = sorted(itertools.combinations(chosen, 2), key=self._combined)
        for pair in pairs[: max(MOST_READ // max(self._n, 1), 1)]:
            if 1 < self._combined(pair) <= max(4 * self._n, 100_000):
                yield pair

    def unchanged_by_suppression(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Records in which the cells of these variables look the same if they are suppressed; shape (n,)."""
        found = np.ones(self._n, dtype=np.bool_)
        for name in names:
            if name not in self._silent:
                self._silent[name] = reads_suppressed(self._shown[name])
            found &= self._silent[name]
        return found

    def giving_away(
        self, name: str, given: tuple[str, ...], hidden: Mapping[str, NDArray[np.bool_]]
    ) -> NDArray[np.int64]:
        """Records whose suppressed cell other records with the same values show, as positions, ascending.

        At least `FEWEST_ALIKE` published records have these values. Of the r of them, at most `EXCEPTIONS` of the
        r (1 - p) that chance would let differ do, p being the share of records that show this cell's value; that all
        are alike has by chance the probability p^(r - 1), which has to be below one in `BY_CHANCE` times the number of
        values that are tried.

        Parameters
        ----------
        name : str
        given : tuple of str
        hidden : mapping of name to ndarray of shape (n,), bool
            Suppressed cells.
        """
        state = tuple(hash(hidden[each].tobytes()) if each in hidden else 0 for each in (name, *given))
        known = self._found.get((name, given))
        if known is None or known[0] != state:
            known = self._found[name, given] = (state, self._giving_away(name, given, hidden))
        return known[1]

    def _giving_away(
        self, name: str, given: tuple[str, ...], hidden: Mapping[str, NDArray[np.bool_]]
    ) -> NDArray[np.int64]:
        emptied = hidden[name]
        values = self._published(given[0], hidden)
        if len(given) == 2:
            other = self._published(given[1], hidden)
            values = np.where((values < 0) | (other < 0), -1, values * self._values(given[1])[1] + other)
        tests = self._tests(name, len(given))
        found = [np.zeros(0, dtype=np.int64)]
        for cells in (self._codes.of(name), self._all(name)):
            # Of a suppressed value, records with a value tell; of a suppressed missing code, all do.
            asked = np.flatnonzero(emptied & (cells >= 0) & (values >= 0))
            if cells is not self._codes.of(name):
                asked = asked[self._shown[name].missing[asked]]
            if len(asked):
                found.append(asked[_alike(values, cells, asked, ~emptied & (cells >= 0), tests)])
            if not self._shown[name].missing.any():
                break
        return np.unique(np.concatenate(found))

    def _published(self, name: str, hidden: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.int64]:
        """Codes of frequent values and missing codes as they are published, -1 where there is none."""
        values = self._values(name)[0]
        if name not in hidden:
            return values
        same = self.unchanged_by_suppression((name,))
        # A suppressed cell says what an empty one does where both are written alike.
        alike = values[np.argmax(same)] if same.any() else -1
        return np.where(hidden[name], alike, values)

    def _values(self, name: str) -> tuple[NDArray[np.int64], int]:
        """Codes 0, 1, ... of values and missing codes that enough records have, -1 for others; and how many."""
        if name not in self._frequent:
            said = self._all(name)
            often = np.bincount(said[said >= 0], minlength=1) >= FEWEST_ALIKE
            codes = np.append(np.where(often, np.cumsum(often) - 1, -1), -1)
            self._frequent[name] = codes[said], int(often.sum())
        return self._frequent[name]

    def _all(self, name: str) -> NDArray[np.int64]:
        """Codes of values, and behind them of the texts of cells without one."""
        if name not in self._said:
            column, codes = self._shown[name], self._codes.of(name)
            if column.missing.any():
                texts = column.nothing(slice(None)).fill_null("").filter(pa.array(column.missing)).dictionary_encode()
                codes = codes.copy()
                codes[column.missing] = self._codes.distinct(name) + np.asarray(texts.indices)
            self._said[name] = codes
        return self._said[name]

    def _combined(self, names: Sequence[str]) -> int:
        return math.prod(self._values(name)[1] for name in names)

    def _tests(self, name: str, size: int) -> int:
        """Values that are tried: no more than the file has room for."""
        most = self._n // FEWEST_ALIKE
        return max(sum(min(self._combined(each), most) for each in self.given(name, size)), 1)


def _alike(
    values: NDArray[np.int64], cells: NDArray[np.int64], asked: NDArray[np.int64], seen: NDArray[np.bool_], tests: int
) -> NDArray[np.bool_]:
    """Of the records asked about, those whose cell the records that are seen with the same value show."""
    groups, group = np.unique(values[asked], return_inverse=True)
    wanted = np.full(int(groups[-1]) + 2, -1, dtype=np.int64)
    wanted[groups] = np.arange(len(groups))
    of_group = wanted[np.minimum(values, len(wanted) - 1)]
    rows = np.flatnonzero(seen & (of_group >= 0))
    sizes = np.bincount(of_group[rows], minlength=len(groups))
    # Only values that are asked about are told apart.
    distinct, own = np.unique(cells[asked], return_inverse=True)
    place = np.full(int(cells.max()) + 1, -1, dtype=np.int64)
    place[distinct] = np.arange(len(distinct))
    shares = np.bincount(place[cells[seen]] + 1, minlength=len(distinct) + 1)[1:] / max(int(seen.sum()), 1)
    which = place[cells[rows]]
    pairs = of_group[rows][which >= 0] * len(distinct) + which[which >= 0]
    same = _counts(pairs, group * len(distinct) + own, len(groups) * len(distinct))
    size, share = sizes[group], shares[own]
    with np.errstate(divide="ignore"):
        by_chance = (size - 1) * -np.log(share) < math.log(BY_CHANCE * tests)
    differing = size - same
    allowed = EXCEPTIONS * (size - 1) * (1 - share)
    return np.asarray(
        (size >= FEWEST_ALIKE) & (same >= CERTAIN * size) & (differing <= allowed) & ~by_chance & (share < 1)
    )


def _counts(pairs: NDArray[np.int64], asked: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """How often each of the asked numbers below `most` is among the pairs."""
    if most <= 4 * len(pairs) + 1_000_000:
        return np.bincount(pairs, minlength=most)[asked]
    found, counted = np.unique(pairs, return_counts=True)
    places = np.minimum(np.searchsorted(found, asked), max(len(found) - 1, 0))
    return np.where(found[places] == asked, counted[places], 0) if len(found) else np.zeros_like(asked)
