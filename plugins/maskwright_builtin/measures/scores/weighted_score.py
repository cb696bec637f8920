"""A score of one's own: a weighted sum of any measures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from maskwright import Comparison, InputError, MaskwrightError, Measure, Measurement, find_measure

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


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
            _resolved(component)
        return components


def _resolved(component: Component) -> tuple[Measure, BaseModel]:
    """Measure and parameters of a component; ValueError says what is wrong with them."""
    try:
        measure = find_measure(component.measure)
    except MaskwrightError as error:
        raise ValueError(str(error)) from None
    if measure.of_levels:
        raise ValueError(f"{measure.name} measures groups with all their members: it cannot be part of a score")
    if measure.direction == "higher" and measure.range[1] is None:
        raise ValueError(f"{measure.name} is better when higher and has no largest value: it cannot be part of a score")
    try:
        return measure, measure.params.model_validate(component.params)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in found["loc"])
        raise ValueError(f"params of {measure.name}: {place}: {found['msg']}") from None


def weighted_score(comparison: Comparison, params: WeightedScoreParams, rng: np.random.Generator) -> Measurement:
    """Weighted sum of the values of measures; smaller is better.

        score = sum_c weight_c value_c

    A measure that is better when higher counts as its largest possible value less what was found. Weights need not sum
    to 1.

    Missing cells, weights and households count as in each component with its parameters. There is no interval.

    Parameters
    ----------
    comparison : Comparison
    params : WeightedScoreParams
    rng : numpy.random.Generator
        Handed on to the measures it is made of.

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
    parts: dict[str, float] = {}
    notes: list[str] = []
    value = 0.0
    for position, component in enumerate(params.components):
        try:
            measure, chosen = _resolved(component)
        except ValueError as error:
            raise InputError(f"weighted_score: {error}") from None
        if not measure.compares_unpaired:
            comparison.require_pairs(f"{component.name} compares each masked record with its own original")
        progress = _share(comparison.progress, position, len(params.components))
        found = measure.compute(replace(comparison, progress=progress), chosen, rng)
        highest = measure.range[1]
        counted = found.value
        if measure.direction == "higher" and highest is not None:
            counted = highest - found.value
            notes.append(f"{component.name}: counted as {highest:g} less the measure, which is better when higher")
        parts[component.name] = counted
        value += component.weight * counted
        notes += [f"{component.name}: {note}" for note in found.notes]
    return Measurement(float(value), parts, notes=tuple(notes))


def _share(progress: Callable[[float], None], position: int, count: int) -> Callable[[float], None]:
    return lambda share: progress((position + share) / count)


def _components(params: WeightedScoreParams) -> list[tuple[Measure, BaseModel]]:
    return [_resolved(component) for component in params.components]


WEIGHTED_SCORE = Measure(
    name="weighted_score",
    compute=weighted_score,
    kind="score",
    unit="weighted sum",
    direction="lower",
    range=(None, None),
    params=WeightedScoreParams,
    components=_components,
    deterministic=False,
    compares_unpaired=True,
    counts_households=True,
    reference="none: the weights are yours; on weighing loss and risk see Domingo-Ferrer and Torra (2001), A "
    "quantitative comparison of disclosure control methods for microdata",
    summary="Weighted sum of measures of your choice.",
)
