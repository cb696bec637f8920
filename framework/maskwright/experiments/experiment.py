"""Reading an experiment file: every mistake in it at once, and its cells, each a pipeline of its own."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.experiments.experiment_file import MOST_CELLS, ExperimentFile, ExperimentSettings, Family, Span
from maskwright.foundation.errors import PipelineError, Problem
from maskwright.foundation.files import split_name
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import Node, from_python, load_yaml
from maskwright.foundation.yaml_models import only, read_model, texts
from maskwright.pipeline.overrides import path_steps, set_at
from maskwright.pipeline.reading import resolve_pipeline, text_of
from maskwright.pipeline.steps import resolve_measures, resolve_thresholds
from maskwright.pipeline.variable_names import in_order
from maskwright.plugins.parameter_markers import PromisesK
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.pipeline.resolved import MeasureRequest, Pipeline

HELP = "An experiment has the keys maskwright, data, grid and measure: `maskwright schema experiment` describes them."
SHARED = ("maskwright", "data", "on_input_violation")
STEP_KEYS = ("method", "variables", "groups", "params")
LONGEST_VALUE = 24


@dataclass(frozen=True, eq=False)
class Cell:
    """One combination of settings: a pipeline, and how often it is run.

    `name`: of the family, with the settings that vary; unique in the experiment. `family`, `edits`: names of its family
    and of its edit set. `family_index`: position of the family in the grid. `values`: settings that vary, as they were
    written. `pipeline`: with every step, also those left out for k = 1: these have k = 2. `identity`: 1-based indices
    of the steps that k = 1 leaves out. `repeats`: 1 when nothing draws random numbers.
    """

    name: str
    family: str
    edits: str
    family_index: int
    values: Mapping[str, Any]
    pipeline: Pipeline
    identity: frozenset[int]
    repeats: int

    @property
    def active(self) -> Pipeline:
        """The pipeline without the steps that k = 1 leaves out."""
        kept = [step for number, step in enumerate(self.pipeline.steps, 1) if number not in self.identity]
        return replace(self.pipeline, steps=tuple(replace(step, number=own) for own, step in enumerate(kept, 1)))

    @property
    def is_deterministic(self) -> bool:
        """Whether no step draws random numbers."""
        return all(step.is_deterministic for step in self.active.steps)


@dataclass(frozen=True, eq=False)
class Experiment:
    """An experiment file that has been read.

    `edit_sets`: sections ``edits:``; one of them, called "edits", when the file has a single set. `folder`: for
    results, absolute; need not exist.
    """

    path: Path
    text: str
    settings: ExperimentSettings
    root: Node
    edit_sets: Mapping[str, Node]
    measures: tuple[MeasureRequest, ...]
    folder: Path

    def cells(self) -> tuple[Cell, ...]:
        """Every combination of every family under each of its edit sets, in file order."""
        problems: list[Problem] = []
        found: dict[str, Cell] = {}
        for index, edits, values in self._combinations():
            try:
                cell = self.cell(index, edits, values)
            except PipelineError as error:
                problems.extend(problem for problem in error.problems if problem not in problems)
                continue
            if cell.name in found:
                hint = "Give one of the families another name, with `family:`."
                problems.append(Problem(f"two cells are called {cell.name!r}", self.family_node(index).place, hint))
            found[cell.name] = cell
        if problems:
            raise PipelineError(problems)
        if not found:
            hint = "Each list of `vary` needs at least one value, and a span needs from <= to."
            raise PipelineError(Problem("the grid has no cells", self.root.get("grid").place, hint))  # type: ignore[union-attr]
        return tuple(found.values())

    def wrong_cells(self) -> tuple[Problem, ...]:
        """Mistakes that `cells` finds."""
        try:
            self.cells()
        except PipelineError as error:
            return error.problems
        return ()

    def family_node(self, index: int) -> Node:
        """Return the node of a family, by its position in the grid."""
        node = self.root.at(("grid", index))
        assert node is not None
        return node

    def family_name(self, index: int) -> str:
        """Name of a family: its own, or that of its methods."""
        family = self.settings.grid[index]
        if family.family is not None:
            return family.family
        steps = [{"method": family.method}] if family.protect is None else family.protect
        return " + ".join(str(step.get("method")) for step in steps)

    def edits_of(self, index: int) -> tuple[str, ...]:
        """Names of the edit sets that a family runs under."""
        return self.settings.grid[index].edits or tuple(self.edit_sets)

    def cell(self, index: int, edits: str, values: Mapping[str, Node]) -> Cell:
        """One cell."""
        family, node = self.settings.grid[index], self.family_node(index)
        steps = _steps_of(node)
        for name, value in values.items():
            steps = set_at(steps, _path(name, node), value, value.place, "protect")
        steps, identity = _without_k_of_one(steps)
        pipeline = resolve_pipeline(self.path, self.text, self._pipeline_node(steps, edits))
        plain = {name: value.to_python() for name, value in values.items()}
        several = f" [{edits}]" if len(self.edit_sets) > 1 else ""
        title = " ".join([self.family_name(index), *(f"{key}={_shown(value)}" for key, value in plain.items())])
        cell = Cell(title + several, self.family_name(index), edits, index, plain, pipeline, identity, 1)
        if cell.is_deterministic:
            return cell
        return replace(cell, repeats=family.repeats or self.settings.repeats)

    def values_of(self, index: int) -> dict[str, list[Node]]:
        """Values that each varying setting of a family takes."""
        node = self.family_node(index).get("vary") or Node("mapping", self.root.place)
        found: dict[str, list[Node]] = {}
        for name, stated in self.settings.grid[index].vary.items():
            where = node.get(name)
            assert where is not None
            if isinstance(stated, Span):
                found[name] = [from_python(value, where.place) for value in stated.values()]
            else:
                found[name] = list(where.elements)
        return found

    def _combinations(self) -> Iterator[tuple[int, str, dict[str, Node]]]:
        for index in range(len(self.settings.grid)):
            values = self.values_of(index)
            for edits in self.edits_of(index):
                for chosen in itertools.product(*values.values()):
                    yield index, edits, dict(zip(values, chosen, strict=True))

    def _pipeline_node(self, steps: Node, edits: str) -> Node:
        source = Path(str((self.root.at(("data", "source")) or Node("scalar", self.root.place)).value))
        suffix = split_name(source.name)[1] or ".csv"
        output = from_python({"data": f"{self.path.stem}-masked{suffix}"}, self.root.place)
        pipeline = only(self.root, (*SHARED, "measure")).with_entry("edits", self.edit_sets[edits])
        return pipeline.with_entry("protect", steps).with_entry("output", output)


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment file."""
    file = Path(path)
    if file.is_file() and file.suffix.lower() not in (".yaml", ".yml", ".json"):
        raise PipelineError(Problem(f"{file.name} is not an experiment: expected a name that ends in .yaml", hint=HELP))
    return experiment_of(file.resolve(), text_of(file, "experiment", HELP), str(path))


