"""The process of one job: is told what to do in a line of JSON, says how far it is in lines, and ends with its result.

It ends by itself when the studio does: whoever holds the other end of its standard input is gone then.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.compared_cells import compared_cells
from maskwright_studio.run_summary import run_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from maskwright import Progress

PATIENCE = 2.0
"""Seconds between asking this process to end and ending it."""

DOUBT = re.compile(r"W\d+ (?P<name>[a-z-]+): (?P<said>.*)", re.DOTALL)
"""How a problem begins that is a doubt."""

SHARE = 0.005
"""Least progress that is worth a line."""


class Told:
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
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # what plugins print is no line of ours
    writing = threading.Lock()

    def say(told: Mapping[str, object]) -> None:
        with writing:
            lines.write(json.dumps(told, allow_nan=False) + "\n")
            lines.flush()

    request = json.loads(_first_line())
    threading.Thread(target=_end_with_the_studio, daemon=True).start()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    say(outcome(request, Told(say)))


def outcome(request: Mapping[str, Any], reporter: Told) -> dict[str, object]:
    """What a job comes to: exit code, result, the files that a run read, and problems where there are some.

    `request`: ``{"work": "run", "pipeline": PATH, "folder": PATH}``, or ``{"work": "compare", "experiment": PATH,
    "folder": PATH}``.
    """
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
        problems = [told_problem(each, request.get("folder", "")) for each in error.problems]
        said = None if record is None else run_summary(record, Path(request["folder"]))
        read = [] if record is None else record["inputs"]
        return {"code": error.exit_code, "result": said, "read": read, "problems": problems}
    return {"code": 0, "result": result, "read": read}


def planned(plan: Mapping[str, Any]) -> dict[str, object]:
    """A plan as the page shows it: cautions apart from other notices, and which steps have clusters."""
    notices = plan.get("notices", ())
    cautions = [each for each in notices if isinstance(each, mw.Caution)]
    steps = [{**each, "makes_clusters": _makes_clusters(each["method"])} for each in plan.get("steps", ())]
    rest = [each for each in notices if each not in cautions]
    return {**plan, "steps": steps, "cautions": cautions, "notices": rest}


def _makes_clusters(method: str) -> bool:
    """Whether a method has clusters and averages; of one that only the pipeline knows it is taken to be so."""
    try:
        found = mw.find_method(method)
    except mw.MaskwrightError:
        return True
    return isinstance(found, mw.Method) and found.makes_clusters


def told_problem(problem: mw.Problem, folder: str) -> dict[str, object]:
    """A mistake, or a doubt, as the page shows it.

    `folder`: that names of files are relative to; '' leaves them. Returns ``message`` and ``hint``; ``file``, ``line``,
    ``column`` and ``excerpt`` of its place, '' and 0 for none; ``doubt``: its name, '' for a mistake.
    """

    def short(text: str | None) -> str:
        return (text or "").replace(f"{folder}/", "") if folder else text or ""

    place = problem.place
    doubt = DOUBT.fullmatch(problem.message)
    # The page has a form for waivers in the place of their text.
    hint = "" if problem.message.startswith("nothing was released") else problem.hint
    return {
        "doubt": doubt["name"] if doubt else "", "message": short(doubt["said"] if doubt else problem.message),
        "hint": short(hint), "file": short(place.file) if place else "",
        "line": (place.line or 0) if place else 0, "column": (place.column or 0) if place else 0,
        "excerpt": (place.text or "").strip() if place else "",
    }  # fmt: skip


def with_place(problem: mw.Problem) -> str:
    """A problem as the command line tells it, without its hint."""
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
