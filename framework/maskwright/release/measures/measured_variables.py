"""Which variables a measure looks at, and which it leaves out: a risk quasi-identifiers, a loss masked variables.

A plan knows it before a run, and a measurement says it beside its value: what is left out was not measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import Problem
from maskwright.pipeline.steps import judged_figures
from maskwright.plugins.measure import Measurable, Measure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset
    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.planning.plan import Plan

JUDGED = ("quasi_identifier", "confidential")
"""Roles of the variables that are measured."""

OF_CATEGORIES = (
    ". Categories have measures of their own: contingency_tables, cramers_v, entropy_based_loss; a weighted_score may "
    "join them with a risk of key variables, such as uniqueness"
)
"""What to take where a measure of numbers has nothing to look at."""


@dataclass(frozen=True)
class LeftOut:
    """What a measure, or a part of a score, does not look at.

    `quasi_identifiers`: that its risk leaves out, in file order. `masked`: masked variables that its loss leaves out.
    `blind`: names of measures of loss, itself or parts of it, that look at no masked variable at all.
    """

    quasi_identifiers: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.quasi_identifiers, *self.masked)))


def names_used(measure: Measure, params: BaseModel, given: Measurable) -> frozenset[str]:
    """Names of the variables that a measure, or any part of a score, looks at."""
    if measure.components is not None:
        parts = (names_used(part, own, given) for part, own in measure.components(params))
        return frozenset().union(*parts)
    return frozenset(given.compared if measure.uses is None else measure.uses(params, given))


def left_out(measure: Measure, params: BaseModel, given: Measurable, masked: Collection[str]) -> LeftOut:
    """What a measure leaves out; a score leaves out what any part of it does.

    `masked`: names of the variables that are not published as they were.
    """
    if measure.components is not None:
        parts = [left_out(part, own, given, masked) for part, own in measure.components(params)]
        known = {name for part in parts for name in part.quasi_identifiers}
        hidden = {name for part in parts for name in part.masked}
        blind = tuple(dict.fromkeys(name for part in parts for name in part.blind))
        return LeftOut(_in_order(known, given), _in_order(hidden, given), blind)
    used = names_used(measure, params, given)
    quasi_identifiers = () if measure.kind == "loss" else given.with_role("quasi_identifier")
    changed = () if measure.kind == "risk" else tuple(name for name in given.variables if name in masked)
    return LeftOut(
        tuple(name for name in quasi_identifiers if name not in used),
        tuple(name for name in changed if name not in used),
        (measure.name,) if changed and used.isdisjoint(changed) else (),
    )


def _in_order(names: Collection[str], given: Measurable) -> tuple[str, ...]:
    return tuple(name for name in given.variables if name in names)


def not_measured(requests: Sequence[MeasureRequest], given: Measurable, masked: Collection[str]) -> tuple[str, ...]:
    """Masked variables and quasi-identifiers that no measure looks at, in file order."""
    used = frozenset[str]().union(*(names_used(each.measure, each.params, given) for each in requests))
    wanted = {*masked, *given.with_role("quasi_identifier")}
    return tuple(name for name in given.variables if name in wanted and name not in used)


def to_be_measured(plan: Plan) -> Measurable:
    """What the measures of a run will be given: all that is published, recoded variables as categories."""
    variables = {
        name: replace(variable, type="ordinal", decimals=None)
        if name in plan.recoded and variable.is_numeric
        else variable
        for name, variable in {**plan.variables, **{each.name: each for each in plan.derived}}.items()
        if variable.role != "identifier"
    }
    compared = tuple(
        name
        for name, variable in variables.items()
        if variable.is_numeric and name not in plan.recoded and (name in plan.altered or variable.role in JUDGED)
    )
    categorical = tuple(
        name
        for name, variable in variables.items()
        if not variable.is_numeric and (name in plan.masked or variable.role in JUDGED)
    )
    return Measurable(variables, compared, categorical)


def given_to_measures(
    original: Dataset, masked: Dataset, compared: Sequence[str], categorical: Sequence[str] = ()
) -> Measurable:
    """What measures of two datasets are given; roles are those of the original."""
    variables = {
        column.name: replace(masked[column.name].variable, role=column.variable.role)
        for column in original
        if column.name in masked
    }
    return Measurable(variables, tuple(compared), tuple(categorical))


def measure_problems(requests: Sequence[MeasureRequest], given: Measurable) -> list[Problem]:
    """What is wrong with the parameters of measures, given the variables; scores pass on what is wrong with a part."""
    return [
        Problem(f"{request.label}: {said}", request.places.get(parameter, request.place))
        for request in requests
        for parameter, said in _mistakes(request.measure, request.params, given)
    ]


def _mistakes(measure: Measure, params: BaseModel, given: Measurable) -> Iterator[tuple[str, str]]:
    found = list(() if measure.check is None else measure.check(params, given))
    if not found and measure.kind == "risk" and not names_used(measure, params, given):
        instead = OF_CATEGORIES if given.categorical else ""
        found = [("", f"there is nothing to measure: no numeric variable is published{instead}")]
    yield from found
    for part, own in () if measure.components is None else measure.components(params):
        yield from (("", f"{part.name}: {said}") for _, said in _mistakes(part, own, given))


def measure_doubts(
    requests: Sequence[MeasureRequest], thresholds: Mapping[str, float], given: Measurable, masked: Collection[str]
) -> Iterator[Doubt]:
    """Doubts about thresholds on measures that leave something out.

    `thresholds`: by label, or by label and part. `masked`: names of the variables that steps mask.
    """
    for request in requests:
        if not any(name in thresholds for name in judged_figures(request)):
            continue
        found = left_out(request.measure, request.params, given, masked)
        if found.quasi_identifiers:
            said = f"it has a threshold, and leaves out quasi-identifiers: {', '.join(found.quasi_identifiers)}"
            yield Doubt("risk-leaves-out-quasi-identifiers", request.label, said, place=request.place)
        if found.masked:
            said = f"it has a threshold, and leaves out masked variables: {', '.join(found.masked)}"
            yield Doubt("loss-leaves-out-masked-variables", request.label, said, place=request.place)
