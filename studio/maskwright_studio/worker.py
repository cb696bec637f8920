"""The process of one job: progress and result in lines of JSON, with summaries of runs and experiments."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from maskwright import Compared, MeasureRecord, Progress


def compared_cells(compared: Compared, folder: Path) -> dict[str, Any]:
    """Cells of an experiment as plain data.

    Returns ``risk``, ``loss``, ``score``: columns; ``columns``: all of them; ``units``: of measures, by column;
    ``best``, ``front``: cells; ``cells``: each with ``figures`` by column, ``why_not`` it can be chosen, and else its
    ``pipeline`` and the ``file`` of that.
    """
    labels = [each.label for each in compared.experiment.measures]
    measured = [
        column for column in map(str, compared.points.columns)
        if not column.endswith(" sd") and any(column == label or column.startswith(f"{label}.") for label in labels)
    ]  # fmt: skip
    cells = []
    for cell in compared.cells:
        figures = {column: compared.value(cell.name, column) for column in measured}
        why_not, file, text = "", "", ""
        try:
            path, text = compared.pipeline_text(cell.name)
            file = Path(os.path.relpath(path, folder)).as_posix()
        except mw.InputError as error:
            why_not = error.problems[0].sentence
        cells.append(
            {
                "name": cell.name, "family": cell.family, "edits": cell.edits,
                "settings": {name: str(value) for name, value in cell.values.items()},
                "figures": {column: value if math.isfinite(value) else None for column, value in figures.items()},
                "why_not": why_not, "pipeline": text, "file": file,
            }
        )  # fmt: skip
    units = {
        column: each.measure.unit for column in measured for each in compared.experiment.measures
        if column == each.label
    }  # fmt: skip
    return {
        "units": units, "risk": compared.risk, "loss": compared.loss, "score": compared.score, "columns": measured,
        "best": compared.best, "front": list(compared.front), "cells": cells,
        "computed": compared.computed, "cached": compared.cached, "folder": compared.folder.name,
    }  # fmt: skip


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
    """A run as plain data."""
    run = mw.RunRecord.model_validate(record)
    return {
        "ok": run.ok,
        "records": run.records,
        "verdict": mw.wording.verdict(run) if run.ok else "",
        "remarks": [[title, text] for title, text in mw.wording.release_remarks(run)],
        "edits": [
            {
                "name": each.name, "text": each.text, "severity": each.severity, "before": each.violations_on_arrival,
                "after": each.violations, "kept_by": mw.wording.kept_as_planned(each), "adjusted": each.adjusted,
                "level": each.level or "",
            }
            for each in run.edits
        ],
        "classes": [
            {"about": about, "k": each.expected, "is_promised": is_promised,
             "smallest": each.smallest, "below": each.below}
            for about, each, is_promised in mw.wording.classes_of_equal_records(run)
        ],
        "measures": [_measure(label, each) for label, each in run.measures.items()],
        "doubts": [each.model_dump(mode="json") for each in run.doubts],
        "files": [_file(key, each.file, folder) for key, each in run.outputs.items()],
        "seconds": dict(run.seconds),
        "rows": rows_of(record) if run.ok else None,
    }  # fmt: skip


def rows_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a run says of the rows that it wrote, and by which files: with hashes, as those may be others by now."""
    renewed = record["release"]["new_keys"]
    variables = record["variables"]
    read = [each for each in record["inputs"] if each["role"] == "data"]
    return {
        "files": {key: each.get("sha256") for key, each in record["outputs"].items()},
        "inputs": [[each["file"], each["bytes"], each["sha256"]] for each in read],
        "pipeline": next((each["file"] for each in record["inputs"] if each["role"] == "pipeline"), ""),
        "is_kept": record["release"]["order"] == "kept",
        "new_keys": renewed,
        "left_out": sum(record.get("left_out", {}).values()),
        "is_drawn": record.get("loss_by_step") is None,
        "untouched": [each["name"] for each in variables if not each["altered"] and each["name"] not in renewed],
        "violating": [each["name"] for each in record["edits"] if each["violations"] and each.get("form") is None],
    }


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


PATIENCE = 2.0
"""Seconds between asking this process to end and ending it."""

SHARE = 0.005
"""Least progress that is worth a line."""


class JobReporter:
    """Reporter that writes lines of JSON."""

    def __init__(self, say: Callable[[Mapping[str, object]], None]) -> None:
        self._say = say

    def stage(self, title: str) -> Progress:
        """Say that a stage begins, and then its shares."""
        self._say({"stage": title})
        last = 0.0

        def progress(share: float) -> None:
            nonlocal last
            if share >= 1 or share - last >= SHARE:
                last = share
                self._say({"share": min(1.0, share)})

        return progress

    def notice(self, text: str) -> None:
        """Say a sentence."""
        self._say({"caution" if isinstance(text, mw.Caution) else "notice": text})


