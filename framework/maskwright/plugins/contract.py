"""What makes a plugin record acceptable, with the names that are reserved."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel

from maskwright.plugins.attack import Attack
from maskwright.plugins.claims import Claims
from maskwright.plugins.cost import Cost
from maskwright.plugins.engine import Engine
from maskwright.plugins.legal_values import illegal_value_error
from maskwright.plugins.measure import Measure, MeasureClaims
from maskwright.plugins.method import Method
from maskwright.plugins.packages import libraries_error
from maskwright.plugins.parameter_markers import PromisesK, marking_error
from maskwright.plugins.partition import Partition
from maskwright.plugins.report import Report
from maskwright.plugins.rules import RuleLanguage
from maskwright.plugins.source import Format, NestedFormat, Source

if TYPE_CHECKING:
    from collections.abc import Collection


STEP_PARAMETERS = frozenset(
    {
        "adjustment_weights", "aggregation", "allow_original_values", "group_size", "grouping", "k_guarantee",
        "missing", "release_edits", "rare", "small_strata", "structural_zeros", "totals",
    }
)  # fmt: skip
"""Parameters of every step, which the planner reads."""
DATA_KEYS = frozenset({
    "cluster", "codebook", "format", "levels", "missing", "roles", "source", "types", "undeclared", "variables",
})  # fmt: skip
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
RULE_KEYS = frozenset({"rule"})
RULE_FILE_KEYS = frozenset({"file"})


def reserved_name_error(kind: str, plugin: object) -> str | None:
    """Say in one sentence which name of a plugin the pipeline's own keys would hide; None: none.

    `plugin`: a record of that kind.
    """
    match plugin:
        case Report():
            wrong = _name_error("a report", plugin.name, OUTPUT_KEYS, "output")
        case Source():
            wrong = _fields_error("an option", plugin.params, DATA_KEYS, "the `data:` section has it itself")
        case Engine():
            why = "the `execution:` section has it itself"
            wrong = _fields_error("a parameter", plugin.params, EXECUTION_KEYS, why)
        case RuleLanguage():
            wrong = _name_error("a rule language", plugin.name, RULE_KEYS, "edits")
            wrong = wrong or _fields_error("an option", plugin.params, RULE_FILE_KEYS, "it names the file of rules")
        case _ if kind == "method":
            params = getattr(plugin, "params", None)
            wrong = _fields_error("a parameter", params, STEP_PARAMETERS, "the planner reads it")
        case _:
            wrong = None
    return wrong


def _name_error(what: str, name: str, keys: Collection[str], section: str) -> str | None:
    if name not in keys:
        return None
    return f"{what} cannot be called {name!r}: the `{section}:` section of pipelines has a key of this name"


def _fields_error(what: str, params: object, keys: Collection[str], why: str) -> str | None:
    taken = sorted(set(getattr(params, "model_fields", ())) & set(keys))
    return f"{what} cannot be called {taken[0]!r}: {why}, and the plugin would never see it" if taken else None


CONTRACT = 2
"""The contract between Maskwright and plugins that this version has: what records hold, and what functions get."""

OLDEST_CONTRACT = 2
"""The oldest one that plugins may be written for and still work."""

Plugin = Source | RuleLanguage | Partition | Method | Measure | Attack | Report | Engine

KINDS: Mapping[str, type[Plugin]] = {
    "source": Source,
    "rule_language": RuleLanguage,
    "partition": Partition,
    "method": Method,
    "measure": Measure,
    "attack": Attack,
    "report": Report,
    "engine": Engine,
}
"""The record of each kind of plugin."""

_Arguments = Mapping[str, tuple[str, ...]]

# The functions that each record must have, by the names that their arguments go by in the contract.
_FUNCTIONS: Mapping[type[Plugin], _Arguments] = {
    Source: {"open": ("path", "params", "progress"), "write": ("path", "batches", "variables", "layout")},
    Partition: {"cluster": ("block", "k", "params", "rng")},
    Measure: {"compute": ("comparison", "params", "rng")},
    Attack: {"infer": ("published", "params")},
    Report: {"write": ("path", "record")},
    Engine: {"start": ("terms", "params")},
}
# Of these each has one at least, and a method one and no more.
_EITHER: Mapping[type[Plugin], _Arguments] = {
    RuleLanguage: {"read": ("path",), "write": ("edits", "about")},
    Method: {"protect": ("block", "params", "rng"), "remove": ("block", "params", "rng")},
}
# Functions that a record, or what is nested in it, may have or not.
_MAY_HAVE: Mapping[type[object], _Arguments] = {
    Method: {"variant": ("params",), "iterations": ("block", "params", "rng")},
    Claims: {
        "fewest_records": ("params", "p"), "mean_cluster_size": ("params", "n"), "limits": ("params", "variables"),
        "publishes": ("params", "variable"),
    },
    MeasureClaims: {"uses": ("params", "measurable"), "components": ("params",), "check": ("params", "measurable")},
}  # fmt: skip
_OF_MASKWRIGHT = ("maskwright", "maskwright_builtin")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def version_error(module: object, distribution: str, version: str) -> str | None:
    """Say in one sentence why a package cannot be used for the contract it is written for, or return None.

    A package that says nothing is refused too: what is taken for a guess today would be taken for a later contract
    tomorrow, and no one would have said so.

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
        return f"offered a {type(plugin).__name__} where a maskwright.{KINDS[kind].__name__} is expected"
    if not _NAME.fullmatch(str(plugin.name)):
        return "the name must be letters, digits, '_' and '-', starting with a letter"
    wrong = _nesting_error(plugin) or _functions_error(plugin) or _params_error(plugin) or _suffixes_error(plugin)
    wrong = wrong or illegal_value_error(plugin) or reserved_name_error(kind, plugin)
    wrong = wrong or _second_reader_error(plugin) or libraries_error(plugin)
    if wrong is None and isinstance(plugin, Method):
        return illegal_value_error(plugin.claims) or _promise_error(plugin)
    if wrong is None and isinstance(plugin, Measure):
        return illegal_value_error(plugin.claims) or _measure_error(plugin)
    if wrong is None and isinstance(plugin, Source):
        return illegal_value_error(plugin.format)
    return wrong


