"""What makes a plugin record acceptable, checked when it is offered: a mistake is named before any data is read."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, get_args

from pydantic import BaseModel

from maskwright.data.variable import VariableType
from maskwright.plugins.edit_reader import EditReader
from maskwright.plugins.measure import Measure
from maskwright.plugins.method import Method, Preserves, Removes, Scope
from maskwright.plugins.parameter_markers import PromisesK, marking_error
from maskwright.plugins.partition import Partition
from maskwright.plugins.report import Report
from maskwright.plugins.reserved_names import reserved_name_error
from maskwright.plugins.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

Plugin = Source | EditReader | Partition | Method | Measure | Report

KINDS: Mapping[str, type[Plugin]] = {
    "source": Source,
    "edit_reader": EditReader,
    "partition": Partition,
    "method": Method,
    "measure": Measure,
    "report": Report,
}

# The function of each kind and the names its arguments go by in the contract.
_SIGNATURES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "source": {"open": ("path", "params", "progress"), "write": ("path", "batches", "variables", "layout")},
    "edit_reader": {"read": ("path",)},
    "partition": {"cluster": ("block", "k", "params", "rng")},
    "method": {"protect": ("block", "params", "rng")},
    "measure": {"compute": ("comparison", "params", "rng")},
    "report": {"write": ("path", "record")},
}
_METHODS_MAY_HAVE = {
    "fewest_records": ("params", "p"), "mean_cluster_size": ("params", "n"), "limits": ("params", "variables"),
    "keeps_equals": ("params",), "variant": ("params",),
}  # fmt: skip
_MEASURES_MAY_HAVE = {"uses": ("params", "measurable"), "components": ("params",), "check": ("params", "measurable")}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_INVARIANCES = {"affine", "records", "columns"}


def contract_error(kind: str, plugin: object) -> str | None:
    """Say in one sentence what is wrong with a plugin record, or return None when it keeps the contract.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    plugin : object
        What a plugin's hook offered.
    """
    if not isinstance(plugin, KINDS[kind]):
        return f"offered a {type(plugin).__name__} where a maskwright.{KINDS[kind].__name__} is expected"
    if not _NAME.fullmatch(str(plugin.name)):
        return "the name must be letters, digits, '_' and '-', starting with a letter"
    common = (
        _signature_error(attribute, getattr(plugin, attribute), arguments)
        for attribute, arguments in _SIGNATURES[kind].items()
    )
    wrong = next(filter(None, common), None) or _params_error(plugin) or _suffixes_error(plugin)
    wrong = wrong or reserved_name_error(kind, plugin)
    if wrong is None and isinstance(plugin, Method):
        return _method_error(plugin)
    if wrong is None and isinstance(plugin, Measure):
        return _measure_error(plugin)
    return wrong


def _params_error(plugin: object) -> str | None:
    params: object = getattr(plugin, "params", None)
    if params is not None and not (isinstance(params, type) and issubclass(params, BaseModel)):
        return "params must be a class derived from pydantic.BaseModel"
    return None if params is None else marking_error(params, of_method=isinstance(plugin, Method))


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


def _method_error(method: Method) -> str | None:
    for field, found, known in (
        ("scope", {method.scope}, set(get_args(Scope))),
        ("variable_types", set(method.variable_types), set(get_args(VariableType))),
        ("preserves", set(method.preserves), set(get_args(Preserves))),
        ("removes", set(method.removes), set(get_args(Removes))),
    ):
        if not found <= known:
            return (
                f"{field}: {', '.join(sorted(map(repr, found - known)))} unknown; there are {', '.join(sorted(known))}"
            )
    return _optional_error(method, _METHODS_MAY_HAVE) or _promise_error(method)


def _promise_error(method: Method) -> str | None:
    if method.removes & {"records", "cells"} and method.scope != "all":
        return "removes records or cells, so scope must be 'all': what is removed must be the same for all variables"
    if "k" in method.preserves and method.parameter(PromisesK) is None:
        return "preserves 'k' is claimed, so PromisesK must mark the parameter that promises it"
    return None


def _measure_error(measure: Measure) -> str | None:
    if measure.kind not in ("loss", "risk", "score"):
        return f"kind must be loss, risk or score, not {measure.kind!r}"
    if measure.direction not in ("lower", "higher"):
        return f"direction must be lower or higher, not {measure.direction!r}"
    low, high = measure.range
    if low is not None and high is not None and not low < high:
        return "range must be (smallest, largest)"
    if not measure.invariant_to <= _INVARIANCES:
        return f"invariant_to may hold {', '.join(sorted(_INVARIANCES))}"
    taken = {"as": "the measure's label", "per_record": "contributions of records"}
    for name, use in taken.items():
        if name in measure.params.model_fields:
            return f"a parameter cannot be called {name!r}: pipelines use it for {use}"
    return _optional_error(measure, _MEASURES_MAY_HAVE)


def _optional_error(plugin: Plugin, functions: Mapping[str, tuple[str, ...]]) -> str | None:
    """What is wrong with functions that a plugin may have or not."""
    given = {name: getattr(plugin, name) for name in functions if getattr(plugin, name) is not None}
    return next(filter(None, (_signature_error(name, each, functions[name]) for name, each in given.items())), None)
