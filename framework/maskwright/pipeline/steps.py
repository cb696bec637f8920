"""Steps, measures, thresholds, waivers and the release section: names to plugins, parameters to their models."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from maskwright.foundation.doubts import DOUBT_KINDS
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import Node, from_python
from maskwright.foundation.yaml_models import elements_of, only, read_model, texts, unknown_field, without
from maskwright.pipeline.file_model import ReleaseSection, StepEntry, Waiver, kind_called
from maskwright.pipeline.file_paths import existing_file
from maskwright.pipeline.resolved import MeasureRequest
from maskwright.planning.model import DisclosureSettings, PartitionChoice, PlanningParams, Step
from maskwright.plugins.parameter_markers import NamesPartition, file_fields, naming_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.plugins.measure import Measure, MeasurePart
    from maskwright.plugins.method import Method
    from maskwright.plugins.registered import Registry


HERE = Path()
LABEL = "as"
PER_RECORD = "per_record"


def resolve_steps(section: Node, registry: Registry, problems: list[Problem], folder: Path = HERE) -> tuple[Step, ...]:
    """Resolve the ``protect:`` section: mistakes are added to `problems`, and wrong steps are left out."""
    if not section.is_sequence or not section.elements:
        found = "an empty list" if section.is_sequence else section.description
        hint = "Start each step with '- method: ...' on its own line."
        problems.append(Problem(f"protect: expected a list of steps, not {found}", section.place, hint))
        return ()
    steps = [_step(number, node, registry, problems, folder) for number, node in enumerate(section, 1)]
    return tuple(step for step in steps if step is not None)


def totals_without_levels(steps: Sequence[Step]) -> list[Problem]:
    """A problem for each step that says how totals over members are made, where records have no members."""
    hint = "Leave it out: totals of a record's own variables are kept as their edits say."
    message = "totals: data of one level have no totals over members"
    return [Problem(f"{message}", step.place, hint, step=step.number) for step in steps if step.planning.totals]


def _step(number: int, node: Node, registry: Registry, problems: list[Problem], folder: Path) -> Step | None:
    before = len(problems)
    entry = read_model(StepEntry, _without_empty_params(texts(node, ("variables", "groups", "within"))), problems)
    name = node.get("method")
    if name is None or not isinstance(name.value, str):
        return None
    method = registry.methods.get(name.value)
    if method is None:
        problems.append(Problem(registry.unknown("method", name.value, registry.methods), name.place))
        return None
    params = node.get("params") or Node("mapping", name.place)
    if not params.is_mapping and params.value is not None:
        return None
    if params.is_mapping:
        params = _with_paths(params, file_fields(method.params), folder, problems)
    own, planning = split_params(params, method, problems)
    partition = _partition(params, method, own, registry, problems)
    if entry is not None and entry.unit is not None and entry.within:
        message = "within: groups that 'unit' masks as one record are not masked apart by variables"
        problems.append(Problem(message, node.place))
    if len(problems) > before or entry is None or own is None or planning is None:
        return None
    step = Step(
        method.with_params(own),
        own,
        planning,
        entry.variables,
        entry.groups or (),
        partition,
        node.place,
        entry.unit,
        entry.within,
        number,
    )
    try:
        with step.placed():
            _ = step.aggregation
    except InputError as error:
        problems.extend(error.problems)
        return None
    return step


def _without_empty_params(node: Node) -> Node:
    params = node.get("params")
    empty = params is not None and params.is_scalar and params.value is None
    return without(node, ("params",)) if empty else node


def split_params(
    params: Node, method: Method, problems: list[Problem]
) -> tuple[BaseModel | None, PlanningParams | None]:
    """Parameters of a step: those of its method, and those of the planner. A name that both have goes to both."""
    own, planning = method.params.model_fields, PlanningParams.model_fields
    for key, _ in params.entries:
        if key.raw not in own and key.raw not in planning and method.params.model_config.get("extra") != "allow":
            hint = f"`maskwright explain {method.name}` lists them."
            if key.raw in StepEntry.model_fields:
                hint = f"'{key.raw}' is no parameter: it goes next to 'method', not into 'params'."
            kind = f"parameter of {method.name}"
            problems.append(unknown_field(kind, key.raw, method.params, key.place, also=planning, hint=hint))
    theirs = [key for key in params.keys if key in own or key not in planning]
    if method.params.model_config.get("extra") != "allow":
        theirs = [key for key in theirs if key in own]
    return (
        read_model(method.params, only(params, theirs), problems, "parameter"),
        read_model(PlanningParams, only(params, tuple(planning)), problems, "parameter"),
    )


def _partition(
    params: Node, method: Method, own: BaseModel | None, registry: Registry, problems: list[Problem]
) -> PartitionChoice | None:
    """Partition a step names, as ``mdav`` or ``{mdav: {parameters}}``."""
    name = method.parameter(NamesPartition)
    if name is None or own is None:
        return None
    written = params.get(name)
    node = written if written is not None else from_python(_plain(method.partition(own)), params.place)
    if node.is_scalar and node.value is None:
        return None
    if node.is_mapping and len(node.entries) == 1:
        key, inner = node.entries[0]
    elif node.is_scalar:
        key, inner = node, Node("mapping", node.place)
    else:
        message = f"{name}: expected one name, or {{name: {{parameters}}}}, not {node.description}"
        problems.append(Problem(message, node.place))
        return None
    partition = registry.partitions.get(key.raw)
    if partition is None:
        problems.append(Problem(registry.unknown("partition", key.raw, registry.partitions), key.place))
        return None
    its_params = read_model(partition.params, inner, problems, f"parameter of {partition.name}")
    return PartitionChoice(partition, its_params) if its_params is not None else None


def _plain(value: object) -> object:
    return value.model_dump() if isinstance(value, BaseModel) else value


def resolve_measures(
    section: Node, registry: Registry, problems: list[Problem], folder: Path = HERE
) -> tuple[MeasureRequest, ...]:
    """Measures of the ``measure:`` section; mistakes are added to `problems`."""
    requests: dict[str, MeasureRequest] = {}
    hint = section.place.written("Start each measure with '- ' on its own line.")
    for node in elements_of(section, "measure: expected a list of measures", problems, hint):
        request = _measure(node, registry, problems, folder)
        if request is None:
            continue
        if request.label in requests:
            hint = "Give one of them a label of its own: {name: {as: label}}."
            problems.append(Problem(f"two measures are called {request.label!r}", request.place, hint))
            continue
        requests[request.label] = request
    return tuple(requests.values())


def _measure(node: Node, registry: Registry, problems: list[Problem], folder: Path) -> MeasureRequest | None:
    if node.is_scalar and isinstance(node.value, str):
        key, params = node, Node("mapping", node.place)
    elif node.is_mapping and len(node.entries) == 1:
        key, params = node.entries[0]
    else:
        hint = None
        if node.is_mapping:
            hint = node.place.written(f"Parameters go inside: - {node.keys[0]}: {{...}}") if node.keys else None
        message = f"expected the name of a measure, or {{name: {{parameters}}}}, not {node.description}"
        problems.append(Problem(message, node.place, hint))
        return None
    measure = registry.measures.get(key.raw)
    if measure is None:
        problems.append(_unknown_measure(key, registry))
        return None
    label = params.get(LABEL)
    if label is not None and (not isinstance(label.value, str) or not label.value):
        problems.append(Problem(f"as: expected a label, not {label.description}", label.place))
        return None
    wanted = params.get(PER_RECORD)
    if wanted is not None and not isinstance(wanted.value, bool):
        problems.append(Problem(f"per_record: expected true or false, not {wanted.description}", wanted.place))
        return None
    if params.is_mapping:
        params = without(params, (LABEL, PER_RECORD))
        params = _with_paths(params, file_fields(measure.params), folder, problems)
    values = read_model(measure.params, params, problems, "parameter")
    if values is None:
        return None
    per_record = wanted is not None and wanted.value is True
    places = {name.raw: given.place for name, given in params.entries}
    label_given = label.raw if label is not None else measure.name
    return MeasureRequest(label_given, measure, values, key.place, per_record, places)


def _unknown_measure(key: Node, registry: Registry) -> Problem:
    level, _, name = key.raw.partition(".")
    measure = registry.measures.get(name)
    if measure is None or measure.claims.of_levels:
        return Problem(registry.unknown("measure", key.raw, registry.measures), key.place)
    hint = f"`- {name}` runs on each level that steps mask, and its values are called LEVEL.{name}"
    fields = naming_fields(measure.params)
    if fields:
        own = f"`- {name}: {{as: {name}_of_{level}, {fields[0]}: [...]}}`"
        hint += f"; {own}, with variables of one level, on that level alone"
    return Problem(f"{key.raw}: measures are requested without a level", key.place, f"{hint}.")


def _with_paths(params: Node, fields: Sequence[str], folder: Path, problems: list[Problem]) -> Node:
    """Parameters in which names of files are absolute."""
    for name in fields:
        given = params.get(name)
        if given is not None and not (given.is_scalar and given.value is None):
            path = existing_file(given, folder, name, problems)
            params = params.with_entry(name, from_python(path, given.place))
    return params


def resolve_thresholds(
    section: Node, measures: Sequence[MeasureRequest], problems: list[Problem], levels: Sequence[str] = ()
) -> Mapping[str, float]:
    """Bounds by measure label, or by label and part, ``label.part``; mistakes are added to `problems`."""
    if section.is_scalar and section.value is None:
        return {}
    if not section.is_mapping:
        problems.append(Problem(f"thresholds: expected {{measure: bound}}, not {section.description}", section.place))
        return {}
    every = (*measures, *measures_on_levels(measures, levels))
    bounded = {name: figure for request in every for name, figure in threshold_figures(request).items()}
    found: dict[str, float] = {}
    for key, node in section.entries:
        figure = bounded.get(key.raw)
        if figure is None:
            problems.append(_unknown_threshold(key, every, bounded))
            continue
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)) or not math.isfinite(node.value):
            problems.append(Problem(f"{key.raw}: expected a number, not {node.description}", node.place))
            continue
        low, high = figure.range
        if (low is not None and node.value < low) or (high is not None and node.value > high):
            span = f"{'-infinity' if low is None else f'{low:g}'} to {'infinity' if high is None else f'{high:g}'}"
            message = f"{key.raw}: the bound {node.raw} is outside the measure's range, {span}"
            problems.append(Problem(message, node.place))
            continue
        found[key.raw] = float(node.value)
    return found


def measures_on_levels(measures: Sequence[MeasureRequest], levels: Sequence[str]) -> tuple[MeasureRequest, ...]:
    """Measures as they are called on each level of the data; those of groups and members are not of one level."""
    return tuple(
        replace(each, label=f"{level}.{each.label}")
        for each in measures
        for level in levels
        if not each.measure.claims.of_levels
    )


def threshold_figures(request: MeasureRequest) -> dict[str, Measure | MeasurePart]:
    """What thresholds of a measure can be for, by their names: the measure, and its parts as ``label.part``."""
    measure = request.measure
    parts = () if measure.parts is None else measure.parts(request.params)
    return {request.label: measure, **{f"{request.label}.{part.name}": part for part in parts}}


def _unknown_threshold(key: Node, measures: Sequence[MeasureRequest], bounded: Mapping[str, object]) -> Problem:
    of = next((each.label for each in measures if key.raw.startswith(f"{each.label}.")), None)
    if of is None:
        hint = "A threshold is for a measure that the `measure:` list holds, by its label, or for a part of it."
        labels = [each.label for each in measures]
        return Problem(unknown_name("measure in this pipeline", key.raw, labels), key.place, hint)
    parts = [name for name in bounded if name.startswith(f"{of}.")]
    if not parts:
        return Problem(f"{key.raw}: thresholds of {of} are for its value; write {of}: ...", key.place)
    return Problem(unknown_name(f"part of {of}", key.raw, parts), key.place)


DECLARE_KEY = "Declare which variable is to be one: `NAME: {role: identifier, release: new}`."


def resolve_release(
    section: Node,
    declared: Mapping[str, VariableDeclaration],
    cluster: str | None,
    problems: list[Problem],
    *,
    has_levels: bool = False,
) -> ReleaseSection | None:
    """Resolve the section, or the arguments of a call: mistakes are added to `problems`."""
    found = read_model(ReleaseSection, section, problems)
    if found is not None and found.order == "kept" and has_levels:
        message = "release.order is 'kept', and of data with levels each level says whether it keeps its order"
        hint = "Write `keep_order: true` at the level, or at each of them, and leave this out."
        problems.append(Problem(message, (section.get("order") or section).place, hint))
    if found is None or found.ids is None:
        return found
    place = (section.get("ids") or section).place
    if found.ids == "new" and cluster is None and not any(each.is_identifier for each in declared.values()):
        message = "release.ids is 'new', and no variable is declared to be an identifier or to name households"
        problems.append(Problem(message, place, DECLARE_KEY))
    kept = [name for name, each in declared.items() if each.release == "new"]
    if found.ids == "dropped" and kept:
        problems.append(Problem(f"release.ids is 'dropped', and {kept[0]!r} says `release: new`", place))
    return found


def resolve_disclosure(section: Node, registry: Registry, problems: list[Problem]) -> DisclosureSettings:
    """Resolve the section: mistakes are added to `problems`."""
    found = read_model(DisclosureSettings, section, problems)
    for name in () if found is None else found.attacks:
        if name not in registry.attacks:
            place = (section.get("attacks") or section).place
            problems.append(Problem(registry.unknown("attack", name, registry.attacks), place))
    return found or DisclosureSettings()


def declared_keys(release: ReleaseSection, declared: Mapping[str, VariableDeclaration]) -> tuple[str, ...]:
    """Names of the identifiers that are published as keys with new values."""
    return tuple(
        name
        for name, each in declared.items()
        if each.is_identifier and (each.release == "new" or release.ids == "new")
    )


def resolve_waivers(
    section: Node, problems: list[Problem], steps: int | None = None, labels: Collection[str] | None = None
) -> tuple[Waiver, ...]:
    """Resolve the section: mistakes are added to `problems`."""
    found: list[Waiver] = []
    for entry in elements_of(section, "'waive' is a list of doubts", problems):
        named = entry.get("doubt") if entry.is_mapping else None
        if named is not None and isinstance(named.value, str) and kind_called(named.value) is None:
            hint = "`maskwright explain doubts` lists all."
            problems.append(Problem(unknown_name("doubt", named.value, DOUBT_KINDS), named.place, hint))
            continue
        waiver = read_model(Waiver, entry, problems)
        if waiver is not None:
            found.append(waiver)
            problems.extend(_unknown_subjects(waiver, entry, steps, labels))
    return tuple(found)


def _unknown_subjects(
    waiver: Waiver, entry: Node, steps: int | None, labels: Collection[str] | None
) -> Iterator[Problem]:
    """Steps and measures that the pipeline does not have; names of variables are looked up in the data."""
    place = {about: node.place for about in ("step", "measure") if (node := entry.get(about)) is not None}
    for number in waiver.step:
        if steps is not None and number > steps:
            yield Problem(f"there is no step {number}: the pipeline has {steps}", place["step"])
    for label in waiver.measure:
        if labels is not None and label not in labels:
            yield Problem(unknown_name("measure in this pipeline", label, labels), place["measure"])
