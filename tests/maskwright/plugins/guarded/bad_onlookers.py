"""Bad observers and reports: plugins that are told of a run, and have nothing to say in it."""

from __future__ import annotations

import sys
from typing import Any

from bad_plugins import BadPlugin

from maskwright import Report


def zeros(step, method, block, masked):
    masked.values[:] = 0.0


def zeros_by_force(step, method, block, masked):
    masked.values.setflags(write=True)
    masked.values[:] = 0.0


def zeros_in_memory(step, method, block, masked):
    memory = masked.values.base.obj
    memory.setflags(write=True)
    memory[:] = 0.0


def zeros_before(step, method, block):
    block.values[:] = 0.0


def exits(step, method):
    sys.exit(0)


def replaces_notes(masked):
    masked.notes["warnings"] = []


def prints_the_block(block):
    print(block.values)


def _observer(name: str, hook: str, function: Any, says: str) -> BadPlugin:
    return BadPlugin(name, "observer", {hook: function}, says)


OBSERVERS = (
    _observer(
        "writes zeros into what was masked", "after_step", zeros,
        "tried to change what it was given, which is read-only, in step 1: ValueError at bad_onlookers",
    ),
    _observer(
        "makes what was masked writable", "after_step", zeros_by_force,
        "failed in step 1: ValueError at bad_onlookers.py",
    ),
    _observer(
        "replaces warnings", "after_step", replaces_notes,
        "which is read-only, in step 1: TypeError at bad_onlookers.py",
    ),
    _observer(
        "writes zeros into the block", "before_step", zeros_before,
        "which is read-only, in step 1: ValueError at bad_onlookers.py",
    ),
    _observer("sys.exit(0)", "before_step", exits, "failed in step 1: SystemExit at bad_onlookers.py"),
)  # fmt: skip
"""Observers that are refused."""

HARMLESS_OBSERVERS = (
    _observer("writes zeros into the memory of what was masked", "after_step", zeros_in_memory, ""),
    _observer("prints the block", "after_step", prints_the_block, ""),
)
"""Observers that change nothing, whatever they try: they have copies, and their standard output is kept apart."""


def edits_the_record(path, record):
    record["seed"] = 2


def edits_deeply(path, record):
    record["pipeline"]["settings"]["protect"][0]["method"] = "another"


def appends(path, record):
    record["notices"].append({"kind": "reading", "message": "all is well", "is_caution": False})


def ends_the_program(path, record):
    sys.exit(0)


def writes_nothing(path, record):
    """Leave the file as it is."""


def _report(name: str, write: Any, says: str) -> BadPlugin:
    report = Report(name="spoiler", write=write, suffixes=(".txt",))
    return BadPlugin(name, "report", report, says, settings=("output.spoiler=report.txt",))


REPORTS = (
    _report("edits the seed in the record", edits_the_record, "read-only,"),
    _report("edits the record deeply", edits_deeply, "read-only,"),
    _report("appends to the notices", appends, "failed: AttributeError"),
    _report("sys.exit(0)", ends_the_program, "failed: SystemExit"),
)
