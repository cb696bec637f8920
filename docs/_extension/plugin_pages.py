"""A page for each kind of plugin, with a section for each plugin that is installed."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from _extension.markdown_text import as_markdown, block, code, one_line
from _extension.parameters import parameters
from maskwright.cli.further_commands import command_parser
from maskwright.cli.show.explain import STEPS, definition, facts, offered
from maskwright.plugins.contract import KINDS
from maskwright.plugins.method import Method
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.plugins.registered import Registry

TITLES = {
    "method": ("methods", "Methods", "What a step of `protect:` may be: `method: NAME`, with its `params`."),
    "partition": ("partitions", "Partitions", "How microaggregation and its kind cut records into clusters."),
    "aggregation": ("aggregations", "Aggregations", "What a cluster is replaced by, besides mean, median and mode."),
    "constraint": (
        "constraints",
        "Kinds of constraints",
        "Functions that rules may call beside those of the language.",
    ),
    "measure": ("measures", "Measures", "What `measure:` may list: information loss, and risk of disclosure."),
    "attack": ("attacks", "Attacks", "What `maskwright attack` tries on a release."),
    "source": ("formats", "Formats of data", "Which files can be read and written, and the options of each."),
    "rule_language": ("rule-formats", "Rule languages", "Which files can hold edits, and how edits are written."),
    "report": ("reports", "Reports", "What `output:` may name besides the data."),
    "report_section": ("report-sections", "Sections of reports", "What `sections:` may list."),
    "plan_check": ("plan-checks", "Checks of plans", "What `checks:` may list: findings refuse a run."),
    "action": ("actions", "Actions", "What `after:` may list: done once the release is written."),
    "engine": ("engines", "Engines", "What `execution: {engine: NAME}` may name, for files larger than memory."),
    "command": ("plugin-commands", "Further commands", "Commands that packages add to the command line."),
}
"""File, title and lead of the page of each kind; a kind that is new has a page under its own name."""


def plugin_pages() -> Mapping[str, str]:
    """Text of each page, by the name of its file."""
    registry = plugins()
    pages: dict[str, str] = {}
    for kind, found in offered(registry).items():
        name, title, lead = TITLES.get(kind, (kind, kind.replace("_", " ").capitalize(), ""))
        parts = [f"# {title}", lead, _contents(found), *(_section(registry, kind, each) for each in found.values())]
        pages[f"{name}.md"] = "\n\n".join(part for part in parts if part) + "\n"
    return pages


def _contents(found: Mapping[str, Any]) -> str:
    return "\n".join(f"- [{code(name)}](#{_anchor(name)}): {one_line(each.summary)}" for name, each in found.items())


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def _section(registry: Registry, kind: str, plugin: Any) -> str:
    info = registry.info(kind, plugin.name) if kind in KINDS else None
    parts = [f"## {code(plugin.name)}", one_line(plugin.summary), as_markdown(definition(plugin))]
    said = [*facts(plugin), *_held(plugin)]
    if info is not None and info.distribution != "maskwright":
        said.append(("Comes with", f"{info.distribution} {info.version}"))
    parts.append("\n".join(f"- **{what}:** {one_line(value)}" for what, value in said))
    if kind == "command":
        parts.append(block(command_parser(plugin).format_usage()))
    params = getattr(plugin, "params", None)
    if params is not None and params.model_fields:
        parts += ["**Parameters**", parameters(params)]
    if isinstance(plugin, Method):
        parts.append(f"Every method also takes the [parameters of every step](topics.md#{STEPS}).")
    if getattr(plugin, "example", ""):
        parts += ["**Example**", block(inspect.cleandoc(plugin.example), "yaml")]
    reference = getattr(plugin, "reference", "")
    if reference:
        parts.append(f"**Source:** {one_line(reference)}")
    return "\n\n".join(part for part in parts if part)


def _held(plugin: Any) -> list[tuple[str, str]]:
    """What files of a format hold, as its source says."""
    holds = getattr(getattr(plugin, "format", None), "holds", None)
    return list(holds.by_name().items()) if holds is not None else []