def experiment_of(path: Path, text: str, shown: str | None = None) -> Experiment:
    """Experiment of a file's text."""
    root = load_yaml(text, shown or str(path))
    if not root.is_mapping:
        raise PipelineError(Problem(f"expected keys, not {root.description}", root.place, HELP))
    problems: list[Problem] = []
    stated = read_model(ExperimentFile, _texts_kept(root), problems)
    if stated is None:
        raise PipelineError(problems)
    _check_families(root, stated.grid, problems)
    edit_sets = _edit_sets(root, stated, problems)
    for index, family in enumerate(stated.grid):
        for position, name in enumerate(family.edits or ()):
            node = root.at(("grid", index, "edits", position))
            if name not in edit_sets and node is not None:
                problems.append(Problem(unknown_name("edit set", name, edit_sets), node.place))
    count = _count(stated, edit_sets)
    if count > MOST_CELLS:
        problems.append(Problem(f"the grid has {count} cells; at most {MOST_CELLS} can be run", root.place))
    has_cells, before = not problems, len(problems)
    measures = resolve_measures(root.get("measure") or root, plugins(), problems, path.parent)
    if len(problems) == before:
        # Which labels are right is known only where every measure is.
        _check_labels(root, stated, measures, problems)
    settings = ExperimentSettings.model_validate(
        {name: getattr(stated, name) for name in ExperimentSettings.model_fields}
    )
    folder = path.parent / (stated.output or f"{path.stem}-results")
    experiment = Experiment(path, text, settings, root, edit_sets, measures, folder)
    if problems:
        raise PipelineError(in_order([*problems, *(experiment.wrong_cells() if has_cells else ())], shown or str(path)))
    return experiment


