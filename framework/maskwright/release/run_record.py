"""The record of a run, as `run.json` holds it: everything for the office, each field marked if it may be published.

The record has the seed and hashes of the input, so it is confidential; the public record is what the marks leave of it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from maskwright.data.variable import Role, VariableType
from maskwright.edits.edit import EditKind, Severity
from maskwright.pipeline.file_schema import DIALECT, untitled
from maskwright.planning.model import KeptBy
from maskwright.release.doubt_record import DoubtRecord
from maskwright.release.plan_record import ActingOn, PlanRecord
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


class PipelineRecord(RecordPart):
    """The pipeline that was run."""

    file: str
    text: str = Field(description="The file as it stands; of a program's settings, these as YAML.")
    settings: dict[str, object] = Field(description="The same as plain data, with what was put over it.")


class InputFile(RecordPart):
    """A file that was read."""

    role: Literal["data", "codebook", "pipeline", "edits", "method", "measure"]
    file: str
    sha256: str
    bytes: int


class OutputFile(RecordPart):
    """A file that was written; the records of the run cannot hold their own hashes."""

    file: str
    sha256: str | None = None
    bytes: int | None = None


class PluginRecord(RecordPart):
    """Where a plugin that was used comes from."""

    distribution: Public[str]
    version: Public[str]


class VariableRecord(RecordPart):
    """A variable of the original; identifiers are not published."""

    name: Public[str]
    type: Public[VariableType]
    role: Role
    decimals: Public[int | None] = Field(description="The published grid; null: not rounded.")
    masked_by: Annotated[int | None, Publication(name="masked", shown=lambda step: step is not None)] = Field(
        description="Number of the step; null: published as it is."
    )

    unchanged: float | None = Field(
        description="Percent of its cells with a value, other than 0, that are as they were; null: there are none."
    )

    @property
    def may_be_published(self) -> bool:
        """All but identifiers."""
        return self.role != "identifier"


class ReleasedForm(RecordPart):
    """Order and keys of the published records; what they were before follows from the seed and the original."""

    order: Public[Literal["random", "kept"]] = Field(description="'kept': as in the original.")
    new_keys: Public[tuple[str, ...]] = Field(description="Variables published with new random values.")


class EditRecord(RecordPart):
    """What became of an edit."""

    name: Public[str]
    kind: Public[EditKind]
    text: Public[str]
    message: str
    severity: Public[Severity]
    planned: KeptBy = Field(description="Who was to keep it.")
    kept_by: Public[KeptBy] = Field(description="Who did: an edit that needed adjustment was kept by adjustment.")
    how: str
    violations: Public[int] = Field(description="Masked records that violate it.")
    violations_on_arrival: int
    unknown: int = Field(description="Masked records whose verdict rests on a missing cell.")
    not_applicable: Public[int] = Field(description="Masked records in which a cell that it reads is suppressed.")
    fired: int = Field(description="Masked records that it is for.")
    adjusted: int = Field(description="Masked records that were moved because of it.")
    loss: float = Field(description="Added by adjusting records that violated this edit only; unit of loss_by_step.")
    form: Public[Literal["translated", "weakened"] | None] = Field(
        default=None,
        description="Of an edit on recoded variables: 'text' says it of the published categories, with the same "
        "meaning or a weaker one.",
    )
    stated: Public[str | None] = Field(default=None, description="Its text on the original values then.")


class DroppedEdit(RecordPart):
    """An edit that cannot be said of the categories that are published of what it reads."""

    name: Public[str]
    text: Public[str]


class SuppressedCells(RecordPart):
    """Cells of a variable that were suppressed."""

    variable: Public[str]
    cells: Public[int]
    complementary: Public[int] = Field(description="Those of them that would have given others away.")
    for_dependencies: Public[int] = Field(
        description="Complementary cells by which others could be read off other records, as by the label of a code."
    )


class LocatedFields(RecordPart):
    """Fields of a record that are in error."""

    record: int = Field(description="1 for the first.")
    variables: tuple[str, ...]
    proven: bool = Field(description="Whether no smaller set would do.")


class NotLocalised(RecordPart):
    """Records in error of which the fields are not known."""

    reason: str
    records: int
    first_records: tuple[int, ...]


class LocalisationRecord(RecordPart):
    """What ``on_input_violation: localize`` found and did; counts, record numbers and names."""

    records: int
    violating: int
    localised: int
    unproven: int
    variables: dict[str, int] = Field(description="Records in which each variable has to change.")
    not_localised: tuple[NotLocalised, ...]
    fields: tuple[LocatedFields, ...]
    adjusted: dict[str, int] = Field(description="Cells changed, by variable.")
    filled: dict[str, int] = Field(description="Missing cells filled, by variable.")
    mended: int = Field(description="Records that violate no edit any more.")
    left: int = Field(description="Records that could not be mended in these fields.")
    fields_omitted: int = Field(description="Records that `fields` does not list.")


class ClassSizes(RecordPart):
    """Classes of records that are published alike."""

    smallest: Public[int]
    below: Public[int] = Field(description="Records in classes smaller than expected.")


class ClassSizesOn(RecordPart):
    """Classes of records that are published alike on some variables."""

    variables: Public[tuple[str, ...]]
    smallest: Public[int]
    below: Public[int] = Field(description="Records in classes smaller than expected.")


class GroupClassSizes(RecordPart):
    """Classes of records that are published alike on the variables of a group, or on the keys of a step."""

    step: Public[int]
    variables: Public[tuple[str, ...]]
    requested: Public[int | None] = Field(description="Smallest size that the step promises.")
    expected: Public[int] = Field(description="That, or the mean size where none is promised.")
    smallest: Public[int]
    below: Public[int] = Field(description="Records in classes smaller than expected.")


class ClassesRecord(RecordPart):
    """What is left of k, counted in the masked file."""

    requested: Public[int | None]
    expected: Public[int | None]
    groups: Public[tuple[GroupClassSizes, ...]]
    quasi_identifiers: Public[ClassSizesOn | None]
    records: Public[ClassSizes | None] = Field(description="On every published variable.")


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
    acting_on: ActingOn
    rows: int
    moved: int
    fallback: int = Field(description="Rows taken from the nearest feasible one.")
    infeasible: int = Field(description="Rows for which no feasible point was found.")
    conflicts: tuple[tuple[str, ...], ...] = Field(description="Edits that some rows cannot satisfy together.")
    dependents: tuple[str, ...] = Field(description="Variables that were computed from the others.")
    cost_sd: dict[str, float] = Field(description="Mean move of each variable, in standard deviations.")
    loss: StepLosses


class MovedRows(RecordPart):
    """Rows that adjusting moved, each counted once however many sets of variables it was moved in."""

    acting_on: ActingOn
    variables: tuple[tuple[str, ...], ...]
    rows: int
    moved: int


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


class ZeroShares(RecordPart):
    """Share of zeros of a variable with structural zeros."""

    step: int
    variable: str
    before: float
    after: float


class MethodNotes(RecordPart, extra="allow"):
    """What a method said of a group; its own words and numbers stand beside these."""

    step: Public[int]
    variables: Public[tuple[str, ...]]
    published: Public[dict[str, list[object]]] = Field(
        default_factory=dict, description="What analysts need to know of what it did: matrices of probabilities."
    )

    @property
    def may_be_published(self) -> bool:
        """Whether the pipeline asked for it."""
        return any(self.published.values())


class RunRecord(RecordPart):
    """Everything about a run. Confidential: it has the seed and hashes of the input.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": range(20, 40)}).to_csv("ages.csv", index=False)
    >>> _ = Path("pipeline.yaml").write_text('''
    ... maskwright: 1
    ... data: {source: ages.csv}
    ... protect: [{method: microaggregation, params: {k: 4}}]
    ... output: {data: masked.csv}
    ... seed: 1
    ... ''', encoding="utf-8")
    >>> record = mw.RunRecord.model_validate(mw.run("pipeline.yaml").record)
    >>> record.k.requested, "seed" in record.public_json()
    (4, False)
    """

    model_config = ConfigDict(title="Maskwright run record")

    maskwright: Annotated[str, Publication(first=True)] = Field(description="Version of Maskwright.")
    ok: bool = Field(description="Whether the masked data were released.")
    records: Annotated[int, Publication(first=True)] = Field(description="Masked records.")
    pipeline: PipelineRecord
    inputs: tuple[InputFile, ...]
    outputs: dict[str, OutputFile]
    plugins: Public[dict[str, PluginRecord]] = Field(description="Plugins used, by kind and name.")
    seed: int
    mode: Annotated[str, Publication(first=True)] = Field(description="'exact', or what is masked in blocks.")
    variables: Public[tuple[VariableRecord, ...]]
    release: Public[ReleasedForm]
    plan: Annotated[PlanRecord, Publication(opened=True)]
    edits: Public[tuple[EditRecord, ...]]
    doubts: Public[tuple[DoubtRecord, ...]] = Field(
        description="What was not surely understood or protected; each is waived with a reason, or stopped the release."
    )
    dropped_edits: Public[tuple[DroppedEdit, ...]]
    suppressed: Public[tuple[SuppressedCells, ...]]
    localisation: LocalisationRecord | None
    k: Public[ClassesRecord]
    measures: Annotated[dict[str, MeasureRecord], Publication(name="loss")] = Field(description="By label.")
    not_measured: Public[tuple[str, ...]] = Field(
        description="Masked variables and quasi-identifiers that no measure of the pipeline looks at."
    )
    adjustment: tuple[AdjustedUnit, ...]
    moved: tuple[MovedRows, ...]
    loss_by_step: LossByStep
    moment_drift: MomentDrift | None
    structural_zeros: tuple[ZeroShares, ...]
    methods: Public[tuple[MethodNotes, ...]]
    notices: tuple[str, ...]
    seconds: dict[str, float] = Field(description="Spent in each stage.")
    per_record: dict[str, tuple[float | None, ...]] = Field(
        default_factory=dict,
        description="Contributions of the masked records to measures they were asked of, by label; null: not defined.",
    )


def run_record_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of `run.json`; fields that may be published carry ``"public": true``.

    Returns
    -------
    dict
        Plain JSON data.
    """
    schema: dict[str, Any] = untitled(RunRecord.model_json_schema(ref_template="#/$defs/{model}"))
    return {"$schema": DIALECT, "title": "Maskwright run record", **schema}
