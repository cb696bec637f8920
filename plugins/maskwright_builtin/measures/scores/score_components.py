"""The measures that a score is made of, and the score from their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from maskwright import MaskwrightError, Measure, Measurement, find_measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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
