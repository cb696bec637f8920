"""What the run record holds of adjusting and rounding: losses, rows that were moved, and how far moments drifted."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from maskwright.release.record.record_parts import ActingOn, RecordPart

RowsAre = Annotated[ActingOn, Field(
    description="Whether rows are records, of the level of these variables, or representatives of their clusters."
)]  # fmt: skip


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
    acting_on: RowsAre
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

    acting_on: RowsAre
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


class CorrelationDrift(RecordPart):
    """The largest change of a correlation."""

    variables: tuple[str, str]
    change: float


class VariableDrift(RecordPart):
    """How far one variable moved, in standard deviations of the original."""

    variable: str
    mean: float = Field(description="By adjusting and rounding, as the next two.")
    deviation: float = Field(description="Of the standard deviation.")
    decile: float = Field(description="Of the decile that moved farthest.")
    method_mean: float = Field(description="By the methods before, as the next.")
    method_deviation: float = Field(description="Of the standard deviation.")


class MomentDrift(RecordPart):
    """How far adjusting and rounding moved means, spreads, quantiles and correlations."""

    mean: MeanDrift
    covariance: CovarianceDrift
    correlation: CorrelationDrift
    variables: tuple[VariableDrift, ...]
