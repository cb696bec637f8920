"""The overall score of the Mateo-Sanz thesis (MG): half information loss, half disclosure risk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.attribute_disclosure.interval_disclosure import INTERVAL_DISCLOSURE
from maskwright_builtin.measures.common.pairing import pair_records
from maskwright_builtin.measures.information_loss.thesis_information_loss import THESIS_INFORMATION_LOSS
from maskwright_builtin.measures.information_loss.thesis_natures import MISSING_RULE
from maskwright_builtin.measures.record_linkage.distance_record_linkage import DISTANCE_RECORD_LINKAGE
from maskwright_builtin.measures.record_linkage.nearest_pairing import PAIRING_DESCRIPTION, Pairing, nearest_originals

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

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

    Parameters
    ----------
    comparison : Comparison
    params : ThesisScoreParams
    rng : numpy.random.Generator
        Handed on to the measures it is made of.

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


def _components(params: ThesisScoreParams) -> list[tuple[Measure, BaseModel]]:  # noqa: ARG001
    return [(measure, measure.params.model_validate(settings)) for _, _, measure, settings in COMPONENTS]


THESIS_SCORE = Measure(
    name="mg",
    compute=thesis_score,
    kind="score",
    unit="percent",
    direction="lower",
    range=(0.0, None),
    params=ThesisScoreParams,
    components=_components,
    counts_households=True,
    reference="Mateo-Sanz, doctoral thesis (in Catalan), chapter 6, as its published tables compute it",
    summary="Half PI, a quarter record linkage, an eighth each of rank and standard-deviation intervals.",
)
