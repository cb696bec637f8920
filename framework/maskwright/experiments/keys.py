"""What a result depends on, as one hash: with another of any of these, a cached result is not used."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.arrive import read_rules
from maskwright.pipeline.resolved import RuleFile
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.parameter_markers import files_named
from maskwright.plugins.registry import plugins
from maskwright.release.facts import data_facts, file_facts

if TYPE_CHECKING:
    from pydantic import BaseModel

    from maskwright.experiments.experiment import Cell
    from maskwright.pipeline.resolved import MeasureRequest, Pipeline


@dataclass(eq=False)
class Keys:
    """Hashes of masked files and of measures; files of data and rules are read once.

    The key of a masked file holds the bytes of the data, what is declared of them, the edits, the steps with every
    default written out, the seed, and the versions of Maskwright and of the plugins used.
    """

    _inputs: dict[str, str] = field(default_factory=dict)

    def of_run(self, cell: Cell, seed: int) -> str:
        """Key of one run of a cell."""
        active = cell.active
        steps = [
            {
                "method": step.method.name,
                "params": step.params.model_dump(mode="json"),
                "files": _files(step.params),
                "planning": step.planning.model_dump(mode="json"),
                "variables": step.variables,
                "groups": step.groups,
                "partition": None if step.partition is None else step.partition.partition.name,
                "versions": [
                    _version("method", step.method.name),
                    None if step.partition is None else _version("partition", step.partition.partition.name),
                    None if step.aggregation is None else _version("aggregation", str(step.aggregation)),
                ],
            }
            for step in active.steps
        ]
        inputs = self._inputs.setdefault(
            cell.edits, self._hash_of_inputs(cell) if cell.edits not in self._inputs else ""
        )
        # With k = 1 the masked variables are those that the steps left out would have masked.
        masked = None if steps else [(step.variables, step.groups) for step in cell.pipeline.steps]
        # Of a file that is masked without random numbers the seed is nothing but a reason to compute it again.
        return digest([version(BUILT_IN), inputs, steps, masked, None if cell.is_deterministic else seed])

    def of_measure(self, request: MeasureRequest, seed: int) -> str:
        """Key of one measure of a masked file; its label is part of it, as its random numbers depend on it."""
        name = request.measure.name
        drawn = None if request.measure.deterministic else [request.label, seed]
        params = request.params
        return digest([name, params.model_dump(mode="json"), _files(params), _version("measure", name), drawn])

    def _hash_of_inputs(self, cell: Cell) -> str:
        described = cell.pipeline
        data = described.data
        return digest(
            [
                data_facts(data)["sha256"],
                data.source.name,
                _version("source", data.source.name),
                data.params.model_dump(mode="json"),
                {name: each.model_dump(mode="json") for name, each in data.variables.items()},
                data.cluster,
                described.on_input_violation,
                _rules(described),
            ]
        )


def _files(params: BaseModel) -> list[Any]:
    """What stands in the files that parameters name."""
    return [file_facts(path)["sha256"] for path in files_named(params).values()]


def _rules(described: Pipeline) -> list[Any]:
    """Rules as they are written, and the parsed ones: a rule file may include others."""
    files = [
        [each.reader.name, file_facts(each.path)["sha256"], each.params and each.params.model_dump(mode="json")]
        for each in described.edits
        if isinstance(each, RuleFile)
    ]
    return [*files, *([edit.name, edit.text, edit.severity, edit.context] for edit in read_rules(described))]


def _version(kind: str, name: str) -> str:
    info = plugins().info(kind, name)
    return f"{info.distribution} {info.version}"


def digest(content: object) -> str:
    """SHA-256 of plain data."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
