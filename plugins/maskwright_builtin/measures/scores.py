"""Scores that combine information loss and disclosure risk: the score, and that of the Mateo-Sanz thesis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field, model_validator

from maskwright import Comparison, Measurable, Measure, MeasureClaims, Measurement
from maskwright_builtin.measures.attribute_disclosure.interval_disclosure import INTERVAL_DISCLOSURE
from maskwright_builtin.measures.information_loss.probabilistic_information_loss import PROBABILISTIC_INFORMATION_LOSS
from maskwright_builtin.measures.information_loss.thesis_information_loss import MISSING_RULE, THESIS_INFORMATION_LOSS
from maskwright_builtin.measures.pairing import pair_records
from maskwright_builtin.measures.record_linkage.distance_record_linkage import DISTANCE_RECORD_LINKAGE
from maskwright_builtin.measures.record_linkage.mixed.mixed_probabilistic_record_linkage import (
    MIXED_PROBABILISTIC_RECORD_LINKAGE,
)
from maskwright_builtin.measures.record_linkage.mixed.mixed_record_linkage import MIXED_RECORD_LINKAGE
from maskwright_builtin.measures.record_linkage.nearest_records import PAIRING_DESCRIPTION, Pairing, nearest_originals
from maskwright_builtin.measures.record_linkage.probabilistic_record_linkage import PROBABILISTIC_RECORD_LINKAGE

if TYPE_CHECKING:
    from collections.abc import Callable

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
    knows_edits: bool = Field(
        False,
        description="The risks are those of an intruder who knows the edits: before he links or reads off values, he "
        "moves each masked record to where the edits, with the values published unmasked, leave room for it, as "
        "edit_knowledge_disclosure does.",
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
    components = _score_components(params)
    attacked = comparison
    if params.knows_edits:
        # What adjusts is imported where an intruder is to know edits.
        from maskwright_builtin.measures.attribute_disclosure.edit_knowledge_disclosure import edits_known

        attacked = edits_known(comparison)
    for position, (component, settings) in enumerate(components):

        def progress(share: float, position: int = position) -> None:
            comparison.progress((position + share) / len(components))

        measure, own = component, settings
        if keys and params.linkage == "declared_keys" and component.name in ON_KEYS:
            measure, more = ON_KEYS[component.name]
            own = measure.params.model_validate({"keys": list(keys), **more})
        compared = attacked if measure.kind == "risk" else comparison
        found = measure.compute(replace(compared, progress=progress), own, rng)
        parts[measure.name] = found.value
        value += _weights(params)[component.name] * found.value
        notes += [f"{measure.name}: {note}" for note in found.notes]
    return Measurement(float(value), parts=parts, notes=tuple(notes))


def _weights(params: ScoreParams) -> dict[str, float]:
    return params.model_dump(exclude={"linkage", "knows_edits"})


def _declared_keys(given: Measurable) -> tuple[str, ...]:
    """The declared quasi-identifiers, where any is published as categories; else none."""
    declared = given.with_role("quasi_identifier")
    return declared if any(not given.variables[name].is_numeric for name in declared) else ()


def _score_components(params: ScoreParams) -> list[tuple[Measure, BaseModel]]:
    weights = _weights(params)
    links = any(weights[name] > 0.0 for name in ON_KEYS) and params.linkage == "declared_keys"
    measures = [_with_declared_keys(measure) if links and measure.kind == "risk" else measure for measure in COMBINED]
    return [(measure, measure.params()) for measure in measures if weights[measure.name] > 0.0]


def _with_declared_keys(measure: Measure) -> Measure:
    """A risk of the score that knows the declared keys: it links on them, or looks at the numbers beside them."""

    def used(params: BaseModel, given: Measurable) -> tuple[str, ...]:
        keys = _declared_keys(given)
        if keys and measure.name in ON_KEYS:
            return keys
        own = tuple(given.compared if measure.claims.uses is None else measure.claims.uses(params, given))
        return (*own, *keys) if own else ()

    return replace(measure, claims=replace(measure.claims, uses=used))


SCORE = Measure(
    name="score",
    compute=score,
    kind="score",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=ScoreParams,
    claims=MeasureClaims(components=_score_components, invariant_to={"affine", "records"}, counts_households=True),
    reference="Torra, Cano, Navarro-Arribas, edit constraints and microaggregation: score = 0.5 loss + 0.5 risk, with "
    "risk = 0.5 record linkage + 0.5 interval disclosure",
    summary="Half information loss (pil), half risk (record linkage and rank intervals).",
)


COMPONENTS: tuple[tuple[str, float, Measure, dict[str, str]], ...] = (
    ("PI", 0.5, THESIS_INFORMATION_LOSS, {}),
    ("ERD", 0.25, DISTANCE_RECORD_LINKAGE, {"direction": "masked_to_original", "ties": "lowest_index"}),
    ("ICN", 0.125, INTERVAL_DISCLOSURE, {"by": "rank"}),
    ("ICD", 0.125, INTERVAL_DISCLOSURE, {"by": "sd"}),
)


class ThesisScoreParams(BaseModel, extra="forbid", frozen=True):
    """How records are paired."""

    pairing: Pairing = Field("identity", description=PAIRING_DESCRIPTION)


def thesis_score(comparison: Comparison, params: ThesisScoreParams, rng: np.random.Generator) -> Measurement:
    """Half information loss and half disclosure risk, as the Mateo-Sanz thesis weighs them; smaller is better.

        MG = 0.5 PI + 0.25 ERD + 0.125 ICN + 0.125 ICD

    with PI of the measure `pi`; ERD the percent of masked records whose nearest original record is their own, mean over
    the cumulative scenarios of the first seven variables (ties to the first record); ICN and ICD the percent of
    original values in rank and in standard-deviation intervals. The original data score 50 when every record is
    unique, so a method above 50 is useless. PI and therefore MG are not bounded.

    Missing cells and households count as in the components; weights are not used. There is no interval.

    Returns
    -------
    Measurement
        `parts` has PI, ERD, ICN, ICD, the parts of PI as PI1 to PI5, and those of ERD as ERD-1 to ERD-7. A component
        that is not defined for these data makes MG undefined.
    """
    chosen = comparison
    notes: list[str] = []
    if params.pairing == "nearest":
        pairs = pair_records(comparison, MISSING_RULE)
        chosen = replace(comparison, origin=nearest_originals(comparison, pairs), households=None)
        notes.append("paired with the nearest original record, not with their own: not the true loss and risk")
        if comparison.households is not None:
            notes.append("of records paired so the households are not known: single records are counted")
    parts: dict[str, float] = {}
    details: dict[str, float] = {}
    value = 0.0
    for position, (name, weight, measure, settings) in enumerate(COMPONENTS):
        part = replace(chosen, progress=_share(comparison.progress, position))
        found = measure.compute(part, measure.params.model_validate(settings), rng)
        parts[name] = found.value
        value += weight * found.value
        notes += [f"{name}: {note}" for note in found.notes]
        if name == "PI":
            details |= found.parts
        if name == "ERD":
            details |= {f"ERD-{number}": each for number, each in enumerate(found.parts.values(), 1)}
    return Measurement(value, {**parts, **details}, notes=tuple(notes))


def _share(progress: Callable[[float], None], position: int) -> Callable[[float], None]:
    return lambda share: progress((position + share) / len(COMPONENTS))


def _thesis_score_components(params: ThesisScoreParams) -> list[tuple[Measure, BaseModel]]:  # noqa: ARG001
    return [(measure, measure.params.model_validate(settings)) for _, _, measure, settings in COMPONENTS]


THESIS_SCORE = Measure(
    name="mg",
    compute=thesis_score,
    kind="score",
    unit="percent",
    direction="lower",
    range=(0.0, None),
    params=ThesisScoreParams,
    claims=MeasureClaims(components=_thesis_score_components, counts_households=True),
    reference="Mateo-Sanz, doctoral thesis (in Catalan), chapter 6, as its published tables compute it",
    summary="Half PI, a quarter record linkage, an eighth each of rank and standard-deviation intervals.",
)
