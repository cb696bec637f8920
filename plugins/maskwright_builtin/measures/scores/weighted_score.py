"""A score of one's own: a weighted sum of any measures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field, field_validator

from maskwright import Comparison, InputError, Measure, Measurement
from maskwright_builtin.measures.scores.score_components import Component, resolved, score_of
from maskwright_builtin.measures.scores.weighted_score_over_parts import WEIGHTED_SCORE_OVER_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


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
    found: list[tuple[Component, float, tuple[str, ...]]] = []
    for position, component in enumerate(params.components):
        try:
            measure, chosen = resolved(component)
        except ValueError as error:
            raise InputError(f"weighted_score: {error}") from None
        if not measure.compares_unpaired:
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
    components=_components,
    merging=WEIGHTED_SCORE_OVER_PARTS,
    deterministic=False,
    compares_unpaired=True,
    counts_households=True,
    reference="none: the weights are yours; on weighing loss and risk see Domingo-Ferrer and Torra (2001), A "
    "quantitative comparison of disclosure control methods for microdata",
    summary="Weighted sum of measures of your choice.",
)
