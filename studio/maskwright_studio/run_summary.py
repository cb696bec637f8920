"""What the page Run is told of a run that ended: verdict, edits, measures, doubts and files; no seed and no hash."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright import MeasureRecord

MAY_LEAVE = {
    "data": "the masked data",
    "edits": "the rules that hold in the masked data",
    "codebook": "what the masked data hold, and what was done with them",
    "public_record": "what may be published with the data",
}
"""Outputs that are made for others; every other one stays."""

STAYS = {
    "report": "the report with its risks, for those who decide about the release",
    "record": "everything about the run, with its seed",
    "svrl": "the validation, record by record",
    "key_map": "which original record each masked one is",
}

LARGEST_SHOWN = 5_000_000
"""Bytes of a file that a browser shows well."""

SHOWN = (".csv", ".html", ".json", ".sch", ".svrl", ".tsv", ".txt", ".xml", ".yaml", ".yml")


def run_summary(record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A run as plain data.

    `record`: as `RunResult.record` has it, or the refusal of a release. `folder`: that names of files are relative to.
    """
    run = mw.RunRecord.model_validate(record)
    promised = {group.requested for group in run.k.groups if group.guaranteed}
    return {
        "ok": run.ok,
        "records": run.records,
        "verdict": mw.wording.verdict(run) if run.ok else "",
        "beside": [[title, text] for title, text in mw.wording.beside_verdict(run)],
        "edits": [
            {
                "name": each.name, "text": each.text, "severity": each.severity, "before": each.violations_on_arrival,
                "after": each.violations, "kept_by": mw.wording.kept_as_planned(each), "adjusted": each.adjusted,
            }
            for each in run.edits
        ],
        "classes": [
            {"about": about, "k": each.expected, "is_promised": each.expected in promised,
             "smallest": each.smallest, "below": each.below}
            for about, each in mw.wording.classes_of_equal_records(run)
        ],
        "measures": [_measure(label, each) for label, each in run.measures.items()],
        "doubts": [each.model_dump(mode="json") for each in run.doubts],
        "files": [_file(key, each.file, folder) for key, each in run.outputs.items()],
        "seconds": dict(run.seconds),
    }  # fmt: skip


def _file(key: str, path: str, folder: Path) -> dict[str, Any]:
    """A file that was written, and who may have it; one of a key that is not known stays in the house."""
    kind = key.split(maxsplit=1)[0]
    found = Path(path)
    is_file = found.is_file()
    return {
        "key": key, "file": Path(os.path.relpath(path, folder)).as_posix(), "leaves": kind in MAY_LEAVE,
        "what": MAY_LEAVE.get(kind) or STAYS.get(kind, "written by a plugin, which knows who may have it"),
        "is_file": is_file, "can_be_shown": is_file and found.stat().st_size <= LARGEST_SHOWN
        and found.suffix.lower() in SHOWN,
    }  # fmt: skip


def _measure(label: str, found: MeasureRecord) -> dict[str, Any]:
    thresholds = [] if found.threshold is None else [(label, found.threshold, bool(found.met))]
    thresholds += [(f"{label}.{name}", each.threshold, each.met) for name, each in found.part_thresholds.items()]
    return {
        "label": label, "kind": found.kind, "figure": found.value, "unit": found.unit,
        "value": mw.wording.with_unit(found.value, found.unit),
        "better": found.direction, "sentence": found.sentence, "notes": list(found.notes),
        "parts": {
            name: mw.wording.with_unit(value, found.part_units.get(name, found.unit))
            for name, value in found.parts.items()
        },
        "thresholds": [{"name": name, "threshold": value, "met": met} for name, value, met in thresholds],
    }  # fmt: skip
