"""The report for a browser: one file that needs no network and runs no script."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright import Report, wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Template

BAR_WIDTH = 220.0


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
    shown = {
        "record": record,
        "verdict": wording.verdict(record),
        "classes": wording.classes_of_equal_records(record["k"]) if record["k"]["expected"] is not None else [],
        "measures": [_measure(label, measure) for label, measure in record["measures"].items()],
        "steps": record["plan"]["steps"],
        "arrived": sum(edit["violations_on_arrival"] or 0 for edit in record["edits"]),
        # What the plan warns of is among the notices too: each is said once.
        "notices": list(dict.fromkeys([*record["plan"]["warnings"], *record["notices"]])),
        "not_applicable": any(edit.get("not_applicable") for edit in record["edits"]),
        "total_seconds": sum(record["seconds"].values()),
    }
    path.write_text(_template().render(shown), encoding="utf-8", newline="\n")


def _measure(label: str, measure: Mapping[str, Any]) -> dict[str, Any]:
    """Return a measure with the bars of its parts and variables; a bar's length is its share of the largest."""
    return {
        **measure,
        "label": label,
        "text": wording.with_unit(measure["value"], measure["unit"]),
        "better": wording.DIRECTION.get(measure["direction"], measure["direction"]),
        "parts": _bars(measure["parts"], measure["unit"]),
        "per_variable": _bars(measure["per_variable"], measure["unit"]),
    }


def _bars(values: Mapping[str, float | None], unit: str) -> list[dict[str, Any]]:
    lengths = {name: abs(value) for name, value in values.items() if value is not None and math.isfinite(value)}
    longest = max(lengths.values(), default=0.0)
    return [
        {
            "name": name,
            "text": wording.with_unit(value, unit),
            "width": round(BAR_WIDTH * lengths.get(name, 0.0) / longest, 1) if longest else 0.0,
        }
        for name, value in values.items()
    ]


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
    environment.globals["bar_width"] = BAR_WIDTH
    return environment.get_template("report.html.j2")


HTML = Report(
    name="report",
    write=write_html,
    suffixes=(".html", ".htm"),
    summary="Verdict, edits, k, measures, plan and files as one self-contained HTML file.",
)