def _texts_kept(root: Node) -> Node:
    """Names of variables are texts, whatever they look like."""
    grid = root.get("grid")
    return root if grid is None else root.with_entry("grid", texts(grid, ("variables", "groups", "family", "edits")))


def _edit_sets(root: Node, stated: ExperimentFile, problems: list[Problem]) -> dict[str, Node]:
    named = root.get("edit_sets")
    if named is None or not named.entries:
        return {"edits": root.get("edits") or Node("sequence", root.place)}
    if stated.edits:
        where = root.key("edit_sets") or root
        problems.append(Problem("give `edits` or `edit_sets`, not both", where.place))
    return {key.raw: value for key, value in named.entries}


def _check_families(root: Node, grid: Sequence[Family], problems: list[Problem]) -> None:
    for index, family in enumerate(grid):
        node = root.at(("grid", index))
        assert node is not None
        one = [key for key in STEP_KEYS if key in node]
        if family.protect is None and family.method is None:
            problems.append(Problem("a family needs `method`, or `protect` with several steps", node.place))
        if family.protect is not None and one:
            problems.append(Problem(f"give `protect`, or {one[0]!r} of the only step, not both", node.place))
        for name in family.vary:
            if family.protect is not None and len(family.protect) > 1 and "." not in name:
                key = (node.get("vary") or node).key(name)
                problems.append(
                    Problem(
                        f"{name!r}: of which of the {len(family.protect)} steps?",
                        (key or node).place,
                        f"Write the path into the steps, counted from 0: 0.params.{name}",
                    )
                )


def _check_labels(
    root: Node, stated: ExperimentFile, measures: Sequence[MeasureRequest], problems: list[Problem]
) -> None:
    """Refuse names of measures, in `score`, `map` and `tune`, that are not measured."""
    labels = [request.label for request in measures]
    places: list[tuple[str, ...]] = [("score",), ("map", "risk"), ("map", "loss"), ("tune", "minimise")]
    named = [(node.raw, node.place) for node in (root.at(path) for path in places) if node is not None and node.raw]
    thresholds = root.at(("tune", "thresholds"))
    if thresholds is not None and stated.tune.thresholds:
        # Parts of a measure that says which it has are known before anything is run, with their ranges.
        known = {request.label: request for request in measures if request.measure.parts is not None}
        sure = tuple(key.raw for key, _ in thresholds.entries if key.raw.split(".")[0] in known)
        resolve_thresholds(only(thresholds, sure), tuple(known.values()), problems)
        named += [(key.raw, key.place) for key, _ in thresholds.entries if key.raw not in sure]
    for name, place in named:
        if name not in labels and name.split(".")[0] not in labels:
            hint = "Name a measure of the `measure:` list by its label, or a part of it: mg.ERD"
            problems.append(Problem(unknown_name("measure in this experiment", name, labels), place, hint))


def _count(stated: ExperimentFile, edit_sets: Mapping[str, Node]) -> int:
    total = 0
    for family in stated.grid:
        count = len(family.edits or edit_sets)
        for values in family.vary.values():
            count *= len(values.values()) if isinstance(values, Span) else len(values)
        total += count
    return total


def _steps_of(family: Node) -> Node:
    listed = family.get("protect")
    if listed is not None:
        return listed
    return Node("sequence", family.place, elements=(only(family, STEP_KEYS),))


def _path(name: str, family: Node) -> list[str]:
    if "." in name:
        return path_steps(name, family.place)
    return ["0", "params", name]


def _without_k_of_one(steps: Node) -> tuple[Node, frozenset[int]]:
    """Steps with k = 2 where k is 1, which no method takes, and the 1-based indices of these."""
    identity: set[int] = set()
    for position, step in enumerate(steps):
        named = step.get("method")
        method = None if named is None else plugins().methods.get(named.raw)
        promising = None if method is None else method.parameter(PromisesK)
        k = None if promising is None else step.at(("params", promising))
        if promising is not None and k is not None and k.value == 1 and not isinstance(k.value, bool):
            path = [str(position), "params", promising]
            steps = set_at(steps, path, from_python(2, k.place), k.place)
            identity.add(position + 1)
    return steps, frozenset(identity)


def _shown(value: object) -> str:
    """One value in the name of a cell; a long one is cut, and distinguished by a few digits of its hash."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text) <= LONGEST_VALUE:
        return text
    return f"{text[: LONGEST_VALUE - 5]}…{hashlib.sha256(text.encode()).hexdigest()[:4]}"
