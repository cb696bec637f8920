"""Lists of plugins in a pipeline file that have nothing but a name and parameters: checks, sections, actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from maskwright.foundation.errors import Place, Problem
from maskwright.foundation.yaml_document import Node
from maskwright.foundation.yaml_models import read_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from maskwright.plugins.action import Action
    from maskwright.plugins.plan_check import PlanCheck
    from maskwright.plugins.registered import Registry
    from maskwright.plugins.report_section import ReportSection

Listed = TypeVar("Listed", "PlanCheck", "ReportSection", "Action")


@dataclass(frozen=True)
class Chosen(Generic[Listed]):
    """A plugin that a pipeline names, and its parameters."""

    plugin: Listed
    params: BaseModel
    place: Place = field(default_factory=Place)


def resolve_list(
    section: Node, kind: str, offered: Mapping[str, Listed], registry: Registry, problems: list[Problem]
) -> tuple[Chosen[Listed], ...]:
    """Resolve a list of names, or of ``{name: {parameters}}``; mistakes are added to `problems`.

    `registry`: for sentences about unknown names.
    """
    if section.is_scalar and section.value is None:
        return ()
    label = kind.replace("_", " ")
    if not section.is_sequence:
        problems.append(Problem(f"expected a list of {label}s, not {section.description}", section.place))
        return ()
    found = []
    for node in section:
        if node.is_scalar and isinstance(node.value, str):
            key, given = node, Node("mapping", node.place)
        elif node.is_mapping and len(node.entries) == 1:
            key, given = node.entries[0]
            given = Node("mapping", given.place) if given.is_scalar and given.value is None else given
        else:
            message = f"expected the name of a {label}, or {{name: {{parameters}}}}, not {node.description}"
            problems.append(Problem(message, node.place))
            continue
        plugin = offered.get(key.raw)
        if plugin is None:
            problems.append(Problem(registry.unknown(kind, key.raw, offered), key.place))
            continue
        params = read_model(plugin.params, given, problems, f"parameter of {plugin.name}")
        if params is not None:
            found.append(Chosen(plugin, params, key.place))
    return tuple(found)