def main() -> None:
    """Do what the first line of standard input asks for."""
    write = line_writer()
    request = json.loads(_first_line())
    threading.Thread(target=_end_with_the_studio, daemon=True).start()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        write(outcome(request, JobReporter(write)))
    except KeyboardInterrupt:
        write({"interrupted": mw.wording.release_sentence()})
        raise


def line_writer() -> Callable[[Mapping[str, object]], None]:
    """What writes lines of JSON to standard output; what plugins print goes nowhere."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    writing = threading.Lock()

    def write(message: Mapping[str, object]) -> None:
        with writing:
            lines.write(json.dumps(message, allow_nan=False) + "\n")
            lines.flush()

    return write


def read_requests(take: Callable[[dict[str, Any]], None]) -> None:
    """Take the lines of standard input; at their end the studio is gone, and nothing here is worth keeping."""
    for line in _input_lines():
        with contextlib.suppress(ValueError):
            take(json.loads(line))
    os._exit(0)


def _input_lines() -> Iterator[bytes]:
    """Lines of standard input, by the system's own calls: a thread inside `sys.stdin` would keep this from ending."""
    rest = b""
    while found := os.read(0, 65536):
        *whole, rest = (rest + found).split(b"\n")
        yield from whole


def outcome(request: Mapping[str, Any], reporter: JobReporter) -> dict[str, object]:
    """What a job comes to: exit code, result, the files that a run read, and problems where there are some."""
    read: list[dict[str, Any]] = []
    try:
        match request["work"]:
            case "run":
                run = mw.run(request["pipeline"], reporter=reporter).record
                result = run_summary(run, Path(request["folder"]))
                read = run["inputs"]
            case "compare":
                compared = mw.compare(request["experiment"], reporter=reporter)
                result = compared_cells(compared, Path(request["folder"]))
            case other:
                raise ValueError(other)
    except mw.MaskwrightError as error:
        record = getattr(error, "record", None)
        problems = [problem_fields(each, request.get("folder", "")) for each in error.problems]
        summary = None if record is None else run_summary(record, Path(request["folder"]))
        read = [] if record is None else record["inputs"]
        return {"code": error.exit_code, "result": summary, "read": read, "problems": problems}
    return {"code": 0, "result": result, "read": read}


def planned(plan: Mapping[str, Any]) -> dict[str, object]:
    """A plan as the page shows it: cautions apart from other notices, and which steps have clusters."""
    notices = [*plan.get("warnings", ()), *plan.get("notices", ())]
    cautions, rest = (
        list(dict.fromkeys(each["message"] for each in notices if each["is_caution"] is own)) for own in (True, False)
    )
    steps = [{**each, "makes_clusters": _makes_clusters(each["method"])} for each in plan.get("steps", ())]
    return {**plan, "steps": steps, "cautions": cautions, "notices": rest}


def _makes_clusters(method: str) -> bool:
    """Whether a method has clusters and averages; of one that only the pipeline knows it is taken to be so."""
    try:
        found = mw.find_method(method)
    except mw.MaskwrightError:
        return True
    return isinstance(found, mw.Method) and found.makes_clusters


def problem_fields(problem: mw.Problem, folder: str) -> dict[str, object]:
    """A mistake, or a doubt, as the page shows it."""

    def short(text: str | None) -> str:
        return (text or "").replace(f"{folder}/", "") if folder else text or ""

    place = problem.place
    finding = problem.finding
    doubt = finding if finding is not None and finding.severity == "doubt" else None
    # The page has a form for waivers in the place of their text.
    hint = "" if finding is not None and finding.kind == "nothing-released" else problem.hint
    return {
        "doubt": doubt.kind if doubt else "", "message": short(doubt.sentence if doubt else problem.sentence),
        "hint": short(hint), "file": short(place.file) if place else "",
        "line": (place.line or 0) if place else 0, "column": (place.column or 0) if place else 0,
        "excerpt": (place.text or "").strip() if place else "",
    }  # fmt: skip


def with_place(problem: mw.Problem) -> str:
    """A problem as the command line shows it, without its hint."""
    return str(replace(problem, hint=None))


def _first_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            break
        line += byte
    return line


def _end_with_the_studio() -> None:
    """Wait for the end of standard input; a thread that waits in `sys.stdin` would keep the interpreter from ending."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
