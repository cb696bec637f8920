"""What a measure compares and finds: files of levels in, a number, its parts and tables out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from maskwright.foundation.counts import plural
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.html_tables import block, sentence, table
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.plugins.measure import Comparison

    Facts = Mapping[str, Any]
    Rows = Mapping[str, NDArray[np.generic]]
    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import LinkedData


@dataclass(frozen=True, eq=False)
class Measurement:
    """What a measure found.

    Attributes
    ----------
    value : float
        The measure. NaN only when it is not defined for these data, with a note saying why.
    parts : mapping of str to float
        Named parts.
    per_variable : mapping of str to float
    per_record : ndarray of shape (m,), float64, or None
        Contribution of each masked record; confidential, never in the public record.
    interval : tuple of two floats, or None
        95 percent interval of `value`; the measure's docstring says what else it could have been. None for a figure of
        these two files and nothing beyond.
    notes : tuple of str
    sentence : str
        What the value says, in one sentence for someone who has to decide on the release and has read no paper.
    tables : tuple of MeasureTable
        Distributions and other figures that a report draws; confidential.
    leaves_out : tuple of str
        Quasi-identifiers that a risk, and masked variables that a loss does not look at. Filled in by the framework,
        from what the measure says it uses.
    before : Measurement or None
        The same of the original, of a measure that looks at one file (`Measure.of_one_file`). Filled in by the
        framework.

    Examples
    --------
    >>> from maskwright import Measurement
    >>> Measurement(12.5, per_variable={"wages": 20.0, "pensions": 5.0}).value
    12.5
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    per_variable: Mapping[str, float] = field(default_factory=dict)
    per_record: NDArray[np.float64] | None = field(default=None, repr=False)
    interval: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    sentence: str = ""
    tables: tuple[MeasureTable, ...] = ()
    leaves_out: tuple[str, ...] = ()
    before: Measurement | None = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        """Table for notebooks; contributions of records are not shown."""
        figures = [("value", self.value), *self.parts.items(), *self.per_variable.items()]
        rows = [(name, "undefined" if math.isnan(value) else f"{value:,.6g}") for name, value in figures]
        earlier = "" if self.before is None else f"{self.before.value:,.6g}"
        interval = "" if self.interval is None else f"{self.interval[0]:,.6g} to {self.interval[1]:,.6g}"
        return block(
            "Measurement",
            table(("figure", "value"), rows, (1,)),
            sentence(self.sentence),
            sentence(earlier, "before masking:"),
            sentence(interval, "95 percent interval:"),
            sentence(", ".join(self.leaves_out), "leaves out:"),
            *map(sentence, self.notes),
        )


