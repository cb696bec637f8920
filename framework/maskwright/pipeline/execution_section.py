"""The ``execution:`` and ``plugins:`` sections: how the work is done, by which engine and plugins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from maskwright.data.parts.part_files import could_match, is_several
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import Problem
from maskwright.foundation.findings import Notice, notices_of
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import Node
from maskwright.foundation.yaml_models import elements_of, only, read_model, without
from maskwright.pipeline.declared_lists import UNDECLARED
from maskwright.pipeline.extras.extra import extras_of
from maskwright.pipeline.file_model import ExecutionSection, PluginsSection
from maskwright.pipeline.file_paths import absolute_path
from maskwright.pipeline.resolved import Chosen, ChosenEngine, Output, Pipeline, RuleFile
from maskwright.plugins.packages import package_name
from maskwright.plugins.registry import installed_packages, plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.plugins.engine import Engine
    from maskwright.plugins.registered import Registry


OWN_KEYS = tuple(ExecutionSection.model_fields)


def resolve_execution(
    section: Node, registry: Registry, folder: Path, problems: list[Problem]
) -> tuple[ExecutionSection | None, ChosenEngine | None]:
    """Read the section; mistakes are added to `problems`."""
    if not section.is_mapping:
        return read_model(ExecutionSection, section, problems), None
    before = len(problems)
    settings = read_model(ExecutionSection, only(section, OWN_KEYS), problems)
    name = section.get("engine")
    engine = None if name is None else registry.engines.get(name.raw)
    further = without(section, OWN_KEYS)
    for key, _ in further.entries:
        if engine is None or key.raw not in engine.params.model_fields:
            problems.append(_unknown_key(key, engine, registry))
    if name is None and settings is not None and settings.scratch is not None:
        hint = "It is where an engine's tasks write: execution: {engine: processes, scratch: DIR}; or leave it out."
        where = next(key.place for key, _ in section.entries if key.raw == "scratch")
        problems.append(Problem("execution: 'scratch' is used by engines, and no engine is named", where, hint))
    if settings is None or name is None:
        return (None if len(problems) > before else settings), None
    if engine is None:
        problems.append(Problem(registry.unknown("engine", name.raw, registry.engines), name.place))
        return None, None
    if settings.processes:
        hint = "`engine: processes` has whole stages done in processes; `processes: true` methods only, and no engine."
        problems.append(Problem("execution: 'processes' and 'engine' exclude each other", name.place, hint))
    taken = only(section, tuple(engine.params.model_fields))
    params = read_model(engine.params, taken, problems, f"parameter of {engine.name}")
    named = section.get("scratch")
    scratch = None if named is None else absolute_path(named, folder, problems)
    if len(problems) > before or params is None:
        return None, None
    return settings, ChosenEngine(engine, _absolute(params, folder), None if scratch is None else scratch.resolve())


def check_scratch(
    engine: ChosenEngine | None, section: Node, data: Path | None, output: Output | None, problems: list[Problem]
) -> None:
    """Add what is wrong where temporary files would lie among the data that are read or written."""
    named = section.get("scratch")
    if engine is None or engine.scratch is None or named is None:
        return
    hint = "It holds confidential data while the run lasts: give it a folder of its own."
    if data is not None and is_several(str(data)) and could_match(str(data), engine.scratch / "part"):
        problems.append(Problem("execution.scratch lies in the folder of the data", named.place, hint))
    if output is not None and output.is_folder and engine.scratch.is_relative_to(output.data):
        problems.append(Problem("execution.scratch lies in the folder of the masked data", named.place, hint))


def _unknown_key(key: Node, engine: Engine | None, registry: Registry) -> Problem:
    others = [name for name, other in registry.engines.items() if key.raw in other.params.model_fields]
    if others:
        used = "no engine is named" if engine is None else f"this is {engine.name}"
        message = f"{key.raw!r} is a parameter of the engine {' and '.join(others)}, and {used}"
        return Problem(message, key.place, f"execution: {{engine: {others[0]}, {key.raw}: ...}}")
    known = {*OWN_KEYS, *(engine.params.model_fields if engine is not None else ())}
    return Problem(unknown_name("key", key.raw, known), key.place)


def _absolute(params: BaseModel, folder: Path) -> BaseModel:
    """Parameters whose names of files, also those of parts of them, are absolute."""
    update: dict[str, object] = {}
    for name, value in params:
        if isinstance(value, Path):
            update[name] = (folder / value).resolve()
        elif isinstance(value, BaseModel):
            update[name] = _absolute(value, folder)
    return params.model_copy(update=update)


def resolve_list(key: str, label: str, section: Node, problems: list[Problem]) -> tuple[Chosen, ...]:
    """Resolve a list of names, or of ``{name: {parameters}}``; mistakes are added to `problems`."""
    found = []
    for node in elements_of(section, f"expected a list of {label}s", problems):
        if node.is_scalar and isinstance(node.value, str):
            named, given = node, Node("mapping", node.place)
        elif node.is_mapping and len(node.entries) == 1:
            named, given = node.entries[0]
        else:
            message = f"expected the name of a {label}, or {{name: {{parameters}}}}, not {node.description}"
            problems.append(Problem(message, node.place))
            continue
        known = extras_of(key)
        extra = known.get(named.raw)
        if extra is None:
            problems.append(Problem(unknown_name(label, named.raw, known), named.place))
            continue
        params = read_model(extra.params, given, problems, f"parameter of {extra.name}")
        if params is not None:
            found.append(Chosen(extra, params, named.place))
    return tuple(found)


def allowed_packages(section: Node | None, problems: list[Problem]) -> tuple[str, ...] | None:
    """Packages that the section allows; None: all. A wrong section allows none."""
    if section is None or (section.is_scalar and section.value is None):
        return None
    read = read_model(PluginsSection, section, problems)
    if read is None:
        return ()
    listed, known = section.get("allow"), installed_packages()
    named = () if listed is None or not listed.is_sequence else listed.elements
    problems.extend(
        Problem(unknown_name("package with plugins", node.raw, known), node.place)
        for node in named
        if package_name(node.raw) not in known
    )
    return read.allow


def choice_notices(pipeline: Pipeline) -> Iterator[Notice]:
    """Notices about who could have done what: plugins that claim the files too, and an engine without tasks."""
    registry = plugins()
    if pipeline.in_one_process:
        reasons = "; ".join(pipeline.in_one_process)
        message = f"all records are in one process, with the values of a run in memory: {reasons}"
        yield Notice("over-parts", "", message)
    sources = [pipeline.data] if pipeline.levels is None else list(pipeline.levels.sources.values())
    levels = {} if pipeline.levels is None else pipeline.levels.declared
    keys = {name for each in levels.values() for name in (each.key, *each.pointers)}
    origins = pipeline.data.origins.items()
    undeclared = [name for name, each in origins if each.words == UNDECLARED and name not in keys]
    if undeclared:
        message = (
            f"`undeclared: other`: {plural(len(undeclared), 'variable')} of no declared role may be published "
            f"unmasked: {', '.join(undeclared)}"
        )
        yield Notice("undeclared-published", "", message, len(undeclared))
    files = {each.path.name: each.source.name for each in sources}
    written = pipeline.output.level_data.values() or (pipeline.output.data,)
    files |= {path.name: pipeline.output.source.name for path in written}
    for file, chosen in files.items():
        yield from notices_of("other-plugin-claims", registry.other_claims("source", file, chosen))
    rules = () if not isinstance(pipeline.edits, tuple) else pipeline.edits
    for each in rules:
        if isinstance(each, RuleFile):
            claims = registry.other_claims("rule_language", each.path.name, each.reader.name)
            yield from notices_of("other-plugin-claims", claims)
