"""A file of microdata in memory: frozen columns with their variables, in record order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from maskwright.data.missing import HAD_VALUE, MissingCells
from maskwright.foundation.errors import InputError
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.variable import Variable
    from maskwright.foundation.doubts import Doubt

_nothing_missing: WeakValueDictionary[int, NDArray[np.bool_]] = WeakValueDictionary()
"""The one mask, by length, that all columns with a value in every cell share: it would be a byte a cell of each."""


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of one variable.

    Attributes
    ----------
    variable : Variable
        What the column is.
    values : ndarray of shape (n,)
        float64 numbers for numeric variables (NaN where missing); int32 category codes for nominal and ordinal ones
        (-1 where missing). Read-only.
    missing : ndarray of shape (n,), bool
        True where the cell has no value. Read-only.
    blank : MissingCells or None
        How the file says of each missing cell that there is no value; None where nothing is known of that.
    digits : int or None
        Digits after the point with which every number of the file is written, zeros at the end included; None where
        numbers are written without such zeros, or one in this way and another in that.
    written : pyarrow.ChunkedArray of shape (n,), or None
        The cells exactly as the file holds them, where that is not what `values` and `blank` give. Only what was read
        has it: a column that a method made never does.
    stored : ndarray of shape (n,), or None
        The numbers as the file holds them, where `values` are the decimals that these are up to rounding of binary
        arithmetic: 3.3 for 3.3000000000000003. Tests in XPath see them. Only what was read has it.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Column, Variable
    >>> Column(Variable("age", "integer", decimals=0), np.array([31.0, np.nan]), np.array([False, True]))
    Column('age', integer, 2 records)
    """

    variable: Variable
    values: NDArray[Any]
    missing: NDArray[np.bool_]
    blank: MissingCells | None = None
    digits: int | None = None
    written: Any = None
    stored: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.values.shape != self.missing.shape or self.values.ndim != 1:
            raise InputError(f"column {self.variable.name!r}: values and missing must be vectors of one length")
        self.values.setflags(write=False)
        self.missing.setflags(write=False)
        if not self.missing.any():
            # On bytes, which no one can make writable: what is written into one column would be in all.
            mask = np.frombuffer(bytes(len(self)), dtype=np.bool_)
            object.__setattr__(self, "missing", _nothing_missing.setdefault(len(self), mask))

    @property
    def name(self) -> str:
        """The variable's name."""
        return self.variable.name

    def __len__(self) -> int:
        return len(self.values)

    def taken(self, rows: NDArray[np.int64]) -> Column:
        """Cells of these records, in this order."""
        blank = None if self.blank is None else self.blank.taken(rows)
        written = None if self.written is None else self.written.take(rows)
        stored = None if self.stored is None else self.stored[rows]
        return Column(self.variable, self.values[rows], self.missing[rows], blank, self.digits, written, stored)

    def nothing(self, records: slice, unless_known: str | None = "") -> Any:
        """Texts that stand in the missing cells of these records; null for the others, and where there is no cell.

        Parameters
        ----------
        records : slice
        unless_known : str or None
            Of cells that were emptied, where nothing says how the file writes an empty cell; None: no cell.

        Returns
        -------
        pyarrow.StringArray
        """
        missing = self.missing[records]
        codes = np.full(len(missing), HAD_VALUE, dtype=np.int16) if self.blank is None else self.blank.codes[records]
        blank = MissingCells(() if self.blank is None else self.blank.texts, codes)
        return blank.written(missing, self.variable.suppressed_as, unless_known)

    def missing_kinds(self) -> NDArray[np.int64]:
        """What is published in the missing cells: 0 what a suppressed cell has, 1, 2, ... another text; shape (n,).

        Whoever reads the file can tell these apart, and counts each as a value of its own. 0 for cells with a value.
        """
        if self.blank is None:
            return np.zeros(len(self), dtype=np.int64)
        kinds = self.blank.kinds(self.variable.suppressed_as)
        return np.where(self.missing, kinds[self.blank.codes], 0).astype(np.int64)

    def changed(
        self,
        values: NDArray[Any],
        missing: NDArray[np.bool_] | None = None,
        variable: Variable | None = None,
        suppressed: NDArray[np.bool_] | None = None,
    ) -> Column:
        """Column with other values; the cells that were missing before are still known from those that are now.

        Parameters
        ----------
        values : ndarray of shape (n,)
        missing : ndarray of shape (n,), bool, optional
            By default the cells that are missing here.
        variable : Variable, optional
            What the column is then.
        suppressed : ndarray of shape (n,), bool, optional
            Missing cells that lose their code: they are published as a suppressed cell is.
        """
        gone = self.missing if missing is None else missing
        blank = self.blank if self.blank is None or suppressed is None else self.blank.suppressed(suppressed)
        return Column(self.variable if variable is None else variable, values, gone, blank, self.digits)

    def as_stored(self) -> Column:
        """Column of the numbers as the file holds them, which are on no grid."""
        if self.stored is None:
            return self
        values = np.where(self.missing, np.nan, self.stored)
        return replace(self, variable=replace(self.variable, decimals=None), values=values, stored=None)

    @property
    def lost_codes(self) -> NDArray[np.bool_]:
        """Cells without a value whose missing code, if they had one, was taken away; shape (n,)."""
        gone = np.zeros(len(self), dtype=np.bool_) if self.blank is None else self.blank.codes == HAD_VALUE
        return np.asarray(gone & self.missing)

    def suppressed(self, gone: NDArray[np.bool_]) -> Column:
        """Column in which some cells are suppressed; of those that had no value, the missing code goes.

        Parameters
        ----------
        gone : ndarray of shape (n,), bool
        """
        values = self.values.copy()
        values[gone] = np.nan if self.variable.is_numeric else -1
        blank = None if self.blank is None else self.blank.suppressed(gone)
        return Column(self.variable, values, self.missing | gone, blank, self.digits)

    def __repr__(self) -> str:
        """Return what the column is; values are confidential and stay out of logs and notebooks."""
        return f"Column({self.name!r}, {self.variable.type}, {len(self)} records)"


