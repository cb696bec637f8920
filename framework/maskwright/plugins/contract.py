"""What makes a plugin record acceptable, checked when it is offered: a mistake is named before any data is read."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from pydantic import BaseModel

from maskwright.plugins.action import Action
from maskwright.plugins.aggregation import Aggregation
from maskwright.plugins.command import Command
from maskwright.plugins.constraint_kind import ConstraintKind
from maskwright.plugins.edit_reader import EditReader
from maskwright.plugins.engine import Engine
from maskwright.plugins.legal_values import illegal_value_error
from maskwright.plugins.libraries import libraries_error
from maskwright.plugins.measure import Measure
from maskwright.plugins.method import Method
from maskwright.plugins.parameter_markers import PromisesK, marking_error
from maskwright.plugins.partition import Partition
from maskwright.plugins.plan_check import PlanCheck
from maskwright.plugins.remover import Remover
from maskwright.plugins.report import Report
from maskwright.plugins.report_section import ReportSection
from maskwright.plugins.reserved_names import reserved_name_error
from maskwright.plugins.rule_writer import RuleWriter
from maskwright.plugins.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

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
