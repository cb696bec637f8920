"""What the record of a run says of a measure; losses are published with few digits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from maskwright.release.record_part import Public, Publication, RecordPart

PUBLIC_DIGITS = 3
"""Significant digits of losses that are published: with all of them, the last value follows from n - 1 known ones."""


def published_loss(value: float | None) -> float | None:
    """A loss as it is published.

    Parameters
    ----------
    value : float or None
        None: not defined.

    Returns
    -------
    float or None
        With `PUBLIC_DIGITS` significant digits.
    """
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

    @property
    def may_be_published(self) -> bool:
        """Losses: a risk or a score tells an intruder how to attack."""
        return self.kind == "loss"
