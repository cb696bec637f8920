"""A table of what a measure found, which reports draw."""

from __future__ import annotations

from dataclasses import dataclass


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
            raise ValueError(f"table {self.name}: every row needs a label and {len(self.columns) - 1} figure(s)")
