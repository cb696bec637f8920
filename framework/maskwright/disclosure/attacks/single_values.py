"""Inference by values: single values, alone or in pairs, that determine a suppressed cell."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy.special import bdtrc

from maskwright.data.dependencies import (
    BY_CHANCE,
    CERTAINTY,
    EXCEPTIONS,
    MOST_PAIRED,
    Spanning,
    ValueCodes,
    groups_of_each,
)
from maskwright.disclosure.attacks.similar_records import CERTAIN, majorities
from maskwright.disclosure.decision import ALL, certain_cells
from maskwright.disclosure.published_cells import reads_suppressed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.disclosure.cells import CellMasks
    from maskwright.foundation.arrays import Booleans, Integers


MAJORITY = 0.5
"""The same where a number of records shows it, which several groups that are equal by chance have together."""

FEWEST_EQUIVALENT = 10
"""Published records that have to show it where one value, and not a whole variable, gives a cell away."""

MOST_READ = 100_000_000
"""Records times pairs of variables that are examined for one variable; the pairs with the fewest values come first."""


class SingleValues:
    """Values of the variables of a file, and what other records with these values show.

    `shown`: the records as they would be published without suppression. `spanning`: of joined records: what is
    examined, and who bears witness.
    """

    def __init__(
        self,
        shown: Dataset,
        columns: Sequence[str],
        codes: ValueCodes,
        spanning: Spanning | None = None,
        certainty: float = CERTAINTY,
    ) -> None:
        self._certainty = certainty
        self._spanning = spanning
        self._shown, self._codes, self._n = shown, codes, len(shown)
        self._columns = tuple(columns)
        self._given: dict[tuple[str, int], tuple[tuple[str, ...], ...]] = {}
        self._tried: dict[tuple[str, int], int] = {}
        self._all_codes: dict[str, Integers] = {}
        self._frequent: dict[str, tuple[Integers, int]] = {}
        self._silent: dict[str, Booleans] = {}
        self._disclosing: dict[tuple[str, str], Booleans] = {}
        self._found: dict[tuple[str, tuple[str, ...]], tuple[tuple[int, ...], Integers]] = {}
        self._question_cache: dict[str, tuple[int, tuple[_Question, ...]]] = {}
        self._parts: dict[tuple[_Question, str], tuple[int, tuple[Integers, Integers]]] = {}

    def given(self, name: str, size: int) -> tuple[tuple[str, ...], ...]:
        """Variables, or pairs of them, whose values may give one away."""
        if (name, size) not in self._given:
            spanning = self._spanning
            self._given[name, size] = tuple(
                each for each in self._candidates(name, size) if spanning is None or spanning.infers_values(name, each)
            )
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

    def unchanged_by_suppression(self, names: Sequence[str]) -> Booleans:
        """Records in which the cells of these variables look the same if they are suppressed; shape (n,)."""
        found = np.ones(self._n, dtype=np.bool_)
        for name in names:
            if name not in self._silent:
                self._silent[name] = reads_suppressed(self._shown[name])
            found &= self._silent[name]
        return found

    def disclosing_records(self, name: str, given: tuple[str, ...], hidden: CellMasks) -> Integers:
        """Records whose suppressed cell other records with the same values show, as positions, ascending.

        At least `FEWEST_EQUIVALENT` published records have these values. Of the r of them, at most `EXCEPTIONS` of the
        r (1 - p) that chance would let differ do, p being the share of records that show this cell's value; that all
        are alike has by chance the probability p^(r - 1), which has to be below one in `BY_CHANCE` times the number of
        values that are tried.
        """
        state = tuple(_state(hidden[each]) if each in hidden else 0 for each in (name, *given))
        known = self._found.get((name, given))
        if known is None or known[0] != state:
            tests = self._tests(name, len(given))
            found = [np.zeros(0, dtype=np.int64)]
            for question in self._questions(name, hidden, state[0]):
                seen, queried = (self._joined(question, given, hidden, state[1:], place) for place in (0, 1))
                groups = None if self._spanning is None else self._spanning.witnesses(given)
                widths = math.prod(self._values(each)[1] + 1 for each in given)
                named = question.answered(seen, queried, widths, tests, groups)
                named[question.queried[~self._are_there(question, given)]] = -1
                if question.is_right(named).any():
                    original = self._of_original(question, given, queried, tests, groups)
                    found.append(question.certain_records(named, original, self._certainty))
            known = self._found[name, given] = (state, np.unique(np.concatenate(found)))
        return known[1]

    def is_superfluous(self, name: str, one: str, given: tuple[str, ...], rows: Integers, hidden: CellMasks) -> bool:
        """Whether a variable adds nothing to what the others of the rules show of the cells of these records.

        Of the published records with both values as many would by chance show the same, as they do with the others
        alone: so many pairs are tried that some seem to show more.
        """
        others = tuple(each for each in given if each != one)
        if not others:
            return False
        (both, right), (alone, share) = (self._showing(name, names, rows, hidden) for names in (given, others))
        by_chance = bdtrc(right - 1, both, share / np.maximum(alone, 1))
        return bool((by_chance * BY_CHANCE * self._tests(name, len(given)) >= 1).all())

    def _showing(
        self, name: str, given: tuple[str, ...], rows: Integers, hidden: CellMasks
    ) -> tuple[Integers, Integers]:
        """How many published records have the same values as each of these, and how many of them its cell as well."""
        cells, codes = self._codes.of(name), np.zeros(self._n, dtype=np.int64)
        there = (cells >= 0) & ~hidden[name]
        for each in given:
            values = self._published(each, hidden)
            codes, there = codes * (self._values(each)[1] + 1) + values + 1, there & (values >= 0)
        both = codes * (int(cells.max(initial=0)) + 2) + cells
        counts = []
        for group in (codes, both):
            groups = np.unique(group, return_inverse=True)[1]
            counts.append(np.bincount(groups[there], minlength=self._n)[groups[rows]])
        return counts[0], counts[1]

    def _of_original(
        self, question: _Question, given: tuple[str, ...], queried: Integers, tests: int, groups: Integers | None
    ) -> Integers:
        """What rules of the original show of each cell, read by what is published; shape (n,)."""
        codes, widths = np.zeros(self._n, dtype=np.int64), 1
        for values, count in map(self._values, given):
            codes, widths = codes * (count + 1) + np.where(values < 0, count, values), widths * (count + 1)
        whole = question.of_original()
        return whole.answered(codes[whole.seen], queried, widths, tests, groups)

    def unexplained(self, name: str, other: str, hidden: CellMasks) -> Integers:
        """Records whose suppressed cell another value discloses that no published record shows with it, as positions.

        Who knows what the value means knows the cell: of ``rel`` 'child' all ages are suppressed.
        """
        found, given = self._codes.of(name), self._values(other)[0]
        if (name, other) not in self._disclosing:
            groups = None if self._spanning is None else self._spanning.witnesses((other,))
            self._disclosing[name, other] = determining_values(given, found, self._tests(name, 1), groups)
        queried = self._disclosing[name, other] & hidden[name] & ~hidden.get(other, np.False_)
        if not queried.any():
            return np.zeros(0, dtype=np.int64)
        shown = (given >= 0) & (found >= 0) & ~hidden[name] & ~hidden.get(other, np.False_)
        return np.flatnonzero(queried & ~np.isin(given, np.unique(given[shown])))

    def _questions(self, name: str, hidden: CellMasks, state: int) -> tuple[_Question, ...]:
        """About suppressed values, which records with a value disclose, and about suppressed missing codes.

        Which suppressed cells had a missing code is not published: codes are named of all.
        """
        known = self._question_cache.get(name)
        if known is None or known[0] != state:
            emptied, missing, valued = hidden[name], self._shown[name].missing, self._codes.of(name)
            possible = [_Question(valued, np.flatnonzero(emptied & ~missing), np.flatnonzero(~emptied & ~missing))]
            if (emptied & missing).any():
                possible.append(_Question(self._all(name), np.flatnonzero(emptied), np.flatnonzero(~emptied)))
            known = self._question_cache[name] = (state, tuple(each for each in possible if len(each.queried)))
            self._parts = {key: part for key, part in self._parts.items() if key[0] in known[1]}
        return known[1]

    def _are_there(self, question: _Question, given: tuple[str, ...]) -> Booleans:
        """Examined records in which these variables are published, with values that are frequent."""
        parts = (self._parts[question, name][1][1] < self._values(name)[1] for name in given)
        return np.asarray(np.logical_and.reduce(list(parts)))

    def _joined(
        self,
        question: _Question,
        given: tuple[str, ...],
        hidden: CellMasks,
        states: tuple[int, ...],
        place: int,
    ) -> Integers:
        """Codes of the values of one variable or of two together, of the records with evidence, or of the others."""
        parts = []
        for name, state in zip(given, states, strict=True):
            known = self._parts.get((question, name))
            if known is None or known[0] != state:
                published = self._published(name, hidden)
                published = np.where(published < 0, self._values(name)[1], published)
                known = self._parts[question, name] = (state, (published[question.seen], published[question.queried]))
            parts.append(known[1][place])
        if len(parts) == 1:
            return parts[0]
        # The last code of each is none: any other could be distinguished from it.
        return parts[0] * (self._values(given[1])[1] + 1) + parts[1]

    def _published(self, name: str, hidden: CellMasks) -> Integers:
        """Codes of frequent values and missing codes as they are published, -1 where there is none."""
        values = self._values(name)[0]
        if name not in hidden:
            return values
        same = self.unchanged_by_suppression((name,))
        # A suppressed cell says what an empty one does where both are written alike.
        alike = values[np.argmax(same)] if same.any() else -1
        return np.where(hidden[name], alike, values)

    def _values(self, name: str) -> tuple[Integers, int]:
        """Codes 0, 1, ... of values and missing codes that enough records have, -1 for others; and how many."""
        if name not in self._frequent:
            all_codes = self._all(name)
            often = np.bincount(all_codes[all_codes >= 0], minlength=1) >= FEWEST_EQUIVALENT
            codes = np.append(np.where(often, np.cumsum(often) - 1, -1), -1)
            self._frequent[name] = codes[all_codes], int(often.sum())
        return self._frequent[name]

    def _all(self, name: str) -> Integers:
        """Codes of values, and behind them of the texts of cells without one."""
        if name not in self._all_codes:
            column, codes = self._shown[name], self._codes.of(name)
            if column.missing.any():
                texts = column.nothing(slice(None)).fill_null("").filter(pa.array(column.missing)).dictionary_encode()
                codes = codes.copy()
                codes[column.missing] = self._codes.distinct(name) + np.asarray(texts.indices)
            self._all_codes[name] = codes
        return self._all_codes[name]

    def _combined(self, names: Sequence[str]) -> int:
        return math.prod(self._values(name)[1] for name in names)

    def _tests(self, name: str, size: int) -> int:
        """Values that are tried: no more than the file has room for."""
        if (name, size) not in self._tried:
            most = self._n // FEWEST_EQUIVALENT
            self._tried[name, size] = max(sum(min(self._combined(each), most) for each in self.given(name, size)), 1)
        return self._tried[name, size]


class _Question:
    """Cells that are examined, and the records with evidence.

    `cells`: codes of what is examined; shape (n,). `queried`, `seen`: positions of the records that are examined, and
    of those with evidence.
    """

    def __init__(self, cells: Integers, queried: Integers, seen: Integers) -> None:
        self.queried, self.seen = queried, seen
        self._all = cells
        self._own, self._cells = cells[queried], cells[seen]
        self._width = int(cells.max(initial=0)) + 1
        self._shares = np.bincount(self._cells, minlength=self._width) / max(len(seen), 1)

    def of_original(self) -> _Question:
        """The same of all records, nothing suppressed."""
        return _Question(self._all, self.queried, np.flatnonzero(self._all >= 0))

    def answered(
        self, seen: Integers, queried: Integers, values: int, tests: int, groups: Integers | None = None
    ) -> Integers:
        """What records with the same value show of each cell: codes of what is examined, -1 for nothing; shape (n,).

        `groups`: of all records: those of one group bear witness once; shape (n,).
        """
        cells, rows = self._cells, self.seen
        groups = None if groups is None else groups[self.seen]
        if values * self._width > 4 * len(seen) + 1_000_000:
            # Room for the examined values only.
            distinct, queried = np.unique(queried, return_inverse=True)
            wanted = np.full(values, -1, dtype=np.int64)
            wanted[distinct] = np.arange(len(distinct))
            disclosed = np.flatnonzero(wanted[seen] >= 0)
            seen, cells, values = wanted[seen[disclosed]], cells[disclosed], len(distinct)
            rows = rows[disclosed]
            groups = None if groups is None else groups[disclosed]
        sizes, most, value = majorities(seen, cells, values, self._width)
        share = self._shares[value]
        witnesses = sizes if groups is None else groups_of_each(seen, groups, values)
        unlikely = -np.log(np.maximum(share, 1 / (len(self._cells) + 1)))
        by_chance = (witnesses - 1) * unlikely < math.log(BY_CHANCE * tests)
        allowed = EXCEPTIONS * (sizes - 1) * (1 - share)
        enough = (sizes >= FEWEST_EQUIVALENT) & (most >= CERTAIN * sizes)
        is_rule = enough & (sizes - most <= allowed) & ~by_chance & (share < 1)
        by_value = np.where(is_rule, value, -1)
        named = np.full(len(self._all), -1, dtype=np.int64)
        named[rows], named[self.queried] = by_value[seen], by_value[queried]
        return named

    def is_right(self, named: Integers) -> Booleans:
        """Whether what is shown of the examined cells is what they have."""
        return np.asarray(named[self.queried] == self._own)

    def certain_records(self, named: Integers, original: Integers, certainty: float) -> Integers:
        """Examined records of whose cell an intruder would be sure, rightly, as positions, ascending.

        `named`: see `answered`. `original`: the same where nothing is suppressed: other rules are judged apart.
        """
        shown = np.full(len(self._all), -1, dtype=np.int64)
        shown[self.seen] = self._cells
        holds = named == original
        certain = certain_cells(np.where(holds, -1, named), self._all, shown, (), certainty=certainty)
        related = np.arange(ALL, self._width)
        certain |= certain_cells(np.where(holds, named, -1), self._all, shown, related, certainty=certainty)
        rows: Integers = self.queried[certain[self.queried] & self.is_right(named)]
        return rows


def determining_values(given: Integers, found: Integers, tests: int, groups: Integers | None = None) -> Booleans:
    """Records whose `given` has a value that implies their `found`; see `SingleValues.disclosing_records`; shape (n,).

    `given`, `found`: codes 0, 1, ..., -1 where missing: such records are left out; shape (n,). `groups`: of the
    records: those of one group bear witness once; shape (n,).
    """
    there = np.flatnonzero((given >= 0) & (found >= 0))
    disclosed = np.zeros(len(given), dtype=np.bool_)
    if len(there):
        question = _Question(found, there, there)
        named = question.answered(given[there], given[there], int(given.max()) + 1, tests, groups)
        disclosed[there] = (named >= 0)[there] & (named == found)[there]
    return disclosed


def _state(cells: Booleans) -> int:
    return hash(np.packbits(cells).tobytes())


def majority_values(given: Integers, found: Integers, seen: Booleans, share: float = CERTAIN) -> Integers:
    """What nearly all that are seen, and have the same `given`, have; -1 where nearly all do not agree.

    `given`, `found`: codes 0, 1, ..., -1 where there is none; shape (groups,). `seen`: groups, or records, of which
    both are published; shape (groups,).
    """
    disclosed = np.full(len(given), -1, dtype=np.int64)
    both = seen & (given >= 0) & (found >= 0)
    if not both.any():
        return disclosed
    width = int(found[both].max()) + 1
    pairs, counts = np.unique(given[both] * width + found[both], return_counts=True)
    sizes = np.bincount(given[both])
    sure = counts > share * sizes[pairs // width] - 1e-9
    by_given = np.full(int(given.max()) + 1, -1, dtype=np.int64)
    by_given[pairs[sure] // width] = pairs[sure] % width
    return np.where(given >= 0, by_given[np.maximum(given, 0)], -1)
