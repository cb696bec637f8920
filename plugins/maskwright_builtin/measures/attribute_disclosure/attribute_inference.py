"""Attribute inference: what attacks on the release say of the cells that it does not show, and how often rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from maskwright import Cost, Measure, MeasureClaims, Measurement, MeasurePart, attack, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from maskwright import AttackResult, Comparison, Measurable


class AttributeInferenceParams(BaseModel, extra="forbid", frozen=True):
    """Which attacks are tried, and when one is certain."""

    attacks: tuple[str, ...] = Field(
        ("dependency", "position", "equation", "learned", "other_units", "emptiness"),
        min_length=1,
        description="Names of attacks: those of `maskwright plugins`.",
    )
    certainty: float = Field(0.9, gt=0.5, lt=1, description="Share of its claims of which an intruder has to be sure.")


def attribute_inference(
    comparison: Comparison,
    params: AttributeInferenceParams,
    rng: np.random.Generator,  # noqa: ARG001 - attacks draw nothing
) -> Measurement:
    """Percent of the hidden cells of a variable that an intruder knows, in the variable with most.

    Hidden are cells that the release does not show as they were: suppressed or changed. Known are those that published
    edits leave no choice, and those named by a family of rules which published cells show to be right and that is
    mostly right for the hidden ones. The parts say for each attack how many hidden cells it names (claims), how many
    rightly, the share of these (precision), and the share that the published distribution alone would name rightly
    (base): what an intruder believes and what is wrong protects.

    Cells that are missing in the original are not counted. Sampling weights are read by the attacks as any variable is,
    and weigh nothing; of a household each member counts by itself. There is no interval: every hidden cell is examined.
    """
    comparison.require_pairs("attribute_inference counts how many cells of each masked record are named rightly")
    original = comparison.original
    origin = comparison.origin if comparison.origin is not None else comparison.masked.origin
    if origin is not None:
        original = original.taken(origin)
    found = attack(comparison.masked, original, params.attacks, edits=comparison.edits, certainty=params.certainty)
    known: dict[str, float] = {}
    for each in found:
        known[each.variable] = max(known.get(each.variable, 0.0), 100.0 * each.certain / each.hidden)
    largest = max(found, key=lambda each: each.certain / each.hidden, default=None)
    parts: dict[str, float] = {}
    for name in params.attacks:
        own = [each for each in found if each.attack == name]
        claims, right = sum(each.claims for each in own), sum(each.right for each in own)
        base = sum(each.base * each.claims for each in own)
        parts |= {
            f"{name}_claims": float(claims),
            f"{name}_right": float(right),
            f"{name}_precision": 100.0 * right / claims if claims else 0.0,
            f"{name}_base": 100.0 * base / claims if claims else 0.0,
        }
    notes = [f"attacks: {', '.join(params.attacks)}; an intruder is sure from {100.0 * params.certainty:g} % on"]
    if not found:
        notes.append("no attack names a cell that the release does not show")
    missing = sum(int(column.missing.sum()) for column in original)
    if missing:
        notes.append(f"{missing} missing cells of the original are not counted")
    value = max(known.values(), default=0.0)
    return Measurement(value, parts=parts, per_variable=known, notes=tuple(notes), sentence=_sentence(largest))


def _sentence(largest: AttackResult | None) -> str:
    if largest is None or not largest.certain:
        return "None of these attacks makes an intruder sure, and rightly so, of a cell that the release does not show."
    return (
        f"An intruder who tries the attack {largest.attack} would be sure of {largest.certain:,} of the "
        f"{plural(largest.hidden, 'cell')} of {largest.variable} that the release does not show, and mostly right: the "
        f"variable with most; by {largest.rule}."
    )


def _all(params: AttributeInferenceParams, measurable: Measurable) -> Iterator[str]:  # noqa: ARG001 - for all
    yield from measurable.variables


def _parts(params: AttributeInferenceParams) -> Iterator[MeasurePart]:
    for name in params.attacks:
        yield MeasurePart(f"{name}_claims", unit="count")
        yield MeasurePart(f"{name}_right", unit="count")
        yield MeasurePart(f"{name}_precision", range=(0.0, 100.0))
        yield MeasurePart(f"{name}_base", range=(0.0, 100.0))


ATTRIBUTE_INFERENCE = Measure(
    name="attribute_inference",
    compute=attribute_inference,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=AttributeInferenceParams,
    parts=_parts,
    claims=MeasureClaims(cost=Cost(cell=15.0), uses=_all),
    reference="Hittmeir, Mayer, Ekelhart (2020), A baseline for attribute disclosure risk in synthetic data, CODASPY.",
    summary="Percent of the hidden cells of a variable that an intruder knows by attacks on the release.",
)
