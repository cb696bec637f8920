"""A process that runs cells, one line of JSON for each: ``python -m maskwright.experiments.worker``.

The first line is ``{"experiment": file, "text": its text}`` and is not answered. Each further line is a task, answered
by the result of `CellRunner.run`. The process ends when its input does, also when the process that asks was killed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, Any

from maskwright.experiments.cells import CellRunner, one_line
from maskwright.experiments.experiment import Experiment, experiment_of
from maskwright.foundation.errors import MaskwrightError
from maskwright.foundation.processes.signals import prevent_core_dumps
from maskwright.foundation.yaml_document import from_python


def task_of(index: int, edits: str, values: dict[str, Any], seed: int, labels: list[str]) -> dict[str, Any]:
    """One run of a cell, as plain data."""
    return {"family": index, "edits": edits, "values": values, "seed": seed, "measures": labels}


def perform(runner: CellRunner, experiment: Experiment, task: dict[str, Any]) -> dict[str, Any]:
    """Do one task."""
    place = experiment.family_node(task["family"]).place
    values = {name: from_python(value, place) for name, value in task["values"].items()}
    cell = experiment.cell(task["family"], task["edits"], values)
    measures = [request for request in experiment.measures if request.label in task["measures"]]
    return runner.run(cell, task["seed"], measures)


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer each line of `requests` with one line, until they end."""
    runner = CellRunner()
    first = json.loads(requests.readline())
    experiment = experiment_of(Path(first["experiment"]), first["text"])
    for line in requests:
        try:
            found = perform(runner, experiment, json.loads(line))
        except MaskwrightError as error:
            found = {"status": "failed", "problem": one_line(error), "seconds": 0.0}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    prevent_core_dumps()
    # Whatever a plugin prints must not be taken for an answer.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, channel)