@dataclass(frozen=True, eq=False)
class Layout:
    """How a file was written, so that the masked file is written alike.

    Attributes
    ----------
    format : str
        Name of the source plugin: ``xml``, ``csv``, ``parquet``; ``dataframe`` for pandas input.
    details : mapping
        What that plugin needs to write the file again (root tag, record element, dialect, encoding). Never holds
        record values.
    as_written : frozenset of str
        For a writer: the variables whose cells are given exactly as the source read them, and are to be written so.
    missing_as_written : mapping of name to pyarrow.ChunkedArray of shape (n,)
        For a writer of text: of other variables, the cells that had no value and have none still, exactly as the source
        read them; null for all others.

    Examples
    --------
    >>> from maskwright import Layout
    >>> Layout("csv", {"delimiter": ";"}).details["delimiter"]
    ';'
    """

    format: str = "dataframe"
    details: Mapping[str, Any] = field(default_factory=dict)
    as_written: frozenset[str] = frozenset()
    missing_as_written: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class WrittenBatch:
    """Consecutive records as they are understood, and as the file holds them.

    Attributes
    ----------
    cells : pyarrow.RecordBatch
        As `Reading.batches` yields them.
    written : mapping of name to pyarrow.Array
        Of the columns whose cells the file holds in another form (quoted, with a decimal comma): those, in whatever
        form the source's `write` takes back.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from maskwright import WrittenBatch
    >>> batch = WrittenBatch(pa.record_batch({"wage": ["1.5"]}), {"wage": pa.array(['"1,5"'])})
    >>> batch.cells.num_rows
    1
    """

    cells: Any
    written: Mapping[str, Any] = field(default_factory=dict)


