"""Parameters that the planner reads from a step's ``params``, whatever its method."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field


class ReleaseEdits(BaseModel, extra="forbid", frozen=True):
    """What may become of edits on recoded variables that cannot be said of the categories with the same meaning."""

    weaken: tuple[str, ...] = Field(
        default=(),
        description="Variables that the step publishes as coarser categories: an edit that reads no other recoded "
        "variable may be weakened to what is true of every true record.",
    )
    drop: tuple[str, ...] = Field(
        default=(),
        description="Variables that the step publishes as coarser categories: an edit that reads one of them, and is "
        "neither translated nor weakened, is dropped.",
    )


class PlanningParams(BaseModel, extra="forbid", frozen=True):
    """How variables are grouped and what is promised; accepted in the ``params`` of every step."""

    group_size: Annotated[int, Field(ge=1)] | Literal["all"] = Field(
        default=3,
        description="Variables per group among those that no edit binds together: an integer >= 1 (the last group "
        "takes the remainder), or 'all' for one group of all variables of the step.",
    )
    grouping: Literal["all_edits", "equalities"] = Field(
        default="all_edits",
        description="'all_edits': every edit binds its variables into one group. 'equalities': only equalities, "
        "products and governing edits do; inequalities are left to adjustment.",
    )
    aggregation: str | dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="How clusters become representatives, instead of by means: the name of an aggregation (median), or "
        "{name: {its parameters}}. Of numeric variables whose edits it keeps; others keep the operator of the plan, "
        "which `maskwright plan` shows. Left out: the operator that keeps the edits.",
    )
    k_guarantee: Literal["require", "report"] = Field(
        default="require",
        description="'require': a plan that cannot keep k in every group is refused. 'report': it is run, and the "
        "smallest class is reported.",
    )
    allow_original_values: bool = Field(
        default=False,
        description="Allow a domain edit on a continuous variable to republish values of single original records.",
    )
    structural_zeros: tuple[str, ...] = Field(
        default=(),
        description="Variables whose zeros mean that there is nothing (no farm income): records with and without "
        "a zero are clustered apart, so that averages leave zeros alone. Patterns shared by fewer than "
        "k records join the nearest. The share of zeros is reported before and after.",
    )
    missing: Literal["own_pattern", "available_cases", "refuse"] = Field(
        default="own_pattern",
        description="Missing cells: 'own_pattern' clusters records with the same cells missing apart, so that k and "
        "means hold among them (patterns shared by fewer than k records join the nearest); 'available_cases' clusters "
        "such records as if the cell held the file's mean and aggregates the values present; 'refuse' stops. A missing "
        "cell stays missing in the masked file. A method that takes no missing cells (`maskwright explain NAME` says "
        "so) masks each pattern on the cells it has, and knows only 'own_pattern' and 'refuse'.",
    )
    release_edits: ReleaseEdits = Field(
        default=ReleaseEdits(),
        description="For steps that publish coarser categories (recoding, generalisation). An edit on a recoded "
        "variable is translated where each category lies on one side of its conditions: 'if age < 16' with a border at "
        "16. One that is not stops the run, unless {weaken: [variables]} lets it be weakened, or {drop: [variables]} "
        "lets it go; each with a notice.",
    )
    adjustment_weights: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="How much a move of a variable counts when values are brought onto the edits, {variable: weight}, "
        "1 where nothing is said: with {V1: 100} others move before V1 does.",
    )
    totals: dict[str, Literal["derive", "adjust"]] = Field(
        default_factory=dict,
        description="Totals that an edit gives as a sum over the members of a group, {total: derive | adjust}. "
        "'derive', as where nothing is said: computed from the masked parts. 'adjust': masked with k, and the members "
        "of each group are moved onto it, which needs 'k_guarantee: report'.",
    )
    rare: Literal["fail", "drop"] = Field(
        default="fail",
        description="For steps with `unit`: groups of whose composition (number of members, and what edits ask of "
        "them) there are fewer than k. 'fail' stops; 'drop' leaves these groups out.",
    )
