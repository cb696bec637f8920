"""What ``maskwright explain`` says of a plugin; all of it comes from the plugin's own record and parameter model."""

from __future__ import annotations

import inspect
import re
import textwrap
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from maskwright.cli.further_commands import commands
from maskwright.cli.show.explained_pages import (
    CODEBOOKS,
    EXPERIMENT,
    KEYS,
    LEVELS,
    SCALE,
    WIDTH,
    codebooks_page,
    data_page,
    experiment_page,
    formats_page,
    levels_page,
    parameters,
    scale_page,
)
from maskwright.data.cluster_aggregation import AGGREGATIONS, Aggregation
from maskwright.edits.constraint_kinds import CONSTRAINT_KINDS, ConstraintKind
from maskwright.edits.languages.yaml.documents import EditsFile
from maskwright.edits.rule_language.rule_entry import RuleEntry
from maskwright.foundation.doubts import DOUBT_KINDS, DoubtKind
from maskwright.foundation.errors import PluginError
from maskwright.pipeline.extras.actions import ACTIONS
from maskwright.pipeline.extras.plan_checks import CHECKS
from maskwright.pipeline.extras.report_sections import SECTIONS
from maskwright.pipeline.file_model import ReleaseSection, kind_called
from maskwright.planning.missing_patterns import splits_by_pattern
from maskwright.planning.model import PlanningParams
from maskwright.plugins.contract import KINDS
from maskwright.plugins.measure import Measure
from maskwright.plugins.method import Method
from maskwright.plugins.parameter_markers import IndependentVariables
from maskwright.plugins.registered import Registry
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import BaseModel

    from maskwright.plugins.registered import Registry

EDITS = "edits"
STEPS = "steps"
DOUBTS = "doubts"
DATES = "dates"
RELEASE = "release"
FORMATS = "formats"
SUGGEST = "suggest"
CONTRACT = "contract"


def explain(name: str) -> str:
    """Text about the plugins, the kind of plugins, the topic or the doubt of that name; a doubt also has an id."""
    if name in _pages():
        return _pages()[name]()
    if name in KEYS:
        return data_page(name)
    doubt = kind_called(name)
    if doubt is not None:
        return "\n".join(_doubt(doubt))
    registry = plugins()
    for kind, each in offered(registry).items():
        if name == _plural(kind):
            return "\n".join(_summaries(each))
    found = [(kind, offered[name]) for kind, offered in offered(registry).items() if name in offered]
    if not found:
        raise PluginError(registry.unknown("plugin", name, explained_names()))
    return "\n\n".join(_text(registry, kind, plugin) for kind, plugin in found)


def topics() -> str:
    """What can be explained, kind by kind: what ``maskwright explain`` says alone."""
    kinds = {
        "Topics": topic_names(),
        **{_plural(kind).capitalize(): list(each) for kind, each in offered(plugins()).items()},
        "Doubts": [f"{each.id} {each.name}" for each in DOUBT_KINDS.values()],
    }
    lines = ["maskwright explain NAME explains one of these:"]
    for kind, names in kinds.items():
        lines += ["", kind, *textwrap.wrap(", ".join(names), WIDTH, initial_indent="  ", subsequent_indent="  ")]
    return "\n".join(lines)


def _plural(kind: str) -> str:
    return f"{kind.replace('_', ' ')}s"


def _summaries(named: Mapping[str, Any]) -> Iterator[str]:
    """A line for each plugin of a kind, and how to learn more."""
    wide = max(map(len, named), default=0) + 2
    for name, plugin in named.items():
        yield textwrap.fill(
            plugin.summary,
            WIDTH,
            initial_indent=f"{name:<{wide}}",
            subsequent_indent=" " * wide,
            break_long_words=False,
        )
    yield from ("", "maskwright explain NAME shows one of them with its parameters.")


def topic_names() -> list[str]:
    """Topics, which are neither plugins nor doubts."""
    return [*_pages(), *KEYS]


def explained_names() -> list[str]:
    """What there is to explain."""
    kinds = offered(plugins())
    named = (name for each in kinds.values() for name in each)
    return [*topic_names(), *map(_plural, kinds), *DOUBT_KINDS, *named]


def _pages() -> dict[str, Callable[[], str]]:
    return {
        EDITS: _edits,
        STEPS: _steps,
        DOUBTS: _doubts,
        DATES: _dates,
        CODEBOOKS: codebooks_page,
        LEVELS: levels_page,
        FORMATS: _formats,
        RELEASE: _release,
        SUGGEST: _suggest,
        EXPERIMENT: experiment_page,
        CONTRACT: _contract,
        SCALE: scale_page,
    }


