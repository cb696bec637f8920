"""What the record of a run says of a measure: its figures, and whether they are on the right side of thresholds."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright.pipeline.steps import threshold_figures
from maskwright.plugins.parameter_markers import files_named
from maskwright.release.record.record_parts import Public, Publication, RecordPart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.plugins.measure import Measure, MeasurePart
    from maskwright.plugins.measurement import Measurement

NO_THRESHOLDS: Mapping[str, float] = MappingProxyType({})
PUBLIC_DIGITS = 3
"""Significant digits of losses that are published: with all of them, the last value follows from n - 1 known ones."""


def published_loss(value: float | None) -> float | None:
    """A loss as it is published."""
    return None if value is None else float(f"{value:.{PUBLIC_DIGITS}g}")


def _published_parts(parts: dict[str, float | None]) -> dict[str, float | None]:
    return {name: published_loss(value) for name, value in parts.items()}


class TableRecord(RecordPart):
    """A table of what a measure found, as `MeasureTable` has it.

    Examples
    --------
    >>> from maskwright import TableRecord
    >>> table = TableRecord(
    ...     name="sizes", title="Class sizes", columns=("size", "records"), rows=(("1", (3.0,)),), unit="records"
    ... )
    >>> table.rows[0]
    ('1', (3.0,))
    """

    name: str
    title: str
    columns: tuple[str, ...] = Field(description="Heading of the labels, then of each column of figures.")
    rows: tuple[tuple[str, tuple[float | None, ...]], ...] = Field(description="A label, and its figures.")
    unit: str = Field(description="'records': counts of records in bands, from low to high.")


class FiguresBefore(RecordPart):
    """What a measure that looks at one file found in the original."""

    value: float | None
    parts: dict[str, float | None]
    per_variable: dict[str, float | None]
    tables: tuple[TableRecord, ...] = ()


class PartThreshold(RecordPart):
    """A threshold for a part of a measure."""

    threshold: float
    direction: Literal["lower", "higher"] = Field(description="Which is better.")
    met: bool


class MeasureRecord(RecordPart):
    """What a measure found, without contributions of single records. Measures of loss are public.

    Examples
    --------
    >>> from maskwright import MeasureRecord
    >>> "threshold" in MeasureRecord.model_fields  # one entry of `RunRecord.measures`
    True
    """

    value: Annotated[float | None, Publication(shown=published_loss)] = Field(
        description="null: not defined; a note says why. Published with three significant digits."
    )
    unit: Public[str]
    direction: Public[Literal["lower", "higher"]] = Field(description="Which is better.")
    kind: Literal["loss", "risk", "score"]
    measure: Annotated[str, Publication(first=True)] = Field(description="Its name; the key is its label.")
    summary: str
    params: Annotated[dict[str, object], Publication(first=True)]
    parts: Annotated[dict[str, float | None], Publication(shown=_published_parts)]
    per_variable: dict[str, float | None]
    interval: tuple[float | None, float | None] | None = Field(description="95 percent interval of the value.")
    notes: tuple[str, ...]
    leaves_out: Public[tuple[str, ...]] = Field(
        default=(), description="Quasi-identifiers that a risk, and masked variables that a loss does not look at."
    )
    threshold: float | None
    met: bool | None = Field(description="Whether the value is on the right side of the threshold; null without one.")
    part_thresholds: dict[str, PartThreshold] = Field(default={}, description="By part.")
    part_units: dict[str, str] = Field(default={}, description="Of the parts whose unit is not that of the value.")
    sentence: str = Field(default="", description="What the value says, in one sentence.")
    tables: tuple[TableRecord, ...] = Field(default=(), description="Distributions that a report draws.")
    before: FiguresBefore | None = Field(
        default=None, description="The same of the original, of measures that look at one file."
    )

    @property
    def missed(self) -> tuple[str, ...]:
        """Parts whose thresholds are missed; the empty text stands for the value."""
        value = ("",) if self.met is False else ()
        return (*value, *(name for name, each in self.part_thresholds.items() if not each.met))

    def unit_of(self, part: str) -> str:
        """Unit of a part."""
        return self.part_units.get(part, self.unit)

    @property
    def may_be_published(self) -> bool:
        """Losses: a risk or a score tells an intruder how to attack."""
        return self.kind == "loss"


def measure_record(
    request: MeasureRequest, found: Measurement, thresholds: Mapping[str, float] = NO_THRESHOLDS
) -> MeasureRecord:
    """What the run record holds of a measurement; contributions of records stay out of it.

    `thresholds`: by label, or by label and part; in the unit of the measure.
    """
    threshold = thresholds.get(request.label)
    of_parts = {
        figure.name: PartThreshold(
            threshold=thresholds[name],
            direction=figure.direction,
            met=within(figure, found.parts.get(figure.name, math.nan), thresholds[name]),
        )
        for name, figure in threshold_figures(request).items()
        if name in thresholds and name != request.label
    }
    units = {
        part.name: part.unit
        for part in threshold_figures(request).values()
        if part.name in found.parts and part.unit != request.measure.unit
    }
    before = (
        None
        if found.before is None
        else FiguresBefore(
            value=_number(found.before.value),
            parts={name: _number(value) for name, value in found.before.parts.items()},
            per_variable={name: _number(value) for name, value in found.before.per_variable.items()},
            tables=_tables(found.before),
        )
    )
    return MeasureRecord(
        value=_number(found.value),
        unit=request.measure.unit,
        direction=request.measure.direction,
        kind=request.measure.kind,
        measure=request.measure.name,
        summary=request.measure.summary,
        params=_params_record(request.params),
        parts={name: _number(value) for name, value in found.parts.items()},
        per_variable={name: _number(value) for name, value in found.per_variable.items()},
        interval=None if found.interval is None else (_number(found.interval[0]), _number(found.interval[1])),
        notes=found.notes,
        leaves_out=found.leaves_out,
        threshold=threshold,
        met=None if threshold is None else within(request.measure, found.value, threshold),
        part_thresholds=of_parts,
        part_units=units,
        sentence=found.sentence,
        tables=_tables(found),
        before=before,
    )


def _tables(found: Measurement) -> tuple[TableRecord, ...]:
    return tuple(
        TableRecord(
            name=table.name,
            title=table.title,
            columns=table.columns,
            rows=tuple((label, tuple(map(_number, figures))) for label, *figures in table.rows),
            unit=table.unit,
        )
        for table in found.tables
    )


def _params_record(params: BaseModel) -> dict[str, object]:
    """Parameters as plain data; of files the name, not the folder."""
    files = {name: path.name for name, path in files_named(params).items()}
    return {**params.model_dump(mode="json"), **files}


def within(measure: Measure | MeasurePart, value: float, threshold: float) -> bool:
    """Whether a value is on the right side of its threshold; a value that is not defined never is.

    `value`, `threshold`: in the unit of the measure.
    """
    if math.isnan(value):
        return False
    return value <= threshold if measure.direction == "lower" else value >= threshold


def _number(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return float(value) if np.isfinite(value) else None
