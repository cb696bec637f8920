"""The report for a browser: one file that needs no network and runs no script."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright import Report, RunRecord, wording
from maskwright_builtin.reports.pictures import LEFT, Picture, pictures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Template

    from maskwright import MeasureRecord, SectionRecord

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
    """A section of a plugin as the page shows it."""

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
        "verdict": wording.verdict(found),
        "waived": [doubt for doubt in found.doubts if doubt.because is not None],
        "unmasked": wording.published_unmasked(found),
        "classes": classes,
        "k_tiles": wording.smallest_of_each_k(found) if classes else [],
        "whose_quasi_identifiers": wording.whose_quasi_identifiers(found),
        "promised": wording.promised_classes(found),
        "several_k": len({own.expected for _, own in classes}) > 1,
        "told_apart": wording.groups_told_apart(found),
        "how_counted": wording.how_classes_are_counted(found),
        "measures": [
            _measure(number, label, measure) for number, (label, measure) in enumerate(found.measures.items(), 1)
        ],
        "sections": [_section(section) for section in found.sections],
        "steps": found.plan.steps,
        "arrived": sum(edit.violations_on_arrival for edit in found.edits),
        # What the plan warns of is among the notices too, and so are cautions: each is said once.
        "notices": [
            each for each in dict.fromkeys([*found.plan.warnings, *found.notices]) if each not in found.cautions
        ],
        "not_applicable": any(edit.not_applicable for edit in found.edits),
        "total_seconds": sum(found.seconds.values()),
    }
    path.write_text(_template().render(shown), encoding="utf-8", newline="\n")


def _measure(number: int, label: str, measure: MeasureRecord) -> ShownMeasure:
    units = {name: measure.part_units.get(name, measure.unit) for name in measure.parts}
    parts = _bars(measure.parts, units, {} if measure.before is None else measure.before.parts)
    own = dict.fromkeys(measure.per_variable, measure.unit)
    per_variable = _bars(measure.per_variable, own, {} if measure.before is None else measure.before.per_variable)
    return ShownMeasure(label, measure, parts, per_variable, pictures(number, measure))


def _section(section: SectionRecord) -> ShownSection:
    figures = [
        (figure.caption, _bars(figure.values, dict.fromkeys(figure.values, figure.unit), {}))
        for figure in section.figures
    ]
    return ShownSection(section, tuple(figures))


def _bars(
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
