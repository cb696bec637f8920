"""Methods and measures asked for by name, as notebooks and commands do: found, and their parameters checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maskwright.foundation.errors import InputError
from maskwright.planning.model import StepRequest
from maskwright.planning.params import PlanningParams
from maskwright.plugins.parameters import checked_params
from maskwright.plugins.registry import find_measure, find_method
from maskwright.release.measuring import Request

MeasureNames = Sequence[str | Mapping[str, Mapping[str, object]]]


def step_request(
    method: str,
    params: Mapping[str, object],
    variables: Sequence[str] | None = None,
    groups: Sequence[Sequence[str]] = (),
) -> StepRequest:
    """Step of a plan: parameters are split between the method and the planner.

    Raises
    ------
    PluginError, InputError
        Unknown method or parameter, value out of range.
    """
    plugin = find_method(method)
    for_planner = {name: value for name, value in params.items() if name in PlanningParams.model_fields}
    for_method = {name: value for name, value in params.items() if name not in for_planner}
    return StepRequest(
        plugin,
        checked_params(plugin.params, for_method, f"parameters of {method}", PlanningParams.model_fields),
        PlanningParams.model_validate(for_planner),
        None if variables is None else tuple(variables),
        tuple(tuple(group) for group in groups),
    )


def measure_requests(measures: MeasureNames) -> list[Request]:
    """Measures by name, with parameters checked.

    Raises
    ------
    PluginError, InputError
        Unknown measure or parameter; two measures under one label.
    """
    requests: list[Request] = []
    for each in measures:
        named = {each: {}} if isinstance(each, str) else each
        for name, stated in named.items():
            params = dict(stated or {})
            label = str(params.pop("as", name))
            plugin = find_measure(name)
            requests.append(Request(label, plugin, checked_params(plugin.params, params, f"parameters of {name}")))
    labels = [request.label for request in requests]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"two measures are reported as {label!r}; name one with 'as'")
    return requests
