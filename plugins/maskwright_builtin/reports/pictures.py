"""Tables of measures as pictures: bars before and after, drawn in the page itself, with the figures in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright import wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import MeasureRecord, TableRecord

FEWEST = 10
"""Bands of fewer records are joined with the next."""
LONGEST_LABEL = 24
LEFT, LENGTH, RIGHT = 175.0, 290.0, 75.0
"""Room for labels, bars and figures."""
TOP, ROW, BAR = 24.0, 36.0, 12.0
"""Room for what the bars are, height of a row, height of a bar."""

Row = tuple[str, tuple[float | None, ...]]


@dataclass(frozen=True)
class DrawnBar:
    """A bar; `series` is "before" or "after", which says how it is drawn."""

    series: str
    y: float
    length: float
    text: str


@dataclass(frozen=True)
class DrawnRow:
    """A label, cut where it is long, with its bars."""

    label: str
    y: float
    bars: tuple[DrawnBar, ...]


@dataclass(frozen=True)
class Picture:
    """What the page draws of a table.

    `identifier`: no two of a page are the same. `title`, `description`: the description has every figure, for those who
    do not see the bars. `series`: what the bars are, in the order in which they are drawn. `note`: what was done to the
    table.
    """

    identifier: str
    title: str
    description: str
    series: tuple[tuple[str, str], ...]
    rows: tuple[DrawnRow, ...]
    note: str = ""
    width: float = LEFT + LENGTH + RIGHT

    @property
    def height(self) -> float:
        """Of the whole drawing."""
        return TOP + ROW * len(self.rows)


def pictures(number: int, measure: MeasureRecord) -> tuple[Picture, ...]:
    """Pictures of the tables of a measure; of a table with nothing to compare there is none.

    `number`: of the measure on the page.
    """
    before = {} if measure.before is None else {table.name: table for table in measure.before.tables}
    drawn = (
        _picture(f"picture-{number}-{position}", table, before.get(table.name))
        for position, table in enumerate(measure.tables, 1)
    )
    return tuple(each for each in drawn if each is not None)


def _picture(identifier: str, table: TableRecord, before: TableRecord | None) -> Picture | None:
    series, rows = _side_by_side(table, before)
    note = ""
    unit = table.unit
    if unit == "records":
        joined = _joined(rows)
        if len(joined) < len(rows):
            note = f"Bands of fewer than {FEWEST} records are joined with the next."
        rows, unit = _shares(joined), "percent"
    if len(rows) < 2:
        return None
    longest = max((_length(value) for _, figures in rows for value in figures), default=0.0)
    words = "; ".join(
        f"{label}: "
        + ", ".join(f"{name} {wording.with_unit(value, unit)}" for name, value in zip(series, figures, strict=True))
        for label, figures in rows
    )
    kinds = ("before", "after")[-len(series) :]
    return Picture(
        identifier,
        table.title,
        f"Bars by {table.columns[0]}. {words}.",
        tuple(zip(kinds, series, strict=True)),
        tuple(_drawn(position, label, figures, kinds, unit, longest) for position, (label, figures) in enumerate(rows)),
        note,
    )


def _side_by_side(table: TableRecord, before: TableRecord | None) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Names of the series, and rows with a figure of each; the rows that only the original has come last."""
    if len(table.columns) > 2:
        return table.columns[1:], table.rows
    if before is None:
        return ("masked",), table.rows
    earlier, now = dict(before.rows), dict(table.rows)
    none = (None,)
    labels = dict.fromkeys((*now, *earlier))
    return ("original", "masked"), tuple(
        (label, (*earlier.get(label, none), *now.get(label, none))) for label in labels
    )


def _joined(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Bands in which no series has some records, and fewer than `FEWEST`."""
    bands: list[tuple[list[str], list[float]]] = []
    labels: list[str] = []
    counts: list[float] = []
    for label, figures in rows:
        own = [value or 0.0 for value in figures]
        labels = [*labels, label]
        counts = [a + b for a, b in zip(counts, own, strict=True)] if counts else own
        if not _few(counts):
            bands.append((labels, counts))
            labels, counts = [], []
    while counts and bands and _few(counts):
        earlier, more = bands.pop()
        labels, counts = [*earlier, *labels], [a + b for a, b in zip(more, counts, strict=True)]
    if counts and not _few(counts):
        bands.append((labels, counts))
    return tuple((", ".join(names), tuple(sums)) for names, sums in bands)


def _few(counts: Sequence[float]) -> bool:
    return any(0 < count < FEWEST for count in counts)


def _shares(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Percent of the sum of each series."""
    totals = [sum(value or 0.0 for value in column) for column in zip(*(figures for _, figures in rows), strict=True)]
    return tuple(
        (
            label,
            tuple(
                100.0 * (value or 0.0) / total if total else None for value, total in zip(figures, totals, strict=True)
            ),
        )
        for label, figures in rows
    )


def _drawn(
    position: int, label: str, figures: Sequence[float | None], kinds: Sequence[str], unit: str, longest: float
) -> DrawnRow:
    top = TOP + ROW * position
    return DrawnRow(
        label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…",
        top + ROW / 2,
        tuple(_bars(top + (ROW - BAR * len(kinds)) / 2, figures, kinds, unit, longest)),
    )


def _bars(
    top: float, figures: Sequence[float | None], kinds: Sequence[str], unit: str, longest: float
) -> Iterator[DrawnBar]:
    for place, (kind, value) in enumerate(zip(kinds, figures, strict=True)):
        length = LENGTH * _length(value) / longest if longest else 0.0
        yield DrawnBar(kind, round(top + BAR * place, 1), round(length, 1), wording.with_unit(value, unit))


def _length(value: float | None) -> float:
    """What a bar is as long as; 0 where there is nothing to draw."""
    return value if value is not None and math.isfinite(value) and value > 0 else 0.0