def _edits() -> str:
    page = files("maskwright.edits.languages.yaml").joinpath("language.txt").read_text(encoding="utf-8").rstrip()
    return "\n".join([page, "", "Keys of a rule", *parameters(RuleEntry), "", "Keys of a file", *parameters(EditsFile)])


def _dates() -> str:
    return files("maskwright.data").joinpath("dates.txt").read_text(encoding="utf-8").rstrip()


def _steps() -> str:
    lead = (
        "Parameters that the `params` of every step may hold, whatever its method: how variables are grouped, what is "
        "promised, what becomes of missing cells."
    )
    promises = files("maskwright.planning").joinpath("promises.txt").read_text(encoding="utf-8").rstrip()
    return "\n".join([*_wrap(lead), "", *parameters(PlanningParams), "", promises])


def _formats() -> str:
    return formats_page(plugins())


def _contract() -> str:
    from maskwright.cli.show.explained_contract import contract_page  # of those who write plugins alone

    return contract_page()


def _suggest() -> str:
    return files("maskwright.edits.suggestions").joinpath("suggestions.txt").read_text(encoding="utf-8").rstrip()


def _release() -> str:
    lead = (
        "Identifiers are dropped. One that is wanted as a key is declared `NAME: {role: identifier, release: new}`: it "
        "is published with new random values, unlike any old one, equal where the old ones are equal; so is the "
        "variable of `cluster` then, unless it says `release: as is`. The records come in random order, members of a "
        "household together where a published variable names it. Values and order depend on the seed and on all of the "
        "original. `output: {key_map: keys.csv}` writes which is which, for its owner only: confidential. It has the "
        "columns `record` (in the masked file) and `original_record`, both counted from 1, and for each key `KEY` with "
        "the old values and `new KEY` with the new ones; it may be requested without new keys, too."
    )
    return "\n".join([*_wrap(lead), "", "Keys of the section `release`", *parameters(ReleaseSection)])


def _doubts() -> str:
    lead = (
        "A doubt about what was understood or protected stops the release, unless the pipeline waives it by name and "
        "says why: waive: [{doubt: published-undeclared, variable: remarks, because: free text is dropped later}]. "
        "Waivers stand in the record, in the report and beside the word Released."
    )
    lines = _wrap(lead)
    stage = ""
    for kind in DOUBT_KINDS.values():
        if kind.stage != stage:
            stage = kind.stage
            lines += ["", f"Doubts of {stage}"]
        lines += ["", *_doubt(kind)]
    return "\n".join(lines)


def _doubt(kind: DoubtKind) -> list[str]:
    about = "" if kind.about == "file" else f" (waived for a {kind.about})"
    stated = textwrap.wrap(kind.meaning, WIDTH - 4) + textwrap.wrap(f"Instead of waiving: {kind.remedy}", WIDTH - 4)
    return [f"{kind.id} {kind.name}{about}", *(f"    {line}" for line in stated)]


def offered(registry: Registry) -> dict[str, dict[str, Any]]:
    """All that can be explained, by kind and name: plugins, and what a pipeline names otherwise."""
    return {
        "method": dict(registry.methods),
        "partition": dict(registry.partitions),
        "aggregation": dict(AGGREGATIONS),
        "constraint": dict(CONSTRAINT_KINDS),
        "measure": dict(registry.measures),
        "attack": dict(registry.attacks),
        "source": dict(registry.sources),
        "rule_language": dict(registry.rule_languages),
        "report": dict(registry.reports),
        "engine": dict(registry.engines),
        "plan_check": dict(CHECKS),
        "report_section": dict(SECTIONS),
        "action": dict(ACTIONS),
        "command": dict(commands()),
    }


def _text(registry: Registry, kind: str, plugin: Any) -> str:
    heading = f"{plugin.name}: {kind.replace('_', ' ')}"
    if kind in KINDS:
        info = registry.info(kind, plugin.name)
        heading += f" of {info.distribution} {info.version}"
    lines = [heading, "", *_wrap(plugin.summary), *_wrapped_definition(plugin)]
    stated = facts(plugin)
    if stated:
        lines += ["", *(f"{what}: {value}" for what, value in stated)]
    params: type[BaseModel] | None = getattr(plugin, "params", None)
    if params is not None and params.model_fields:
        lines += ["", "Parameters", *parameters(params)]
    if isinstance(plugin, Method):
        common = f"Every method also takes {', '.join(PlanningParams.model_fields)}: see `maskwright explain {STEPS}`."
        lines += ["", *_wrap(common)]
    if getattr(plugin, "example", ""):
        lines += ["", "Example", *(f"  {line}" for line in inspect.cleandoc(plugin.example).splitlines())]
    reference = getattr(plugin, "reference", "")
    if reference:
        lines += ["", *_wrap(f"Source: {reference}")]
    return "\n".join(lines)


