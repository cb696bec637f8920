"""The score: one number between information loss and disclosure risk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field, model_validator

from maskwright import Comparison, Measurable, Measure, Measurement
from maskwright_builtin.measures.attribute_disclosure.interval_disclosure import INTERVAL_DISCLOSURE
from maskwright_builtin.measures.information_loss.probabilistic_information_loss import PROBABILISTIC_INFORMATION_LOSS
from maskwright_builtin.measures.record_linkage.distance_record_linkage import DISTANCE_RECORD_LINKAGE
from maskwright_builtin.measures.record_linkage.mixed.mixed_probabilistic_record_linkage import (
    MIXED_PROBABILISTIC_RECORD_LINKAGE,
)
from maskwright_builtin.measures.record_linkage.mixed.mixed_record_linkage import MIXED_RECORD_LINKAGE
from maskwright_builtin.measures.record_linkage.probabilistic_record_linkage import PROBABILISTIC_RECORD_LINKAGE

if TYPE_CHECKING:
    import numpy as np

COMBINED = (
    PROBABILISTIC_INFORMATION_LOSS,
    DISTANCE_RECORD_LINKAGE,
    PROBABILISTIC_RECORD_LINKAGE,
    INTERVAL_DISCLOSURE,
)

ON_KEYS: dict[str, tuple[Measure, dict[str, str]]] = {
    "distance_record_linkage": (MIXED_RECORD_LINKAGE, {}),
    "probabilistic_record_linkage": (MIXED_PROBABILISTIC_RECORD_LINKAGE, {"estimate": "em"}),
}
"""What links on keys of any type in place of a linkage on numbers."""


class ScoreParams(BaseModel, extra="forbid", frozen=True):
    """Weights of the components, each taken with its default parameters; they sum to 1.

    A component of weight 0 is no part of the score and is not computed.
    """

    pil: float = Field(0.5, ge=0, le=1, description="Weight of the probabilistic information loss.")
    distance_record_linkage: float = Field(
        0.25, ge=0, le=1, description="Weight of the distance-based record linkage (cumulative scenarios)."
    )
    probabilistic_record_linkage: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Weight of the probabilistic record linkage. Scores of some papers take 0.125 for each of the two "
        "linkages.",
    )
    interval_disclosure: float = Field(0.25, ge=0, le=1, description="Weight of the rank interval disclosure.")
    linkage: Literal["declared_keys", "numeric"] = Field(
        "declared_keys",
        description="'declared_keys': where a declared quasi-identifier is published as categories, records are linked "
        "on all declared quasi-identifiers, by mixed_record_linkage (and mixed_probabilistic_record_linkage with EM); "
        "else on numbers. 'numeric': always on numbers, as the papers define the score.",
    )

    @model_validator(mode="after")
    def _sum_to_one(self) -> ScoreParams:
        total = sum(_weights(self).values())
        if abs(total - 1.0) > 1e-9:
            raise ValueError(f"the weights must sum to 1, not {total:g}")
        return self


def score(comparison: Comparison, params: ScoreParams, rng: np.random.Generator) -> Measurement:
    """Weighted mean of loss (PIL) and risk (record linkage, rank interval disclosure); smaller is better.

        score = 0.5 PIL + 0.25 DBRL + 0.25 ID

    by default; the weights declare the components. With probabilistic linkage some papers take
    0.5 PIL + 0.125 DBRL + 0.125 PRL + 0.25 ID. Releasing the original data scores 50 when every record is unique, so
    a method above that is useless.

    Records are linked as an intruder would: where a declared quasi-identifier is published as categories, on all
    declared quasi-identifiers by mixed_record_linkage, which is then the name of the part; else on numbers. ``linkage:
    numeric`` has the definition of the papers in any file.

    Loss and intervals look at numbers only. Where nothing numeric is masked the score is not defined, and a threshold
    on it is not met; beside numbers, masked categories are left out, which the value is reported with, and a threshold
    on it is a doubt. For categories take a weighted_score of a loss such as entropy_based_loss and a risk such as
    mixed_record_linkage.

    Missing cells, weights and households count as in the components with their default parameters. There is no
    interval.

    Parameters
    ----------
    comparison : Comparison
    params : ScoreParams
    rng : numpy.random.Generator
        Handed on to the measures it is made of.

    Returns
    -------
    Measurement
        `parts` has the components under their names. One that is not defined for these data makes the score undefined.
    """
    parts: dict[str, float] = {}
    notes: list[str] = []
    value = 0.0
    roles = {variable.name: variable.role for variable in comparison.original.variables}
    published = {variable.name: replace(variable, role=roles.get(variable.name, "other")) for variable in
                 comparison.masked.variables if variable.name in roles}  # fmt: skip
    keys = _declared_keys(Measurable(published, comparison.variables, comparison.categorical))
    components = _components(params)
    for position, (component, settings) in enumerate(components):

        def progress(share: float, position: int = position) -> None:
            comparison.progress((position + share) / len(components))

        measure, own = component, settings
        if keys and params.linkage == "declared_keys" and component.name in ON_KEYS:
            measure, more = ON_KEYS[component.name]
            own = measure.params.model_validate({"keys": list(keys), **more})
        found = measure.compute(replace(comparison, progress=progress), own, rng)
        parts[measure.name] = found.value
        value += _weights(params)[component.name] * found.value
        notes += [f"{measure.name}: {note}" for note in found.notes]
    return Measurement(float(value), parts=parts, notes=tuple(notes))


def _weights(params: ScoreParams) -> dict[str, float]:
    return params.model_dump(exclude={"linkage"})


def _declared_keys(given: Measurable) -> tuple[str, ...]:
    """The declared quasi-identifiers, where any is published as categories; else none."""
    declared = given.with_role("quasi_identifier")
    return declared if any(not given.variables[name].is_numeric for name in declared) else ()


def _components(params: ScoreParams) -> list[tuple[Measure, BaseModel]]:
    weights = _weights(params)
    links = any(weights[name] > 0.0 for name in ON_KEYS) and params.linkage == "declared_keys"
    measures = [_knowing_keys(measure) if links and measure.kind == "risk" else measure for measure in COMBINED]
    return [(measure, measure.params()) for measure in measures if weights[measure.name] > 0.0]


def _knowing_keys(measure: Measure) -> Measure:
    """A risk of the score that knows the declared keys: it links on them, or looks at the numbers beside them."""

    def used(params: BaseModel, given: Measurable) -> tuple[str, ...]:
        keys = _declared_keys(given)
        if keys and measure.name in ON_KEYS:
            return keys
        own = tuple(given.compared if measure.uses is None else measure.uses(params, given))
        return (*own, *keys) if own else ()

    return replace(measure, uses=used)


SCORE = Measure(
    name="score",
    compute=score,
    kind="score",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=ScoreParams,
    components=_components,
    invariant_to={"affine", "records"},
    counts_households=True,
    reference="Torra, Cano, Navarro-Arribas, edit constraints and microaggregation: score = 0.5 loss + 0.5 risk, with "
    "risk = 0.5 record linkage + 0.5 interval disclosure",
    summary="Half information loss (pil), half risk (record linkage and rank intervals).",
)