def _nesting_error(plugin: Plugin) -> str | None:
    """What is wrong with the records inside a record: each has to be of its type."""
    nested: tuple[tuple[str, object, type[object]], ...] = ()
    if isinstance(plugin, Method):
        nested = (("claims", plugin.claims, Claims),)
    elif isinstance(plugin, Measure):
        nested = (("claims", plugin.claims, MeasureClaims),)
    elif isinstance(plugin, Source):
        nested = (("format", plugin.format, Format),)
        if plugin.nested is not None:
            nested = (*nested, ("nested", plugin.nested, NestedFormat))
    for name, value, expected in nested:
        if not isinstance(value, expected):
            return f"{name} must be a maskwright.{expected.__name__}, not a {type(value).__name__}"
    claims = plugin if isinstance(plugin, Partition) else getattr(plugin, "claims", None)
    cost: object = getattr(claims, "cost", None)
    if isinstance(claims, (Claims, MeasureClaims, Partition)) and not isinstance(cost, Cost):
        return f"cost must be a maskwright.Cost, not a {type(cost).__name__}"
    return None


def _functions_error(plugin: Plugin) -> str | None:
    """What is wrong with the functions of a record: those that it must have, and those that it may have."""
    either = _EITHER.get(type(plugin), {})
    had = [name for name in either if getattr(plugin, name) is not None]
    if either and (not had or (isinstance(plugin, Method) and len(had) > 1)):
        return f"has {' and '.join(had)}, and may have one only" if had else f"must have {' or '.join(either)}"
    wanted: list[tuple[object, str, tuple[str, ...]]] = [
        (plugin, name, arguments) for name, arguments in _FUNCTIONS.get(type(plugin), {}).items()
    ]
    optional: list[tuple[object, _Arguments]] = [(plugin, either), (plugin, _MAY_HAVE.get(type(plugin), {}))]
    if isinstance(plugin, (Method, Measure)):
        optional.append((plugin.claims, _MAY_HAVE[type(plugin.claims)]))
    for owner, functions in optional:
        wanted += [(owner, name, each) for name, each in functions.items() if getattr(owner, name) is not None]
    found = (_signature_error(name, getattr(owner, name), arguments) for owner, name, arguments in wanted)
    return next(filter(None, found), None)


def _params_error(plugin: object) -> str | None:
    params: object = getattr(plugin, "params", None)
    if params is not None and not (isinstance(params, type) and issubclass(params, BaseModel)):
        return "params must be a class derived from pydantic.BaseModel"
    return None if params is None else marking_error(params, of_method=isinstance(plugin, Method))


def _suffixes_error(plugin: object) -> str | None:
    for name in ("suffixes", "written_suffixes"):
        suffixes: object = getattr(plugin, name, ())
        if not isinstance(suffixes, tuple) or not all(
            isinstance(suffix, str) and suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes
        ):
            return f"{name} must be a tuple of lower case file name endings with the dot, such as ('.csv',)"
    return None


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


def _promise_error(method: Method) -> str | None:
    removes = method.claims.removes
    if method.is_remover and removes not in ({"cells"}, {"records"}):
        return 'a method with remove claims what that is: claims=Claims(removes={"records"}), or {"cells"}'
    if not method.is_remover and "records" in removes:
        return "only a method with remove, and without protect, may take records away"
    if "cells" in removes and method.scope != "all":
        return "removes cells, so scope must be 'all': what is removed must be the same for all variables"
    if "k" in method.claims.preserves and method.parameter(PromisesK) is None:
        return "preserves 'k' is claimed, so PromisesK must mark the parameter that promises it"
    if method.is_remover and method.promises_clusters:
        return "a method with remove has no clusters: KeyVariables must mark a parameter, whose k it promises"
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
