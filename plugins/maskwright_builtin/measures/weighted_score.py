"""A weighted score of any measures, also of a file in partitions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from maskwright import (
    Comparison,
    Further,
    InputError,
    MaskwrightError,
    Measure,
    MeasureClaims,
    Measurement,
    Merging,
    PartOfFile,
    find_measure,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np

    from maskwright_builtin.measures.partition_statistics import Columns, Facts, Request
    from maskwright_builtin.numerics.arrays import Integers


class Component(BaseModel, extra="forbid", frozen=True):
    """One measure of a score, with its weight."""

    measure: str = Field(description="Name of a measure: maskwright plugins lists them.")
    weight: float = Field(gt=0, allow_inf_nan=False, description="What its value is multiplied by.")
    params: dict[str, Any] = Field(default_factory=dict, description="Parameters of the measure.")
    label: str | None = Field(default=None, min_length=1, description="Name of the part; left out, the measure's name.")

    @property
    def name(self) -> str:
        """What the part is called."""
        return self.label or self.measure


def resolved(component: Component) -> tuple[Measure, BaseModel]:
    """Measure and parameters of a component; ValueError where they are wrong."""
    try:
        measure = find_measure(component.measure)
    except MaskwrightError as error:
        raise ValueError(str(error)) from None
    if measure.claims.of_levels:
        raise ValueError(f"{measure.name} measures groups with all their members: it cannot be part of a score")
    if measure.direction == "higher" and measure.range[1] is None:
        raise ValueError(f"{measure.name} is better when higher and has no largest value: it cannot be part of a score")
    try:
        return measure, measure.params.model_validate(component.params)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in found["loc"])
        raise ValueError(f"params of {measure.name}: {place}: {found['msg']}") from None


def score_of(found: Iterable[tuple[Component, float, Sequence[str]]]) -> Measurement:
    """Weighted sum of the values of components, in their order."""
    parts: dict[str, float] = {}
    notes: list[str] = []
    total = 0.0
    for component, value, own in found:
        measure, _ = resolved(component)
        highest = measure.range[1]
        counted = value
        if measure.direction == "higher" and highest is not None:
            counted = highest - value
            notes.append(f"{component.name}: counted as {highest:g} less the measure, which is better when higher")
        parts[component.name] = counted
        total += component.weight * counted
        notes += [f"{component.name}: {note}" for note in own]
    return Measurement(float(total), parts, notes=tuple(notes))


ROWS = "rows"
"""What is asked of all parts has the rows that they gave under this name."""


def partial(comparison: Comparison, params: WeightedScoreParams, request: Request) -> Facts:
    """What the component whose turn it is wants to know of one part."""
    merging, own = _at_work(params, request)
    return merging.partial(comparison, own, _component_request(request))


def merged(facts: Sequence[Facts], params: WeightedScoreParams, request: Request) -> Measurement | Further:
    """The score, or what a component needs next."""
    merging, own = _at_work(params, request)
    found = merging.merged(facts, own, _component_request(request))
    done = [] if request is None else list(request["done"])
    if isinstance(found, Further):
        return Further({"done": done, "asked": dict(found.asked)}, found.rows_to)
    done.append([None if math.isnan(found.value) else found.value, list(found.notes)])
    if len(done) < len(params.components):
        return Further({"done": done, "asked": None})
    values = [(math.nan if value is None else value, notes) for value, notes in done]
    return score_of((each, *own) for each, own in zip(params.components, values, strict=True))


def condensed(facts: Sequence[Facts], params: WeightedScoreParams, request: Request) -> Sequence[Facts]:
    """Facts of some neighbouring parts in less room, where the component whose turn it is can condense them."""
    merging, own = _at_work(params, request)
    return facts if merging.condensed is None else merging.condensed(facts, own, _component_request(request))


def rows(
    comparison: Comparison, params: WeightedScoreParams, request: Request, part: PartOfFile
) -> tuple[Columns, Integers]:
    """Rows of one part that the component whose turn it is needs."""
    merging, own = _at_work(params, request)
    assert merging.rows is not None
    return merging.rows(comparison, own, _component_request(request), part)


def counted(columns: Columns, params: WeightedScoreParams, request: Request) -> Facts:
    """Facts of the component whose turn it is on the rows of one task.

    `columns`: shape (n,).
    """
    merging, own = _at_work(params, request)
    assert merging.counted is not None
    return merging.counted(columns, own, _component_request(request))


def refused(params: WeightedScoreParams) -> str | None:
    """Why such a score cannot be had over parts: a component that cannot."""
    for component in params.components:
        measure, own = resolved(component)
        if measure.merging is None:
            return f"its component {component.name} needs the whole file in memory"
        why = None if measure.merging.refused is None else measure.merging.refused(own)
        if why is not None:
            return f"its component {component.name}: {why}"
    return None


def _at_work(params: WeightedScoreParams, request: Request) -> tuple[Merging, BaseModel]:
    """The component whose turn it is."""
    measure, own = resolved(params.components[0 if request is None else len(request["done"])])
    assert measure.merging is not None, "refused"
    return measure.merging, own


def _component_request(request: Request) -> Request:
    """What that component has asked."""
    if request is None or request["asked"] is None:
        return None
    return {**request["asked"], **({ROWS: request[ROWS]} if ROWS in request else {})}


WEIGHTED_SCORE_OVER_PARTS = Merging(
    partial=partial, merged=merged, condensed=condensed, sampled=True, rows=rows, counted=counted, refused=refused
)


class WeightedScoreParams(BaseModel, extra="forbid", frozen=True):
    """The measures that the score is made of."""

    components: list[Component] = Field(
        min_length=1, description="The measures, as {measure, weight, params, label}; each is a part of the score."
    )

    @field_validator("components")
    @classmethod
    def _can_be_computed(cls, components: list[Component]) -> list[Component]:
        names = [component.name for component in components]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two components are called {twice!r}; give one a label")
        for component in components:
            resolved(component)
        return components


def weighted_score(comparison: Comparison, params: WeightedScoreParams, rng: np.random.Generator) -> Measurement:
    """Weighted sum of the values of measures; smaller is better.

        score = sum_c weight_c value_c

    A measure that is better when higher counts as its largest possible value less what was found. Weights need not sum
    to 1.

    Missing cells, weights and households count as in each component with its parameters. There is no interval.

    Returns
    -------
    Measurement
        `parts` has the value that each component counts with, before its weight. A component that is not defined for
        these data makes the score undefined.

    Raises
    ------
    InputError
        A component is unknown, has wrong parameters, or has no largest value though higher is better.
    """
    found: list[tuple[Component, float, tuple[str, ...]]] = []
    for position, component in enumerate(params.components):
        try:
            measure, chosen = resolved(component)
        except ValueError as error:
            raise InputError(f"weighted_score: {error}") from None
        if not measure.claims.compares_unpaired:
            comparison.require_pairs(f"{component.name} compares each masked record with its own original")
        progress = _share(comparison.progress, position, len(params.components))
        one = measure.compute(replace(comparison, progress=progress), chosen, rng)
        found.append((component, one.value, one.notes))
    return score_of(found)


def _share(progress: Callable[[float], None], position: int, count: int) -> Callable[[float], None]:
    return lambda share: progress((position + share) / count)


def _components(params: WeightedScoreParams) -> list[tuple[Measure, BaseModel]]:
    return [resolved(component) for component in params.components]


WEIGHTED_SCORE = Measure(
    name="weighted_score",
    compute=weighted_score,
    kind="score",
    unit="weighted sum",
    direction="lower",
    range=(None, None),
    params=WeightedScoreParams,
    claims=MeasureClaims(components=_components, deterministic=False, compares_unpaired=True, counts_households=True),
    merging=WEIGHTED_SCORE_OVER_PARTS,
    reference="none: the weights are yours; on weighing loss and risk see Domingo-Ferrer and Torra (2001), A "
    "quantitative comparison of disclosure control methods for microdata",
    summary="Weighted sum of measures of your choice.",
)
