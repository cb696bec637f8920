"""What makes a plugin record acceptable, with the names that are reserved."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from pydantic import BaseModel

from maskwright.plugins.engine import Engine
from maskwright.plugins.legal_values import illegal_value_error
from maskwright.plugins.measure import Measure
from maskwright.plugins.method import Method
from maskwright.plugins.packages import libraries_error
from maskwright.plugins.parameter_markers import PromisesK, marking_error
from maskwright.plugins.partition import Aggregation, Partition
from maskwright.plugins.remover import Remover
from maskwright.plugins.report import Report, ReportSection
from maskwright.plugins.rules import ConstraintKind, EditReader, RuleWriter
from maskwright.plugins.run_extensions import Action, Command, PlanCheck
from maskwright.plugins.source import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


STEP_PARAMETERS = frozenset(
    {
        "adjustment_weights", "aggregation", "allow_original_values", "group_size", "grouping", "k_guarantee",
        "missing", "release_edits", "rare", "structural_zeros", "totals",
    }
)  # fmt: skip
"""Parameters of every step, which the planner reads."""
DATA_KEYS = frozenset({"cluster", "codebook", "format", "levels", "missing", "source", "variables"})
OUTPUT_KEYS = frozenset(
    {
        "codebook",
        "data",
        "edits",
        "format",
        "formulas",
        "key_map",
        "numbers",
        "parts",
        "public_record",
        "record",
        "svrl",
    }
)
EXECUTION_KEYS = frozenset({"block_size", "engine", "plugin_seconds", "processes", "scratch", "workers"})
OPERATORS = frozenset({"geometric_mean", "lower_median", "mean", "mode"})
"""How the plan aggregates variables by itself."""
RULE_FUNCTIONS = frozenset(
    {
        "abs", "age_at", "all", "and", "any", "ceiling", "count", "day", "else", "first", "floor", "hour", "if", "in",
        "inf", "integer", "is", "max", "min", "missing", "mod", "month", "no", "not", "number", "one", "or", "original",
        "quarter", "round", "sum", "then", "unique", "year",
    }
)  # fmt: skip
"""Functions of the language of rules, and its words."""
RULE_KEYS = frozenset({"rule"})
RULE_FILE_KEYS = frozenset({"file"})
COMMANDS = frozenset(
    {
        "advise", "compare", "completion", "demo", "describe", "edits", "explain", "init", "localize",
        "measure", "plan", "plugins", "run", "schema", "tune", "validate",
    }
)  # fmt: skip
"""Commands that come with Maskwright."""
COMMAND_OPTIONS = frozenset({"h", "help", "traceback"})
"""Options of every command."""


def reserved_name_error(kind: str, plugin: object) -> str | None:
    """Say in one sentence which name of a plugin the pipeline's own keys would hide; None: none.

    `plugin`: a record of that kind.
    """
    match plugin:
        case Aggregation() | ConstraintKind():
            wrong = _word_error(plugin)
        case Report():
            wrong = _name_error("a report", plugin.name, OUTPUT_KEYS, "output")
        case Source():
            wrong = _fields_error("an option", plugin.params, DATA_KEYS, "the `data:` section has it itself")
        case Engine():
            why = "the `execution:` section has it itself"
            wrong = _fields_error("a parameter", plugin.params, EXECUTION_KEYS, why)
        case EditReader():
            wrong = _name_error("an edit reader", plugin.name, RULE_KEYS, "edits")
            wrong = wrong or _fields_error("an option", plugin.params, RULE_FILE_KEYS, "it names the file of rules")
        case Command():
            taken = f"a command cannot be called {plugin.name!r}: Maskwright has one of this name, which would be run"
            wrong = taken if plugin.name in COMMANDS else None
            wrong = wrong or _fields_error("an option", plugin.params, COMMAND_OPTIONS, "every command has it")
        case _ if kind == "method":
            params = getattr(plugin, "params", None)
            wrong = _fields_error("a parameter", params, STEP_PARAMETERS, "the planner reads it")
        case _:
            wrong = None
    return wrong


def _word_error(plugin: Aggregation | ConstraintKind) -> str | None:
    if isinstance(plugin, Aggregation):
        what, why = "an aggregation", "the plan itself has one of this name" if plugin.name in OPERATORS else None
    else:
        what, why = "a kind of constraint", "rules have this word" if plugin.name in RULE_FUNCTIONS else None
    return None if why is None else f"{what} cannot be called {plugin.name!r}: {why}"


def _name_error(what: str, name: str, keys: Collection[str], section: str) -> str | None:
    if name not in keys:
        return None
    return f"{what} cannot be called {name!r}: the `{section}:` section of pipelines has a key of this name"


def _fields_error(what: str, params: object, keys: Collection[str], why: str) -> str | None:
    taken = sorted(set(getattr(params, "model_fields", ())) & set(keys))
    return f"{what} cannot be called {taken[0]!r}: {why}, and the plugin would never see it" if taken else None


CONTRACT = 1
"""The contract between Maskwright and plugins that this version has: what records hold, and what functions get."""

OLDEST_CONTRACT = 1
"""The oldest one that plugins may be written for and still work."""

Plugin = (
    Source | EditReader | Partition | Method | Remover | Measure | Report
    | Aggregation | ConstraintKind | RuleWriter | PlanCheck | ReportSection | Action | Command | Engine
)  # fmt: skip

KINDS: Mapping[str, tuple[type[Plugin], ...]] = {
    "source": (Source,),
    "edit_reader": (EditReader,),
    "partition": (Partition,),
    "method": (Method, Remover),
    "measure": (Measure,),
    "report": (Report,),
    "aggregation": (Aggregation,),
    "constraint": (ConstraintKind,),
    "rule_writer": (RuleWriter,),
    "plan_check": (PlanCheck,),
    "report_section": (ReportSection,),
    "action": (Action,),
    "command": (Command,),
    "engine": (Engine,),
}
"""The records of each kind of plugin. A remover is named as a method is, and asked for by the same hook."""

# The functions of each record and the names that their arguments go by in the contract.
_FUNCTIONS: Mapping[type[Plugin], Mapping[str, tuple[str, ...]]] = {
    Source: {"open": ("path", "params", "progress"), "write": ("path", "batches", "variables", "layout")},
    EditReader: {"read": ("path",)},
    Partition: {"cluster": ("block", "k", "params", "rng")},
    Method: {"protect": ("block", "params", "rng")},
    Remover: {"remove": ("block", "params", "rng")},
    Measure: {"compute": ("comparison", "params", "rng")},
    Report: {"write": ("path", "record")},
    Aggregation: {"represent": ("cells", "params")},
    ConstraintKind: {"evaluate": ("values", "params")},
    RuleWriter: {"write": ("edits", "about")},
    PlanCheck: {"check": ("plan", "params")},
    ReportSection: {"compose": ("record", "params")},
    Action: {"act": ("outputs", "record", "params")},
    Command: {"work": ("params",)},
    Engine: {"start": ("terms", "params")},
}
# Functions that it may have or not.
_MAY_HAVE: Mapping[type[Plugin], Mapping[str, tuple[str, ...]]] = {
    Method: {
        "fewest_records": ("params", "p"), "mean_cluster_size": ("params", "n"), "limits": ("params", "variables"),
        "publishes": ("params", "variable"), "variant": ("params",), "iterations": ("block", "params", "rng"),
    },
    Remover: {"variant": ("params",)},
    ConstraintKind: {"project": ("rows", "params")},
    Measure: {"uses": ("params", "measurable"), "components": ("params",), "check": ("params", "measurable")},
}  # fmt: skip
_OF_MASKWRIGHT = ("maskwright", "maskwright_builtin")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def version_error(module: object, distribution: str, version: str) -> str | None:
    """Say in one sentence why a package cannot be used for the contract it is written for, or return None.

    A package that says nothing is refused too: what is taken for a guess today would be taken for a later contract
    tomorrow, and nobody would have said so.

    `module`: that its entry point names. `distribution`, `version`: of the package; "" for a version that is not known.
    """
    written_for: object = getattr(module, "CONTRACT", None)
    package = f"package {distribution} {version}".rstrip()
    if written_for is None:
        return f"{package} does not say which contract it is written for: write CONTRACT = {CONTRACT} beside its hooks"
    if not isinstance(written_for, int) or isinstance(written_for, bool) or written_for < 1:
        return f"{package} says CONTRACT = {written_for!r}; it is a whole number: write CONTRACT = {CONTRACT}"
    if written_for > CONTRACT:
        return (
            f"{package} is written for contract {written_for}, this Maskwright knows {CONTRACT}: update Maskwright or "
            f"install an older {distribution}"
        )
    if written_for < OLDEST_CONTRACT:
        return (
            f"{package} is written for contract {written_for}, and this Maskwright reads {OLDEST_CONTRACT} and later: "
            f"install a newer {distribution}"
        )
    return None


def contract_error(kind: str, plugin: object) -> str | None:
    """Say in one sentence what is wrong with a plugin record, or return None when it keeps the contract.

    `plugin`: what a plugin's hook offered.
    """
    if not isinstance(plugin, KINDS[kind]):
        expected = " or ".join(f"maskwright.{each.__name__}" for each in KINDS[kind])
        return f"offered a {type(plugin).__name__} where a {expected} is expected"
    if not _NAME.fullmatch(str(plugin.name)):
        return "the name must be letters, digits, '_' and '-', starting with a letter"
    wrong = _functions_error(plugin) or _params_error(plugin) or _suffixes_error(plugin) or illegal_value_error(plugin)
    wrong = wrong or reserved_name_error(kind, plugin) or _second_reader_error(plugin) or libraries_error(plugin)
    if wrong is None and isinstance(plugin, (Method, Remover)):
        return _promise_error(plugin)
    if wrong is None and isinstance(plugin, Measure):
        return _measure_error(plugin)
    if wrong is None and isinstance(plugin, ConstraintKind):
        return _constraint_error(plugin)
    return wrong


def _functions_error(plugin: Plugin) -> str | None:
    """What is wrong with the functions of a record: those that it must have, and those that it may have."""
    record = next(each for each in _FUNCTIONS if isinstance(plugin, each))
    wanted = dict(_FUNCTIONS[record])
    wanted |= {
        name: arguments for name, arguments in _MAY_HAVE.get(record, {}).items()
        if getattr(plugin, name) is not None
    }  # fmt: skip
    return next(filter(None, (_signature_error(name, getattr(plugin, name), wanted[name]) for name in wanted)), None)


def _params_error(plugin: object) -> str | None:
    params: object = getattr(plugin, "params", None)
    if params is not None and not (isinstance(params, type) and issubclass(params, BaseModel)):
        return "params must be a class derived from pydantic.BaseModel"
    return None if params is None else marking_error(params, of_method=isinstance(plugin, (Method, Remover)))


def _suffixes_error(plugin: object) -> str | None:
    suffixes: object = getattr(plugin, "suffixes", ())
    if isinstance(suffixes, tuple) and all(
        isinstance(suffix, str) and suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes
    ):
        return None
    return "suffixes must be a tuple of lower case file name endings with the dot, such as ('.csv',)"


def _signature_error(attribute: str, function: object, arguments: tuple[str, ...]) -> str | None:
    expected = f"{attribute}({', '.join(arguments)})"
    if not callable(function):
        return f"{attribute} must be a function {expected}"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled functions may not tell; the call itself will
        return None
    try:
        signature.bind(*arguments)
    except TypeError:
        return f"{attribute}{signature} cannot be called as {expected}"
    return None


def _promise_error(method: Method | Remover) -> str | None:
    if "cells" in method.removes and method.scope != "all":
        return "removes cells, so scope must be 'all': what is removed must be the same for all variables"
    if "k" in method.preserves and method.parameter(PromisesK) is None:
        return "preserves 'k' is claimed, so PromisesK must mark the parameter that promises it"
    if isinstance(method, Remover) and method.promises_clusters:
        return "a remover has no clusters, so the k that it promises is of keys: KeyVariables must mark a parameter"
    return None


def _measure_error(measure: Measure) -> str | None:
    low, high = measure.range
    if low is not None and high is not None and not low < high:
        return "range must be (smallest, largest)"
    taken = {"as": "the measure's label", "per_record": "contributions of records"}
    for name, use in taken.items():
        if name in measure.params.model_fields:
            return f"a parameter cannot be called {name!r}: pipelines use it for {use}"
    return None


def _second_reader_error(plugin: object) -> str | None:
    """A second reader from the same package as the first may share its mistakes, so it is no second opinion."""
    reader = plugin.read_plainly if isinstance(plugin, Source) else None
    module = str(getattr(reader, "__module__", None) or "")
    if reader is None or module.partition(".")[0] in _OF_MASKWRIGHT:
        return None
    return (
        "read_plainly is for formats that Maskwright brings along: leave it out, and let pipelines waive "
        "written-file-not-read-twice"
    )


def _constraint_error(kind: ConstraintKind) -> str | None:
    if not kind.name.isidentifier():
        return "the name of a kind of constraint must be letters, digits and '_': rules call it as a function"
    if kind.fewest < 1 or (kind.most is not None and kind.most < kind.fewest):
        return "fewest must be 1 or more, and most not less than fewest"
    return None
