"""The table of equivalence classes: distinct combinations of key values, each with what its records add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from maskwright.data.classes.numbering import PackedRows
from maskwright.data.sketches.exact_totals import ExactTotals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many records of each class have each value of a sensitive variable, ordered by class, then by value.

    Attributes
    ----------
    of_class : ndarray of shape (h,), int64
        Classes; those in which no record has a value are left out.
    values : ndarray of shape (h,), int64
    records : ndarray of shape (h,), int64
        Records of the class that have the value, or units where these were given; at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Classes
    >>> regions, incomes = np.array([1, 0, 1]), np.array([20, 30, 20])
    >>> found = Classes.of([regions], sensitive={"income": incomes}).sensitive["income"]
    >>> found.of_class.tolist(), found.values.tolist(), found.records.tolist()
    ([0, 1], [20, 30], [2, 1])
    """

    of_class: Integers
    values: Integers
    records: Integers


@dataclass(frozen=True, eq=False)
class Classes:
    """Distinct combinations of key values, numbered as they first occur, with their records.

    Attributes
    ----------
    keys : tuple of ndarray of shape (c,), int64
        Values of each class, one array for each key.
    records : ndarray of shape (c,), int64
        Records of each class; at least 1.
    codes : ndarray of shape (n,), int64
        Class of each record, 0 to c - 1; of a table that was merged, that of each class of the tables it was merged of.
    first : ndarray of shape (c,), int64
        Position in `codes` of the first of each class.
    units : ndarray of shape (c,), int64, or None
        Different units of each class, where they were given.
    totals : ExactTotals or None
        Exact sums of the weights; `weights` has them rounded.
    sensitive : mapping of str to Histogram
        Of each sensitive variable.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Classes
    >>> region, sex = np.array([1, 0, 1]), np.array([0, 0, 0])
    >>> found = Classes.of([region, sex], weights=np.array([2.0, 5.0, 4.0]))
    >>> found.records.tolist(), found.weights.tolist(), found.codes.tolist()
    ([2, 1], [6.0, 5.0], [0, 1, 0])
    """

    keys: tuple[Integers, ...]
    records: Integers
    codes: Integers = field(repr=False)
    first: Integers = field(repr=False)
    units: Integers | None = field(default=None, repr=False)
    totals: ExactTotals | None = field(default=None, repr=False)
    sensitive: Mapping[str, Histogram] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        columns: Sequence[NDArray[np.generic]],
        *,
        weights: NDArray[np.float64] | None = None,
        units: Integers | None = None,
        sensitive: Mapping[str, NDArray[np.generic]] | None = None,
        present: Mapping[str, NDArray[np.bool_]] | None = None,
    ) -> Self:
        """Classes of records.

        Parameters
        ----------
        columns : sequence of ndarray of shape (n,)
            Whole numbers that are equal where a key is, at least one column; truth values and 64 bits of any kind count
            as whole numbers.
        weights : ndarray of shape (n,), float64, optional
            Finite, none of them negative.
        units : ndarray of shape (n,), int64, optional
            0 to u - 1, as households. A unit counts once in each class that a record of it is in, with the weight of
            its first record; and once for each sensitive value that it has there.
        sensitive : mapping of str to ndarray of shape (n,), optional
            Whole numbers, in the order of the values.
        present : mapping of str to ndarray of shape (n,), bool, optional
            Records with a value of a sensitive variable; by default all.

        Examples
        --------
        >>> import numpy as np
        >>> from maskwright import Classes
        >>> Classes.of([np.array([3, 3, 3])], units=np.array([0, 0, 1])).size.tolist()
        [2]
        """
        given = [_whole(column) for column in columns]
        codes, first = PackedRows.of(given).numbered()
        keys, count = tuple(column.take(first) for column in given), len(first)
        counted = None if units is None else PackedRows.of([codes, units]).numbered()[1]
        own = codes if counted is None else codes[counted]
        totals = None
        if weights is not None:
            if units is not None:
                of_unit = np.zeros(int(units.max(initial=-1)) + 1)
                # Written from the last record to the first: the first one stays.
                of_unit[units[::-1]] = weights[::-1]
                weights = of_unit[units[counted]]
            totals = ExactTotals.of(weights, own, count)
        found = {}
        for name, column in (sensitive or {}).items():
            there = slice(None) if present is None or name not in present else present[name]
            rows = [codes[there], _whole(column)[there]]
            if units is not None:
                once = PackedRows.of([*rows, units[there]]).numbered()[1]
                rows = [each[once] for each in rows]
            found[name] = _histogram(rows[0], rows[1], None)
        size = np.bincount(own, minlength=count)
        if units is None:
            return cls(keys, size, codes, first, None, totals, found)
        return cls(keys, np.bincount(codes, minlength=count), codes, first, size, totals, found)

    def __len__(self) -> int:
        """Number of classes."""
        return len(self.records)

    @property
    def size(self) -> Integers:
        """Units of each class, or its records where there are none; shape (c,)."""
        return self.records if self.units is None else self.units

    @property
    def weights(self) -> NDArray[np.float64]:
        """Sum of the weights of each class, or its size where there are none; shape (c,)."""
        return self.size.astype(np.float64) if self.totals is None else self.totals.values

    def merge(self, *others: Classes) -> Classes:
        """Classes of the records of this table and others together, in lexicographic order of the keys.

        The same to the last bit whatever the order and the grouping of the tables. No unit is to be in two of them.

        Parameters
        ----------
        *others : Classes
            Of the same keys and sensitive variables, with weights where this table has some.

        Examples
        --------
        >>> import numpy as np
        >>> from maskwright import Classes
        >>> parts = [Classes.of([np.array(each)]) for each in ([2, 1], [2], [1, 1])]
        >>> whole = parts[0].merge(*parts[1:])
        >>> whole.keys[0].tolist(), whole.records.tolist(), whole.codes.tolist()
        ([1, 2], [3, 2], [1, 0, 1, 0])
        """
        return Classes.of_columns(_joined([each.columns() for each in (self, *others)]), tuple(self.sensitive))

    def by(self, keys: Sequence[int]) -> Classes:
        """Classes on some of the keys, in lexicographic order; `codes` are those of the classes of this table.

        Parameters
        ----------
        keys : sequence of int
            Positions.

        Examples
        --------
        >>> import numpy as np
        >>> from maskwright import Classes
        >>> found = Classes.of([np.array([0, 0, 1]), np.array([0, 1, 1])])
        >>> found.by([0]).records.tolist()
        [2, 1]
        """
        columns = self.columns()
        chosen = {f"k{place}": columns.pop(f"k{key}") for place, key in enumerate(keys)}
        rest = {name: column for name, column in columns.items() if not name.startswith("k")}
        return Classes.of_columns(chosen | rest, tuple(self.sensitive))

    def columns(self) -> dict[str, Integers]:
        """The table as columns of one length, as `of_columns` reads them.

        Returns
        -------
        dict of str to ndarray of shape (r,), int64
            A row for each class, then one for each class and value of a histogram.
        """
        rows = [self._rows(OF_CLASSES, np.arange(len(self)), self.records)]
        if self.units is not None:
            rows[0] |= {"units": self.units}
        if self.totals is not None:
            rows[0] |= {"w0": np.zeros(len(self), dtype=np.int64)}
            rows[0] |= {f"w{place}": own for place, own in self.totals.digits.items()}
        for number, found in enumerate(self.sensitive.values()):
            rows.append(self._rows(number, found.of_class, found.records) | {"value": found.values})
        return _joined(rows)

    def _rows(self, table: int, of_class: Integers, records: Integers) -> dict[str, Integers]:
        keys = {f"k{place}": key[of_class] for place, key in enumerate(self.keys)}
        return {"table": np.full(len(records), table, dtype=np.int64), **keys, "records": records}

    @classmethod
    def of_columns(cls, columns: Mapping[str, NDArray[np.generic]], sensitive: Sequence[str] = ()) -> Self:
        """The merged table of the rows of any tables, or of some of their classes.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (r,)
            What `columns` gave of several tables, one after the other.
        sensitive : sequence of str
            Names of the sensitive variables of these tables, in their order.

        Examples
        --------
        >>> import numpy as np
        >>> from maskwright import Classes
        >>> found = Classes.of([np.array([7, 5, 7])])
        >>> Classes.of_columns(found.columns()).keys[0].tolist()
        [5, 7]
        """
        given = {name: column.astype(np.int64, copy=False) for name, column in columns.items()}
        keys = [given[f"k{place}"] for place in range(sum(name.startswith("k") for name in given))]
        of_row, found = _ordered(keys)
        count, table, records = len(found), given["table"], given["records"]
        own = table == OF_CLASSES
        codes = of_row[own]
        first = np.zeros(count, dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        digits = {int(name[1:]): column[own] for name, column in given.items() if name.startswith("w")}
        histograms = {}
        for number, name in enumerate(sensitive):
            rows = table == number
            histograms[name] = _histogram(of_row[rows], given["value"][rows], records[rows])
        return cls(
            tuple(key[found] for key in keys),
            np.bincount(codes, records[own], count).astype(np.int64),
            codes,
            first,
            np.bincount(codes, given["units"][own], count).astype(np.int64) if "units" in given else None,
            ExactTotals(len(codes), digits).grouped(codes, count) if digits else None,
            histograms,
        )


OF_CLASSES = -1
"""Stands for the classes where rows of histograms have the number of their variable."""


def _whole(column: NDArray[np.generic]) -> Integers:
    """Whole numbers that are equal where the column is; numbers by their bits, where 0 has one sign."""
    if column.dtype.kind == "f":
        return (column.astype(np.float64) + 0.0).view(np.int64)
    return column.view(np.int64) if column.dtype == np.uint64 else column.astype(np.int64, copy=False)


def _joined(tables: Sequence[Mapping[str, Integers]]) -> dict[str, Integers]:
    """Columns of some tables, one after the other, 0 in those that a table does not have."""
    names = dict.fromkeys(name for each in tables for name in each)
    lengths = [len(each["table"]) for each in tables]
    return {
        name: np.concatenate([
            each[name] if name in each else np.zeros(n, dtype=np.int64) for each, n in zip(tables, lengths, strict=True)
        ])
        for name in names
    }  # fmt: skip


def _ordered(columns: Sequence[Integers]) -> tuple[Integers, Integers]:
    """Which of the different rows, in lexicographic order, each is; and the first of each."""
    packed = PackedRows.of(columns)
    codes, first = packed.numbered()
    order = PackedRows(packed.words[first], packed.bits).order()
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[codes], first[order]


def _histogram(of_class: Integers, values: Integers, records: Integers | None) -> Histogram:
    codes, first = _ordered([of_class, values])
    counts = np.bincount(codes, records, len(first)).astype(np.int64)
    return Histogram(of_class[first], values[first], counts)
