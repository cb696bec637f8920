"""Sections that a pipeline may add to its report: the methods in words, for a quality report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from maskwright.foundation.errors import InputError
from maskwright.pipeline.extras.extra import Extra
from maskwright.plugins.registry import find_method

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class Bars:
    """A figure: numbers >= 0 as horizontal bars, in the order given."""

    caption: str
    values: Mapping[str, float]
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class SectionContent:
    """Paragraphs, a table whose rows are as long as its head, and figures; reports escape every text."""

    paragraphs: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    figures: tuple[Bars, ...] = ()


class MethodologyParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of the section on methods."""

    loss: str | None = Field(
        default=None,
        description="Label of the measure whose values by variable are drawn; left out, the first loss that has some.",
    )


def compose_methodology(record: Mapping[str, Any], params: MethodologyParams) -> SectionContent:
    """Say what was done to which variables, with the sources, as a methodological note of a release has it."""
    rows, paragraphs = [], []
    for step in record["plan"]["steps"]:
        method = find_method(step["method"])
        variables = dict.fromkeys(name for group in step["groups"] for name in group["variables"])
        rows.append((str(step["step"]), step["method"], ", ".join(variables), method.reference or ""))
        paragraphs.append(f"Step {step['step']}, {step['method']}: {method.summary}")
    edits = [edit for edit in record["edits"] if edit["severity"] == "error"]
    if edits:
        paragraphs.append(f"{len(edits)} edits hold in every one of the {record['records']:,} released records.")
    return SectionContent(
        paragraphs=tuple(paragraphs), head=("step", "method", "variables", "source"), rows=tuple(rows),
        figures=_loss_by_variable(record["measures"], params.loss),
    )  # fmt: skip


def _loss_by_variable(measures: Mapping[str, Any], chosen: str | None) -> tuple[Bars, ...]:
    if chosen is not None and chosen not in measures:
        raise InputError(f"methodology: there is no measure {chosen!r} in this run; there are {', '.join(measures)}")
    for label, found in measures.items():
        values = {name: value for name, value in found["per_variable"].items() if value is not None and value >= 0}
        if values and (label == chosen or (chosen is None and found["kind"] == "loss")):
            return (Bars(caption=f"{label} by variable", values=values, unit=found["unit"]),)
    return ()


METHODOLOGY = Extra(
    name="methodology",
    title="Methods",
    work=compose_methodology,
    params=MethodologyParams,
    summary="What was done to which variables, in words with the sources, and the loss of each: for a quality report.",
)

SECTIONS: Mapping[str, Extra] = {each.name: each for each in (METHODOLOGY,)}
"""By the name that the list ``sections:`` of a pipeline gives."""
