"""What the record of a run says of adjusting: the rows moved, the loss it added, and the moments it shifted."""

from __future__ import annotations

from pydantic import Field

from maskwright.release.record.plan_record import ActingOn
from maskwright.release.record.record_part import RecordPart


class StepLosses(RecordPart):
    """Loss in percent of the variance of the masked variables, as the measure `sse` has it."""

    method: float = Field(description="Of what the methods returned.")
    adjustment: float = Field(description="Added by bringing rows onto the edits.")
    rounding: float = Field(description="Added by bringing them onto the published grid.")


class LossByStep(StepLosses):
    """Loss of the whole run, by what caused it."""

    several_edits: float = Field(description="Added in records that violated more than one edit: not separable.")


class AdjustedUnit(RecordPart):
    """What adjusting did to variables that edits join."""

    variables: tuple[str, ...]
    edits: tuple[str, ...]
    acting_on: ActingOn = Field(
        description="Whether rows are records, of the level of these variables, or representatives of their clusters."
    )
    rows: int
    moved: int = Field(description="Rows, not cells, that adjusting changed.")
    fallback: int = Field(description="Rows taken from the nearest feasible one.")
    infeasible: int = Field(description="Rows for which no feasible point was found.")
    conflicts: tuple[tuple[str, ...], ...] = Field(description="Edits that some rows cannot satisfy together.")
    dependents: tuple[str, ...] = Field(description="Variables that were computed from the others.")
    cost_sd: dict[str, float] = Field(description="Mean move of each variable, in standard deviations.")
    loss: StepLosses


class MovedRows(RecordPart):
    """Rows that adjusting moved, each counted once however many sets of variables it was moved in."""

    acting_on: ActingOn = Field(
        description="Whether rows are records, of the level of these variables, or representatives of their clusters."
    )
    variables: tuple[tuple[str, ...], ...]
    rows: int
    moved: int = Field(description="Rows, not cells, that adjusting changed.")


class MeanDrift(RecordPart):
    """The largest shift of a mean."""

    variable: str
    sd: float = Field(description="In standard deviations of the original.")


class CovarianceDrift(RecordPart):
    """The largest shift of a variance or covariance."""

    variables: tuple[str, str]
    sd_squared: float = Field(description="In products of two standard deviations of the original.")


class MomentDrift(RecordPart):
    """How far adjusting and rounding moved means and covariances."""

    mean: MeanDrift
    covariance: CovarianceDrift
