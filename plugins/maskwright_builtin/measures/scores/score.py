"""The score: one number between information loss and disclosure risk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field, model_validator

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.attribute_disclosure.interval_disclosure import INTERVAL_DISCLOSURE
from maskwright_builtin.measures.information_loss.probabilistic_information_loss import PROBABILISTIC_INFORMATION_LOSS
from maskwright_builtin.measures.record_linkage.distance_record_linkage import DISTANCE_RECORD_LINKAGE
from maskwright_builtin.measures.record_linkage.probabilistic_record_linkage import PROBABILISTIC_RECORD_LINKAGE

if TYPE_CHECKING:
    import numpy as np

COMBINED = (
    PROBABILISTIC_INFORMATION_LOSS,
    DISTANCE_RECORD_LINKAGE,
    PROBABILISTIC_RECORD_LINKAGE,
    INTERVAL_DISCLOSURE,
)


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

    @model_validator(mode="after")
    def _sum_to_one(self) -> ScoreParams:
        total = sum(self.model_dump().values())
        if abs(total - 1.0) > 1e-9:
            raise ValueError(f"the weights must sum to 1, not {total:g}")
        return self


def score(comparison: Comparison, params: ScoreParams, rng: np.random.Generator) -> Measurement:
    """Weighted mean of loss (PIL) and risk (record linkage, rank interval disclosure); smaller is better.

        score = 0.5 PIL + 0.25 DBRL + 0.25 ID

    by default; the weights declare the components. With probabilistic linkage some papers take
    0.5 PIL + 0.125 DBRL + 0.125 PRL + 0.25 ID. Releasing the original data scores 50 when every record is unique, so
    a method above that is useless.

    All of it looks at numbers only. Where nothing numeric is masked the score is not defined, and a threshold on it is
    not met; beside numbers, masked categories and categorical quasi-identifiers are left out, which the value is
    reported with, and a threshold on it is a doubt. For categories take a weighted_score of a loss such as
    entropy_based_loss and a risk such as uniqueness.

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
    weights = params.model_dump()
    parts: dict[str, float] = {}
    notes: list[str] = []
    components = _components(params)
    for position, (measure, own) in enumerate(components):

        def progress(share: float, position: int = position) -> None:
            comparison.progress((position + share) / len(components))

        found = measure.compute(replace(comparison, progress=progress), own, rng)
        parts[measure.name] = found.value
        notes += [f"{measure.name}: {note}" for note in found.notes]
    value = sum(weights[name] * part for name, part in parts.items())
    return Measurement(float(value), parts=parts, notes=tuple(notes))


def _components(params: ScoreParams) -> list[tuple[Measure, BaseModel]]:
    weights = params.model_dump()
    return [(measure, measure.params()) for measure in COMBINED if weights[measure.name] > 0.0]


SCORE = Measure(
    name="score",
    compute=score,
    kind="score",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=ScoreParams,
    components=_components,
    invariant_to=frozenset({"affine", "records"}),
    counts_households=True,
    reference="Torra, Cano, Navarro-Arribas, edit constraints and microaggregation: score = 0.5 loss + 0.5 risk, with "
    "risk = 0.5 record linkage + 0.5 interval disclosure",
    summary="Half information loss (pil), half risk (record linkage and rank intervals).",
)