def many_groups(name: str) -> str:
    """Several households, or what they are called: ``firm records``."""
    return "households" if name == "household" else f"{name} records"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Microdata: columns of equal length, in file order.

    Attributes
    ----------
    columns : tuple of Column
        In file order; names are unique.
    layout : Layout
        How the file was written.
    origin : ndarray of shape (n,), int64, or None
        For every record the 0-based position of the original record it comes from, when records were dropped
        (sampling) or are paired by a key, in any order; None when record i comes from original record i.
    households : ndarray of shape (n,), int64, or None
        Household of each record, 0..c-1, when the pipeline declares ``data: cluster``.
    cluster : str or None
        The variable that says so.
    group_name : str, default "household"
        What a household is called where messages speak of it: the upper level of data of several levels.
    doubts : tuple of Doubt
        What reading did not surely understand.
    notes : tuple of str
        What reading did that a person should know: cells coerced, missing cells counted, identifiers dropped.
    of_file : mapping of name to VariableDeclaration, or None
        What the file itself says of its variables; None: its format says nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Column, Dataset, Variable
    >>> age = Column(Variable("age", "integer", decimals=0), np.array([31.0, 47.0]), np.zeros(2, dtype=bool))
    >>> data = Dataset((age,))
    >>> data
    Dataset(2 records, 1 variables: age)
    >>> data.matrix(["age"])
    array([[31.],
           [47.]])
    """

    columns: tuple[Column, ...]
    layout: Layout = field(default_factory=Layout)
    origin: NDArray[np.int64] | None = None
    households: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    cluster: str | None = None
    of_file: Mapping[str, VariableDeclaration] | None = None
    group_name: str = "household"

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise InputError(f"variable names must be unique; twice: {', '.join(twice)}")
        if len({len(column) for column in self.columns}) > 1:
            raise InputError("all columns must have the same number of records")

    @property
    def groups_said(self) -> str:
        """Several households, by their name."""
        return many_groups(self.group_name)

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Column:
        found = self._by_name.get(name)
        if found is None:
            raise InputError(unknown_name("variable", name, self.names))
        return found

    @cached_property
    def _by_name(self) -> Mapping[object, Column]:
        """Columns by name: of some thousand, each is looked up many times."""
        return {column.name: column for column in self.columns}

    def __repr__(self) -> str:
        """Return size and names; values are confidential and stay out of logs and notebooks."""
        shown = ", ".join(self.names[:8]) + (", ..." if len(self.columns) > 8 else "")
        return f"Dataset({len(self)} records, {len(self.columns)} variables: {shown})"

    def to_pandas(self) -> pd.DataFrame:
        """Return the records as a pandas DataFrame; nominal variables become categoricals."""
        from maskwright.data.frames import frame_from_dataset

        return frame_from_dataset(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Variable names in file order."""
        return tuple(column.name for column in self.columns)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables in file order."""
        return tuple(column.variable for column in self.columns)

    def matrix(self, names: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Values of the named variables as float64, codes for nominal ones; shape (n, p), NaN where missing."""
        chosen = self.names if names is None else names
        result = np.empty((len(self), len(chosen)), dtype=np.float64)
        for position, name in enumerate(chosen):
            column = self[name]
            result[:, position] = column.values
            if not column.variable.is_numeric:
                result[column.missing, position] = np.nan
        return result

    def as_published(self) -> Dataset:
        """Copy that forgets how the file holds numbers which were read as decimals: it is these that are published."""
        return self.with_columns({each.name: replace(each, stored=None) for each in self if each.stored is not None})

    def with_columns(self, changed: Mapping[str, Column]) -> Dataset:
        """Copy with the named columns replaced; order kept."""
        return replace(self, columns=tuple(changed.get(column.name, column) for column in self.columns))

    def taken(self, rows: NDArray[np.int64]) -> Dataset:
        """Copy with these records only, in this order; `origin` says where they come from."""
        columns = tuple(each.taken(rows) for each in self.columns)
        origin = rows if self.origin is None else self.origin[rows]
        households = None if self.households is None else np.unique(self.households[rows], return_inverse=True)[1]
        return replace(self, columns=columns, origin=origin, households=households)

    def without(self, names: Sequence[str]) -> Dataset:
        """Copy without the named columns."""
        return replace(self, columns=tuple(column for column in self.columns if column.name not in names))