def _wrapped_definition(plugin: Any) -> list[str]:
    stated = definition(plugin)
    return ["", *_wrap(stated)] if stated else []


def definition(plugin: Any) -> str:
    """Definition from the function's docstring: all before its first section, without its first sentence."""
    function = next(
        (
            getattr(plugin, name)
            for name in ("compute", "protect", "remove", "cluster", "infer", "represent", "evaluate")
            if getattr(plugin, name, None) is not None
        ),
        None,
    )
    if function is None:
        return ""
    stated = re.split(r"\n\w[\w ]*\n-{3,}", inspect.getdoc(function) or "")[0]
    return stated.partition("\n\n")[2].strip("\n")


def facts(plugin: Any) -> list[tuple[str, str]]:
    """What holds of a plugin, and how: what it masks, its unit, whether it is random."""
    found: list[tuple[str, str]] = []
    if isinstance(plugin, Method):
        found.append(("Masks", ", ".join(sorted(plugin.claims.variable_types))))
        found.append(
            (
                "Keeps by construction",
                ", ".join(sorted(plugin.claims.preserves)) or "nothing; edits are kept by adjustment",
            )
        )
        found.append(
            (
                "Works on",
                {"variable": "one variable at a time", "group": "one variable group at a time"}.get(
                    plugin.scope, "all variables at once"
                ),
            )
        )
        found.append(("Missing cells", _missing_cells(plugin)))
    found += _facts_of_small_kinds(plugin)
    if hasattr(plugin, "direction"):
        low, high = plugin.range
        found.append(("Unit", plugin.unit))
        found.append(("Better", plugin.direction))
        found.append(("Range", f"{'-inf' if low is None else f'{low:g}'} to {'inf' if high is None else f'{high:g}'}"))
    if isinstance(plugin, Measure):
        found.append(
            ("Records", "paired or not" if plugin.claims.compares_unpaired else "paired, in order or by a key")
        )
        if plugin.claims.of_one_file:
            found.append(("Uses", "the masked file; computed on the original too, for a before and after"))
        parts = _parts(plugin)
        if parts:
            found.append(("Thresholds", f"for the value, or as label.part for {', '.join(parts)}"))
        if plugin.claims.of_levels:
            found.append(("Data", "of several levels (data: levels:): groups with all their members, measured once"))
        elif plugin.claims.counts_households:
            found.append(("Households", "counted instead of records where they are declared"))
    claims = getattr(plugin, "claims", plugin)
    if hasattr(claims, "deterministic"):
        found.append(("Random", "no" if claims.deterministic else "yes, from the run's seed"))
    if hasattr(plugin, "suffixes"):
        found.append(("File endings", ", ".join(plugin.suffixes)))
    return found


def _facts_of_small_kinds(plugin: Any) -> list[tuple[str, str]]:
    """Facts of aggregations and kinds of constraints."""
    found: list[tuple[str, str]] = []
    if isinstance(plugin, Aggregation):
        found.append(("Keeps", ", ".join(sorted(plugin.keeps)) or "nothing; edits are kept by adjustment"))
        found.append(("Weights", "not used"))
    if isinstance(plugin, ConstraintKind):
        given = ", ".join([*plugin.params.model_fields, "variable", *["variable"] * (plugin.fewest > 1), "..."])
        found.append(("In a rule", f"{plugin.name}({given})"))
        moved = "rows are moved to the nearest point" if plugin.project is not None else "nothing is moved towards it"
        found.append(("Keeps", f"{moved}; checked in the masked data and in the file as it is read back"))
    return found


def _parts(measure: Measure) -> list[str]:
    """Parts that thresholds can be for, as the defaults have them."""
    if measure.parts is None or any(field.is_required() for field in measure.params.model_fields.values()):
        return []
    return [part.name for part in measure.parts(measure.params())]


def _missing_cells(method: Method) -> str:
    if method.claims.handles_missing and method.claims.draws_records:
        return "taken; which cells are missing is drawn too"
    if method.claims.handles_missing:
        return "taken; they stay missing"
    if not splits_by_pattern(method):
        return "not taken: a step on variables with missing cells is refused"
    apart = "records with the same cells missing are masked apart, on the cells they have (own_pattern)"
    independent = method.parameter(IndependentVariables)
    return apart if independent is None else f"{apart}; none in variables listed under '{independent}'"


def _wrap(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        formula = any(line.startswith("    ") for line in paragraph.splitlines())
        lines += paragraph.splitlines() if formula else textwrap.wrap(paragraph, WIDTH)
        lines.append("")
    return lines[:-1]
