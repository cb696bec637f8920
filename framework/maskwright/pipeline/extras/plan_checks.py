"""Checks of the house: the least that an office asks of every release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from maskwright.pipeline.extras.extra import Extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True, kw_only=True)
class PlanFinding:
    """One sentence on a plan; `refuses`: whether the run stops, with exit code 1; `hint`: what to do."""

    message: str
    refuses: bool = True
    hint: str | None = None


class HouseRulesParams(BaseModel, extra="forbid", frozen=True):
    """What an office asks of every release; what is left out is not asked."""

    least_k: int | None = Field(
        default=None, ge=2, description="Every step that promises a k has to promise this, and one step has to."
    )
    measures: tuple[str, ...] = Field(
        default=(), description="Measures that the pipeline has to take, by label, each with a threshold."
    )
    outputs: tuple[str, ...] = Field(default=(), description="Keys that `output` has to have: [report, public_record].")
    no_waivers: bool = Field(default=False, description="Whether a pipeline that waives a doubt is refused.")
    only_warn: bool = Field(default=False, description="Say it as notices, and let the run go on.")


def check_house_rules(plan: Mapping[str, Any], params: HouseRulesParams) -> Sequence[PlanFinding]:
    """What a plan lacks of what the office asks of every release; `plan`: as ``maskwright plan --json`` prints it."""
    return [
        PlanFinding(message=message, hint=hint, refuses=not params.only_warn)
        for message, hint in _missing(plan, plan["pipeline"], params)
    ]


def _missing(
    plan: Mapping[str, Any], pipeline: Mapping[str, Any], params: HouseRulesParams
) -> Iterator[tuple[str, str]]:
    if params.least_k is not None:
        promised = {step["step"]: step["params"].get("k") for step in plan["steps"]}
        low = {step: k for step, k in promised.items() if isinstance(k, int) and k < params.least_k}
        for step, k in low.items():
            yield f"step {step} promises k = {k}, and at least {params.least_k} is asked", "Raise its k."
        if not any(isinstance(k, int) for k in promised.values()):
            yield f"no step promises a k, and at least {params.least_k} is asked", "Add a step with a parameter k."
    for label in params.measures:
        if label not in pipeline["measure"]:
            yield f"the measure {label} is required in every release", f"Add `- {label}` to `measure:`."
        elif not any(name == label or name.startswith(f"{label}.") for name in pipeline["thresholds"]):
            yield f"a threshold of {label} is required in every release", f"Add `{label}: ...` to `thresholds:`."
    for key in params.outputs:
        if key not in pipeline["output"]:
            yield f"the output {key} is required in every release", f"Add `{key}: FILE` to `output:`."
    if params.no_waivers and pipeline["waived"]:
        yield f"doubts are waived ({', '.join(pipeline['waived'])}), and no release may", "Settle them instead."


HOUSE_RULES = Extra(
    name="house_rules",
    work=check_house_rules,
    params=HouseRulesParams,
    summary="What an office requires of every release: a smallest k, measures with thresholds, outputs, no waivers.",
)

CHECKS: Mapping[str, Extra] = {each.name: each for each in (HOUSE_RULES,)}
"""By the name that the list ``checks:`` of a pipeline gives."""
