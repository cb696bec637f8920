"""The HTML report: one file without scripts or network, with tables of measures as pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright import Report, RunRecord, wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jinja2 import Template

    from maskwright import MeasureRecord, SectionRecord, TableRecord


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
    """Pictures of the tables of a measure; of a table with nothing to compare there is none."""
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
        tuple(_picture_bars(top + (ROW - BAR * len(kinds)) / 2, figures, kinds, unit, longest)),
    )


def _picture_bars(
    top: float, figures: Sequence[float | None], kinds: Sequence[str], unit: str, longest: float
) -> Iterator[DrawnBar]:
    for place, (kind, value) in enumerate(zip(kinds, figures, strict=True)):
        length = LENGTH * _length(value) / longest if longest else 0.0
        yield DrawnBar(kind, round(top + BAR * place, 1), round(length, 1), wording.with_unit(value, unit))


def _length(value: float | None) -> float:
    """What a bar is as long as; 0 where there is nothing to draw."""
    return value if value is not None and math.isfinite(value) and value > 0 else 0.0


BAR_WIDTH = 220.0


@dataclass(frozen=True)
class Bar:
    """A number with a bar, whose length is its share of the largest."""

    name: str
    text: str
    width: float


@dataclass(frozen=True)
class ShownMeasure:
    """A measure as the page shows it."""

    label: str
    found: MeasureRecord
    parts: tuple[Bar, ...]
    per_variable: tuple[Bar, ...]
    pictures: tuple[Picture, ...]

    @property
    def text(self) -> str:
        """Its value with the unit."""
        return wording.with_unit(self.found.value, self.found.unit)

    @property
    def before(self) -> str:
        """The value in the original with the unit; empty where the measure compares two files."""
        before = self.found.before
        return "" if before is None else wording.with_unit(before.value, self.found.unit)

    @property
    def better(self) -> str:
        """Which direction is better, in words."""
        return wording.DIRECTION[self.found.direction]

    @property
    def left_out(self) -> str:
        """Variables that it leaves out, in words; empty where there is none."""
        return wording.left_out(self.found)


@dataclass(frozen=True)
class ShownSection:
    """A section that the pipeline lists, as the page shows it."""

    found: SectionRecord
    figures: tuple[tuple[str, tuple[Bar, ...]], ...]


def write_html(path: Path, record: Mapping[str, Any]) -> None:
    """Write the report of a finished run.

    Parameters
    ----------
    path : Path
        Where; overwritten.
    record : mapping
        The run record, as in `run.json`. Every text in it is escaped. The seed and the hashes of the inputs are not
        shown: the report is made to be passed on.
    """
    found = RunRecord.model_validate(record)
    classes = wording.classes_of_equal_records(found) if found.k.expected is not None else []
    shown = {
        "record": found,
        "verdict": wording.verdict_reasons(found),
        "waived": [doubt for doubt in found.doubts if doubt.because is not None],
        "unmasked": wording.published_unmasked(found),
        "classes": classes,
        "k_tiles": wording.smallest_of_each_k(found) if classes else [],
        "whose_quasi_identifiers": wording.whose_quasi_identifiers(found),
        "promised": wording.promised_classes(found),
        "several_k": len({own.expected for _, own, _ in classes}) > 1,
        "several_k_of_groups": len({own.expected for own in found.k_of_groups}) > 1,
        "told_apart": wording.groups_told_apart(found),
        "how_counted": wording.how_classes_are_counted(found),
        "measures": [
            _measure(number, label, measure) for number, (label, measure) in enumerate(found.measures.items(), 1)
        ],
        "sections": [_section(section) for section in found.sections],
        "steps": found.plan.steps,
        "arrived": sum(edit.violations_on_arrival for edit in found.edits),
        # What the plan warns of is among the notices too, and so are cautions: each is said once.
        "notices": list(
            dict.fromkeys(each.message for each in (*found.plan.warnings, *found.notices) if not each.is_caution)
        ),
        "warnings": {each.message for each in found.plan.warnings},
        "cautions": list(dict.fromkeys(each.message for each in found.notices if each.is_caution)),
        "not_applicable": any(edit.not_applicable for edit in found.edits),
        "total_seconds": sum(found.seconds.values()),
    }
    path.write_text(_template().render(shown), encoding="utf-8", newline="\n")


def _measure(number: int, label: str, measure: MeasureRecord) -> ShownMeasure:
    units = {name: measure.unit_of(name) for name in measure.parts}
    parts = _figure_rows(measure.parts, units, {} if measure.before is None else measure.before.parts)
    own = dict.fromkeys(measure.per_variable, measure.unit)
    per_variable = _figure_rows(
        measure.per_variable, own, {} if measure.before is None else measure.before.per_variable
    )
    return ShownMeasure(label, measure, parts, per_variable, pictures(number, measure))


def _section(section: SectionRecord) -> ShownSection:
    figures = [
        (figure.caption, _figure_rows(figure.values, dict.fromkeys(figure.values, figure.unit), {}))
        for figure in section.figures
    ]
    return ShownSection(section, tuple(figures))


def _figure_rows(
    values: Mapping[str, float | None], units: Mapping[str, str], before: Mapping[str, float | None]
) -> tuple[Bar, ...]:
    """Bars are relative to the longest of their unit."""
    lengths = {name: abs(value) for name, value in values.items() if value is not None and math.isfinite(value)}
    longest: dict[str, float] = {}
    for name, length in lengths.items():
        longest[units[name]] = max(longest.get(units[name], 0.0), length)
    return tuple(
        Bar(
            name,
            wording.with_unit(value, units[name])
            + (f" (before {wording.with_unit(before[name], units[name])})" if name in before else ""),
            round(BAR_WIDTH * lengths.get(name, 0.0) / longest[units[name]], 1) if longest.get(units[name]) else 0.0,
        )
        for name, value in values.items()
    )


@cache
def _template() -> Template:
    # Jinja is needed once a report is written, not when plugins are listed.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("maskwright_builtin.reports", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "name": lambda path: Path(path).name,
        "count": wording.count,
        "plural": wording.plural,
        "figure": wording.figure,
        "duration": wording.duration,
        "file_size": wording.file_size,
        "step_line": wording.step_line,
    }
    environment.globals["operator_word"] = wording.operator_word
    environment.globals["kept_as_planned"] = wording.kept_as_planned
    environment.globals["loss_by_step"] = wording.loss_by_step
    environment.globals["moved_rows"] = wording.moved_rows
    environment.globals["level_of"] = wording.level_of
    environment.globals["what_adjusted_counts"] = wording.what_adjusted_counts
    environment.globals["bar_width"] = BAR_WIDTH
    environment.globals["label_width"] = LEFT
    return environment.get_template("report.html.j2")


HTML = Report(
    name="report",
    write=write_html,
    suffixes=(".html", ".htm"),
    summary="Verdict, edits, k, measures, plan and files as one self-contained HTML file.",
)
