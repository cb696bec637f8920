"""Which variables measures look at: those compared between two files, those measured, and the usual losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.record_groups import shared_codes
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import InputError, Problem
from maskwright.pipeline.resolved import MeasureRequest
from maskwright.pipeline.steps import threshold_figures
from maskwright.plugins.measure import Measurable, Measure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Column, Dataset
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.plan import Plan
    from maskwright.plugins.registered import Registry


MEASURED_ROLES = ("quasi_identifier", "confidential")
"""Roles of the variables that are measured."""

OF_CATEGORIES = (
    ". Categories have measures of their own: contingency_tables, cramers_v, entropy_based_loss; a weighted_score may "
    "join them with a risk of key variables, such as uniqueness"
)
"""What to take where a measure of numbers has nothing to look at."""


@dataclass(frozen=True)
class ExcludedVariables:
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
    if measure.claims.components is not None:
        parts = (names_used(part, own, given) for part, own in measure.claims.components(params))
        return frozenset().union(*parts)
    return frozenset(given.compared if measure.claims.uses is None else measure.claims.uses(params, given))


def left_out(measure: Measure, params: BaseModel, given: Measurable, masked: Collection[str]) -> ExcludedVariables:
    """What a measure leaves out; a score leaves out what any part of it does."""
    if measure.claims.components is not None:
        parts = [left_out(part, own, given, masked) for part, own in measure.claims.components(params)]
        known = {name for part in parts for name in part.quasi_identifiers}
        hidden = {name for part in parts for name in part.masked}
        blind = tuple(dict.fromkeys(name for part in parts for name in part.blind))
        return ExcludedVariables(_in_order(known, given), _in_order(hidden, given), blind)
    used = names_used(measure, params, given)
    quasi_identifiers = () if measure.kind == "loss" else given.with_role("quasi_identifier")
    changed = () if measure.kind == "risk" else tuple(name for name in given.variables if name in masked)
    return ExcludedVariables(
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
        if variable.is_numeric
        and name not in plan.recoded
        and (name in plan.altered or variable.role in MEASURED_ROLES)
    )
    categorical = tuple(
        name
        for name, variable in variables.items()
        if not variable.is_numeric and (name in plan.masked or variable.role in MEASURED_ROLES)
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
        Problem(text, request.places.get(parameter, request.place), measure=request.label)
        for request in requests
        for parameter, text in _mistakes(request.measure, request.params, given)
    ]


def _mistakes(measure: Measure, params: BaseModel, given: Measurable) -> Iterator[tuple[str, str]]:
    found = list(() if measure.claims.check is None else measure.claims.check(params, given))
    if not found and measure.kind == "risk" and not names_used(measure, params, given):
        instead = OF_CATEGORIES if given.categorical else ""
        found = [("", f"there is nothing to measure: no numeric variable is published{instead}")]
    yield from found
    for part, own in () if measure.claims.components is None else measure.claims.components(params):
        yield from (("", f"{part.name}: {text}") for _, text in _mistakes(part, own, given))


def covered_by_thresholds(
    requests: Iterable[MeasureRequest], thresholds: Mapping[str, float], given: Measurable, masked: Collection[str]
) -> frozenset[str]:
    """Masked variables that at least one measure of loss with a threshold uses."""
    limited = [each for each in _with_threshold(requests, thresholds) if each.measure.kind != "risk"]
    hidden = (left_out(each.measure, each.params, given, masked).masked for each in limited)
    return frozenset[str]().union(*(set(masked).difference(names) for names in hidden))


def _with_threshold(requests: Iterable[MeasureRequest], thresholds: Mapping[str, float]) -> Iterator[MeasureRequest]:
    return (each for each in requests if any(name in thresholds for name in threshold_figures(each)))


def measure_doubts(
    requests: Sequence[MeasureRequest], thresholds: Mapping[str, float], given: Measurable, masked: Collection[str],
    covered: Collection[str] = (),
) -> Iterator[Doubt]:  # fmt: skip
    """Doubts about thresholds on measures that leave something out.

    `covered`: masked variables that a measure of loss with a threshold uses, so that others may leave them out.
    """
    for request in _with_threshold(requests, thresholds):
        found = left_out(request.measure, request.params, given, masked)
        if found.quasi_identifiers:
            message = f"it has a threshold, and leaves out quasi-identifiers: {', '.join(found.quasi_identifiers)}"
            yield Doubt("risk-leaves-out-quasi-identifiers", request.label, message, place=request.place)
        uncovered = [name for name in found.masked if name not in covered]
        if uncovered:
            message = f"it has a threshold, and leaves out masked variables: {', '.join(uncovered)}"
            yield Doubt("loss-leaves-out-masked-variables", request.label, message, place=request.place)


MOST_DESCRIBED = 8
"""Variables that are listed when none can be measured."""


def compared_variables(original: Dataset, masked: Dataset) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Variables of both files that are measured without a plan, in the original's order: numeric and categorical ones.

    Of numbers those are the quasi-identifiers and confidential variables; of categories, few of which are declared to
    be either, all but identifiers.
    """
    return released_variables(original, masked), released_categories(original, masked, original.names)