@dataclass(frozen=True)
class MeasureTable:
    """Figures of a measurement that belong side by side, for a report to draw.

    A table of a measure that looks at one file has one column of figures; the framework computes it of the original
    too, and a report draws both. One of a measure that compares two files has two: original, then masked.

    Tables are confidential: they are in the record of the run and in the report, never in the public record. A label
    may be a value of the data only where several records have it, by the rules of the measure.

    Attributes
    ----------
    name : str
        By which the table of the original is found; no two of a measurement are the same.
    title : str
        What it shows, as a heading.
    columns : tuple of str
        Heading of the labels, then of each column of figures, one or two.
    rows : tuple of (str, float, ...)
        A label, and a figure for each column.
    unit : str
        Of the figures. ``records``: counts of records in bands, from low to high; a report shows shares, and joins
        bands of few records with the next.

    Examples
    --------
    >>> from maskwright import MeasureTable
    >>> table = MeasureTable("sizes", "Records by class size", ("size", "records"), (("1", 3.0), ("2", 8.0)), "records")
    >>> [label for label, *_ in table.rows]
    ['1', '2']
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, *tuple[float, ...]], ...]
    unit: str = "percent"

    def __post_init__(self) -> None:
        """Refuse rows that are not as long as the columns."""
        if len(self.columns) not in (2, 3):
            raise ValueError(f"table {self.name}: expected a heading of labels and one or two of figures")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(
                f"table {self.name}: every row needs a label and {plural(len(self.columns) - 1, 'figure')}"
            )


@dataclass(frozen=True)
class Further:
    """What a measure wants to know of every part before it can say what it found.

    Attributes
    ----------
    asked : mapping
        Plain data of JSON: `Merging.partial` gets it in the next round.
    rows_to : {"tasks", "parts"} or None
        Who gets the rows that `Merging.rows` takes from each part; None: no rows are taken. ``tasks``: each row goes to
        one of several tasks, and `Merging.merged` is given what `Merging.counted` says in each. ``parts``: all of them
        are known as ``rows`` of what is asked; `Merging.merged` is given no facts then, and says what is asked next.

    Examples
    --------
    >>> from maskwright import Further
    >>> Further({"center": [3.5]}).asked["center"]
    [3.5]
    """

    asked: Facts
    rows_to: Literal["tasks", "parts"] | None = None


@dataclass(frozen=True)
class PartOfFile:
    """Where the part that rows are taken from lies in its file.

    Attributes
    ----------
    first : int
        Number of its first record, 0-based.
    records : int
        Of the whole file.
    tasks : int
        That rows may go to.

    Examples
    --------
    >>> from maskwright import PartOfFile
    >>> PartOfFile(5_000, 20_000, 1).first
    5000
    """

    first: int
    records: int
    tasks: int


@dataclass(frozen=True, kw_only=True)
class Merging:
    """The form of a measure in which parts of a file are measured one by one, on different machines.

    Attributes
    ----------
    partial : callable
        ``(comparison, params, asked) -> facts`` of one part: plain data of JSON, whose size does not grow with the
        records. `asked` is None in the first round, and then what `Further` said. A pure function of a module.
    merged : callable
        ``(facts, params, asked) -> Measurement or Further``: `facts` of all parts, in their order. A function of a
        module.
    exact : bool
        Whether the result is that of the file in memory, but for the rounding of sums.
    condensed : callable or None
        ``(facts, params, asked) -> facts``: of some neighbouring parts, in their order, fewer facts in less room that
        `merged` finds the same in; they are never sent and may hold arrays. It is called now and then as facts come, so
        that those of thousands of parts are never held together. None: they are small.
    sampled : bool
        Whether it looks at a sample of a large file; the measurement then has the interval of sampling.
    rows : callable or None
        ``(comparison, params, asked, part) -> (columns, tasks)`` where `Further` asks for rows of each part, a
        `PartOfFile`: columns of equal length by name, and the task, 0 .. part.tasks - 1, that each row goes to. Where a
        part lacks a column, that is 0 in its rows.
    counted : callable or None
        ``(columns, params, asked) -> facts`` of the rows that one task got, those of the parts in their order.
    refused : callable or None
        ``(params) -> str or None``: why these parameters cannot be had over parts; None: they can.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Comparison, Measurement, Merging
    >>> def largest_of_part(comparison: Comparison, params, asked):
    ...     return {"largest": float(np.abs(comparison.masked_values() - comparison.original_values()).max())}
    >>> def largest(facts, params, asked):
    ...     return Measurement(max(each["largest"] for each in facts))
    >>> Merging(partial=largest_of_part, merged=largest).merged([{"largest": 2.0}, {"largest": 7.0}], None, None).value
    7.0
    """

    partial: Callable[[Comparison, Any, Facts | None], Facts]
    merged: Callable[[Sequence[Facts], Any, Facts | None], Measurement | Further]
    condensed: Callable[[Sequence[Facts], Any, Facts | None], Sequence[Facts]] | None = None
    exact: bool = True
    sampled: bool = False
    rows: Callable[[Comparison, Any, Facts | None, PartOfFile], tuple[Rows, NDArray[np.int64]]] | None = None
    counted: Callable[[Rows, Any, Facts | None], Facts] | None = None
    refused: Callable[[Any], str | None] | None = None

    @property
    def result(self) -> Literal["exact", "approximate", "sampled"]:
        """What the result is against that of the file in memory."""
        if self.sampled:
            return "sampled"
        return "exact" if self.exact else "approximate"


@dataclass(frozen=True, eq=False)
class ComparedLevels:
    """Both files of a comparison, each with its levels. Read-only.

    Attributes
    ----------
    original, masked : LinkedData
        Of the same levels; `masked` is what was read back.
    origin : mapping of level name to ndarray of shape (m,), int64
        Original record of each masked record of a level; of levels that are not in it, records are paired in order.
    variables : mapping of level name to tuple of str
        Numeric variables that are compared: those that are masked, or, on a level where nothing is, all numeric
        quasi-identifiers and confidential ones.
    weights : mapping of level name to ndarray of shape (n,), float64
        Sampling weights of the original records, of levels that have some.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> persons = pd.DataFrame({"hhid": [1, 1, 2], "pno": [1, 2, 1], "region": ["N", "N", "S"], "age": [40, 12, 71]})
    >>> levels = {"household": {"key": "hhid", "variables": ["region"]}, "person": {"key": "pno", "in": "household"}}
    >>> linked = mw.linked_data(persons, levels)
    >>> ComparedLevels = mw.ComparedLevels
    >>> ComparedLevels(linked, linked).keys("region")[1]
    array([0, 1])
    """

    original: LinkedData
    masked: LinkedData
    origin: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def top(self) -> str:
        """Name of the upper level."""
        return self.original.names[0]

    @property
    def lowest(self) -> str:
        """Name of the lower level."""
        return self.original.names[-1]

    def origin_of(self, level: str) -> NDArray[np.int64] | slice:
        """What takes the originals of a level's masked records out of an array of all originals."""
        return self.origin.get(level, slice(None))

    def masked_weights(self, level: str) -> NDArray[np.float64] | None:
        """Weights of the originals of the masked records of a level; shape (m,). None where there are none."""
        weights = self.weights.get(level)
        return None if weights is None else weights[self.origin_of(level)]

    def level_of(self, name: str) -> str:
        """Name of the level that has a variable.

        Raises
        ------
        InputError
            No level has it; with the nearest name.
        """
        names = self.variable_names()
        for level, own in names.items():
            if name in own:
                return level
        raise InputError(unknown_name("variable", name, [each for own in names.values() for each in own]))

    def variable_names(self) -> dict[str, tuple[str, ...]]:
        """Names of the variables of both files, by level; keys and pointers are none."""
        return {
            level.name: tuple(
                name
                for name in level.data.names
                if name not in level.key_columns and name in self.masked[level.name].data
            )
            for level in self.original
        }

    def with_role(self, level: str, role: str) -> tuple[str, ...]:
        """Names of the variables of a level that have a role in the original."""
        data = self.original[level].data
        return tuple(name for name in self.variable_names()[level] if data[name].variable.role == role)

    def keys(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Any variable, of any type, as codes that are equal where the values are equal.

        Returns
        -------
        ndarray of shape (n,), ndarray of shape (m,)
            Codes 0, 1, ... of the original and of the masked records of its level; -1 where missing.

        Raises
        ------
        InputError
            No level has it.
        """
        level = self.level_of(name)
        from maskwright.data.record_groups import shared_codes  # heavy: plugins are listed without it

        columns: list[Column] = [side[level].data[name] for side in (self.original, self.masked)]
        original, masked = shared_codes(columns)
        return original, masked

    def published_keys(self, name: str) -> NDArray[np.int64]:
        """Any variable as codes of the masked records of its level, which are equal where the same is published.

        Returns
        -------
        ndarray of shape (m,)
            0, 1, ...; -1 where missing. Where missing cells have several codes, these are values too, and -1 is what
            suppressed cells have.

        Raises
        ------
        InputError
            No level has it.
        """
        level = self.level_of(name)
        from maskwright.data.record_groups import published_codes  # heavy: plugins are listed without it

        return published_codes(self.masked[level].data[name])

    def of_original(self) -> ComparedLevels:
        """The original beside itself, as if it were released as it is."""
        return replace(self, masked=self.original, origin={})


def plain_records(linked: LinkedData, level: str) -> Dataset:
    """Records of a level without keys and pointers."""
    found = linked[level]
    return found.data.without([name for name in found.key_columns if name in found.data])


def needs_levels(label: str, place: Place | None = None) -> Problem:
    """Say that a measure of groups and their members is asked of data of one level."""
    return Problem(
        f"{label} measures groups with all their members, and the data have one level: declare data: levels:",
        place,
        "levels: {household: {key: hhid, variables: [region]}, person: {key: pno, in: household}}",
    )
