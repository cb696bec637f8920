"""Measures on the terminal: a row for each, with its threshold, and why one has no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from maskwright.cli.show.screen import console, item, show, table_of, without_column
from maskwright.release.record.measure_record import MeasureRecord
from maskwright.release.wording import figure, names, with_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

NO_VALUE = ("not defined", "undefined")
MOST_LEFT_OUT = 3


def print_measures(shown: Mapping[str, object]) -> None:
    """Print measures: value with its unit, its interval, which direction is better, and the threshold if there is one.

    Of a measure without a value the first note says why.

    `shown`: as ``maskwright measure --json`` prints them.
    """
    print_table_of_measures(console(), {label: MeasureRecord.model_validate(each) for label, each in shown.items()})


def print_table_of_measures(out: Console, measures: Mapping[str, MeasureRecord]) -> None:
    """Print a table of measures, and what has no place in it; parameters as in the record of a run."""
    some = any(measure.interval for measure in measures.values())
    table = table_of(
        "measure", "before", "value (95 %)" if some else "value", "leaves out", "better", "threshold", "parts"
    )
    table.columns[1].justify = table.columns[2].justify = "right"
    for label, measure in measures.items():
        name = label if measure.kind == label else f"{label} ({measure.kind})"
        table.add_row(
            Text(name, style="bold red" if measure.missed else ""),
            "" if measure.before is None else with_unit(measure.before.value, measure.unit),
            with_unit(measure.value, measure.unit) + _interval(measure),
            Text(names(measure.leaves_out, MOST_LEFT_OUT), style="bold"),
            measure.direction,
            _thresholds(measure),
            _parts(measure.parts),
        )
    if not any(map(_thresholds, measures.values())):
        table = without_column(table, 5)
    if not any(measure.leaves_out for measure in measures.values()):
        table = without_column(table, 3)
    if all(measure.before is None for measure in measures.values()):
        table = without_column(table, 1)
    show(out, table)
    for label, measure in measures.items():
        if measure.value is None:
            why = [note for note in measure.notes if note.startswith(NO_VALUE)] or measure.notes
            for note in why[:1]:
                item(out, f"{label}: ", note)
        elif measure.sentence:
            item(out, f"{label}: ", measure.sentence)


def _interval(measure: MeasureRecord) -> str:
    if measure.interval is None:
        return ""
    low, high = measure.interval
    return f" ({figure(low)} to {figure(high)})"


def _thresholds(measure: MeasureRecord) -> str:
    said = []
    if measure.threshold is not None:
        said.append(_threshold(measure.threshold, measure.direction, met=measure.met is True))
    said += [
        f"{name} {_threshold(each.threshold, each.direction, met=each.met)}"
        for name, each in measure.part_thresholds.items()
    ]
    return ", ".join(said)


def _threshold(bound: float, direction: str, *, met: bool) -> str:
    return f"{'<=' if direction == 'lower' else '>='} {figure(bound)} {'met' if met else 'missed'}"


def _parts(parts: Mapping[str, float | None]) -> str:
    names = list(parts)
    if len(names) > 5:
        return f"{len(names)} parts, {names[0]} {figure(parts[names[0]])} … {names[-1]} {figure(parts[names[-1]])}"
    return ", ".join(f"{name} {figure(parts[name])}" for name in names)