def nothing_to_measure(original: Dataset, masked: Dataset) -> InputError:
    """Error where no variable can be compared; it says what the two files have instead."""
    return InputError(
        Problem(
            "there is no variable to measure: none is numeric in both files, with the role quasi_identifier or "
            f"confidential in the original. The original has {_described(original)}; the masked file has "
            f"{_described(masked)}",
            hint="Are these two files of the same data, and the names spelt alike? For XML, --record names the "
            f"element of one record{OF_CATEGORIES}.",
        )
    )


def released_variables(
    original: Dataset, released: Dataset, masked: Collection[str] = (), recoded: Collection[str] = ()
) -> tuple[str, ...]:
    """Numeric variables of a released file that are measured, in the original's order; recoded ones hold categories.

    Besides the masked ones they are the quasi-identifiers and confidential variables that are published as they are: an
    intruder knows, and finds, those too.
    """
    return tuple(
        column.name
        for column in original
        if column.variable.is_numeric
        and column.name not in recoded
        and (column.name in masked or column.variable.role in MEASURED_ROLES)
        and column.name in released
        and released[column.name].variable.is_numeric
    )


def released_categories(original: Dataset, released: Dataset, masked: Collection[str] = ()) -> tuple[str, ...]:
    """Variables of a released file that are measured as categories, recoded numbers among them."""
    return tuple(
        column.name
        for column in original
        if column.name in released
        and not released[column.name].variable.is_numeric
        and column.variable.role != "identifier"
        and (column.name in masked or column.variable.role in MEASURED_ROLES)
    )


def unmasked_variable_notices(names: Collection[str], masked: Collection[str]) -> tuple[str, ...]:
    """Say which of the variables compared are published as they are: a note for every measure."""
    open_ones = [name for name in names if name not in masked]
    if not open_ones:
        return ()
    more = f" and {len(open_ones) - MOST_DESCRIBED} more" if len(open_ones) > MOST_DESCRIBED else ""
    message = (
        f"{len(open_ones)} of the {len(names)} variables compared are published unmasked, which lowers losses and "
        f"raises risks: {', '.join(open_ones[:MOST_DESCRIBED])}{more}"
    )
    return (message,)


def _described(data: Dataset) -> str:
    """Names of variables, with what keeps them from being measured."""
    shown = [
        column.name
        + ("" if column.variable.is_numeric else f" ({column.variable.type})")
        + (
            f" (role {column.variable.role})"
            if column.variable.is_numeric and column.variable.role not in MEASURED_ROLES
            else ""
        )
        for column in list(data)[:MOST_DESCRIBED]
    ]
    more = len(data.names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def changed_variables(original: Dataset, masked: Dataset) -> tuple[str, ...]:
    """Names of the variables of both files whose values differ in some record; none where records are not paired."""
    if masked.origin is None and len(original) != len(masked):
        return ()
    both = [column for column in original if column.name in masked]
    return tuple(column.name for column in both if _differ(column, masked[column.name], masked.origin))


def _differ(before: Column, after: Column, origin: NDArray[np.int64] | None) -> bool:
    if before.variable.is_numeric != after.variable.is_numeric:
        return True
    if before.variable.is_numeric:
        old, new = (np.where(column.missing, np.nan, column.values) for column in (before, after))
        return not np.array_equal(old if origin is None else old[origin], new, equal_nan=True)
    codes, others = shared_codes([before, after])
    return not np.array_equal(codes if origin is None else codes[origin], others)


USUAL_OF_NUMBERS = ("pil", "sse", "spikes")
"""Names of the measures, of numbers."""

USUAL_OF_CATEGORIES = ("contingency_tables", "entropy_based_loss")
"""Of categories: the tables that users make, and the detail that recoding and suppression take away."""


def with_usual_losses(pipeline: Pipeline, plan: Plan, registry: Registry) -> Pipeline:
    """The pipeline, with a loss of its masked numbers and one of its masked categories.

    Those are added of which no loss or score of the pipeline looks at any, so that no report is silent about what
    masking cost. An empty list, ``measure: []``, asks for none.
    """
    if "measure" in pipeline.settings and pipeline.settings["measure"] == []:
        return pipeline
    return replace(pipeline, measures=(*pipeline.measures, *_missing(pipeline, plan, registry)))


def _missing(pipeline: Pipeline, plan: Plan, registry: Registry) -> Iterator[MeasureRequest]:
    given = to_be_measured(plan)
    labels = {each.label for each in pipeline.measures}
    losses = (each for each in pipeline.measures if each.measure.kind != "risk")
    seen = frozenset[str]().union(*(names_used(each.measure, each.params, given) for each in losses))
    for kind, usual in ((given.compared, USUAL_OF_NUMBERS), (given.categorical, USUAL_OF_CATEGORIES)):
        masked = {name for name in kind if name in plan.altered}
        if masked and seen.isdisjoint(masked):
            for measure in (registry.measures[name] for name in usual if name in registry.measures):
                if measure.name not in labels:
                    yield MeasureRequest(measure.name, measure, measure.params(), asked=False)
