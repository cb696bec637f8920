"""Cells of an experiment: run in memory, identified by what they depend on, and cached."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import time
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.loading import CheckedInput, load_input, read_rules
from maskwright.commands.running.preparation import plan_of, refuse_steps
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.foundation.errors import InputError, MaskwrightError, Place
from maskwright.foundation.files import PRIVATE, write_text
from maskwright.foundation.progress import Quiet
from maskwright.masking.context import Execution
from maskwright.masking.mask import mask
from maskwright.masking.promised_classes import class_sizes
from maskwright.pipeline.resolved import RuleFile
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.parameter_markers import files_named
from maskwright.plugins.registry import plugins
from maskwright.release.data_file import data_facts, file_facts
from maskwright.release.measures.measuring import compute_measures
from maskwright.release.measures.variable_selection import released_categories, released_variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from maskwright.experiments.experiment import Cell
    from maskwright.pipeline.resolved import MeasureRequest, Pipeline
    from maskwright.plugins.measurement import Measurement


@dataclass(eq=False)
class CellRunner:
    """Where cells are run, one after the other."""

    _loaded: dict[str, CheckedInput] = field(default_factory=dict)

    def loaded(self, cell: Cell) -> CheckedInput:
        """Data and edits of a cell, read when a cell first needs them."""
        if cell.edits not in self._loaded:
            self._loaded[cell.edits] = load_input(cell.pipeline, Quiet())
        return self._loaded[cell.edits]

    def run(self, cell: Cell, seed: int, measures: Sequence[MeasureRequest]) -> dict[str, Any]:
        """Run a cell once.

        Returns plain data without any value of a record: ``status`` ("ok" or "failed"), ``problem`` (one line, of a
        cell that failed), ``violations`` (of edits of severity error), ``adjusted`` (records, summed over edits),
        ``smallest_class`` (of equal whole records), ``measures`` (label to value, parts, and variables left out),
        ``seconds``.
        """
        start = time.perf_counter()
        try:
            found = self._observed(cell, seed, measures)
        except MaskwrightError as error:
            found = {"status": "failed", "problem": one_line(error)}
        except MemoryError:
            found = {"status": "failed", "problem": "there is not enough memory for this cell"}
        except Exception as error:  # noqa: BLE001 - a bug of one plugin must not take the other cells down
            # The message of a bug may hold values of records: only its kind is reported.
            found = {"status": "failed", "problem": f"a bug in Maskwright or in a plugin ({type(error).__name__})"}
        return found | {"seconds": time.perf_counter() - start}

    def _observed(self, cell: Cell, seed: int, measures: Sequence[MeasureRequest]) -> dict[str, Any]:
        refuse_steps(cell.pipeline)
        loaded = self.loaded(cell)
        active = cell.active
        plan = plan_of(active if active.steps else cell.pipeline, loaded)
        original, edits, released = loaded.original, plan.edits, plan.edits
        if active.steps:
            result = mask(original, edits, plan, seed, Execution(), Quiet())
            released, domain = result.edits, result.domain(original)
            masked, adjusted, smallest = result.masked, sum(result.adjusted.values()), result.k["records"]["smallest"]
        else:
            masked, adjusted = original.without(plan.dropped), 0
            domain = Domain.from_dataset(original, domain_tuples(edits))
            smallest, _ = class_sizes(masked, masked.names, 2)
        outcome = check_dataset(masked, released, domain)
        names = (
            *released_variables(original, masked, plan.masked, plan.recoded),
            *released_categories(original, masked, plan.masked),
        )
        found = compute_measures(
            measures, original, masked, plan.edits_on_values, plan.to_json(), seed, Quiet(), names,
            changed=plan.masked if active.steps else (), before=False, drawn=plan.draws_records,
        )  # fmt: skip
        return {
            "status": "ok",
            "problem": None,
            "violations": sum(each.violations for each in outcome.edits if each.severity == "error"),
            "adjusted": adjusted,
            "smallest_class": smallest,
            "measures": {label: _plain(each) for label, each in found.items()},
        }


def one_line(error: MaskwrightError) -> str:
    """First problem of an error, with its place (the file without its folder), how many more there are, what to do."""
    first, more = error.problems[0], len(error.problems) - 1
    place = Place() if first.place is None else first.place
    where = str(replace(place, file=None if place.file is None else Path(place.file).name))
    remedy = "" if not first.hint else f". What to do: {' '.join(first.hint.split())}"
    return f"{where + ': ' if where else ''}{first.sentence}" + (f" (and {more} more)" if more else "") + remedy


def _plain(found: Measurement) -> dict[str, Any]:
    """Value, parts, and what was not looked at; null for what is not defined. Notes are left to ``run``."""
    parts = {name: float(value) if math.isfinite(value) else None for name, value in found.parts.items()}
    value = float(found.value) if math.isfinite(found.value) else None
    return {"value": value, "parts": parts, "leaves_out": list(found.leaves_out)}


SEED_FILE = "seed.json"


@dataclass(frozen=True)
class Cache:
    """A folder of results.

    A result is written when its cell is done and appears whole, so that a run that is killed loses the cells it was
    working on and no others. A damaged file counts as absent.
    """

    folder: Path

    def prepare(self) -> None:
        """Make the folder, for its owner only."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be made: {error.strerror}") from error

    def seed(self) -> int:
        """Seed of an experiment that declares none: drawn once, then kept, so that a killed run can go on."""
        known = self._read(SEED_FILE)
        if known is not None and isinstance(known.get("seed"), int):
            return int(known["seed"])
        seed = secrets.randbits(63)
        write_text(self.folder / SEED_FILE, json.dumps({"seed": seed}), PRIVATE)
        return seed

    def load(self, key: str) -> dict[str, Any] | None:
        """Result of a masked file; None when there is none, or it is damaged."""
        found = self._read(f"{key}.json")
        return found if found is not None and isinstance(found.get("measures"), dict) else None

    def save(self, key: str, found: dict[str, Any]) -> None:
        """Keep a result."""
        write_text(self.folder / f"{key}.json", json.dumps(found), PRIVATE)

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None


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
        drawn = None if request.measure.claims.deterministic else [request.label, seed]
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
