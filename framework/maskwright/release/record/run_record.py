"""The record of a run, as `run.json` holds it for the office, and as reports get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field

from maskwright.data.variable import Role, VariableType
from maskwright.edits.edit import EditKind, Severity
from maskwright.planning.model import KeptBy
from maskwright.plugins.guarding.frozen import frozen
from maskwright.release.record.adjustment_record import AdjustedUnit, LossByStep, MomentDrift, MovedRows
from maskwright.release.record.measure_record import MeasureRecord
from maskwright.release.record.record_parts import (
    CutRecord,
    DoubtRecord,
    NoticeRecord,
    PlanRecord,
    Public,
    Publication,
    RecordPart,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class PipelineRecord(RecordPart):
    """The pipeline that was run."""

    file: str
    text: str = Field(
        description="The file as it stands; of a program's settings, these as YAML; empty in what a report gets."
    )
    settings: dict[str, object] = Field(description="The same as plain data, with what was put over it.")


class InputFile(RecordPart):
    """A file that was read."""

    role: Literal["data", "codebook", "pipeline", "edits", "method", "measure"]
    file: str
    sha256: str | None = Field(description="null: in what a report gets.")
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
    altered: Annotated[bool, Publication(name="masked")] = Field(
        description="Whether any of its values is published as another one, or is emptied."
    )
    done: Public[str] = Field(description="What was done to its values, in words.")
    masked_by: int | None = Field(description="Number of the last step that masks it; null: none does.")

    unchanged: float | None = Field(
        description="Percent of its cells with a value, other than 0, that are as they were; null: there are none."
    )
    level: Public[str | None] = Field(default=None, description="Level of its records; null: there is only one.")

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
    fired: int = Field(description="Masked records to which it applies.")
    adjusted: int = Field(
        description="Masked records that were moved because of it, each once however many of its cells changed; one "
        "that several edits moved counts with each. Of data of several levels: records of its `level`; where an edit "
        "across levels moved groups with their members, groups."
    )
    infeasible: int = Field(
        default=0,
        description="Records of several levels, moved with their members: those for which no values were found that "
        "satisfy it, so that what it reads was derived instead.",
    )
    loss: float = Field(description="Added by adjusting records that violated this edit only; unit of loss_by_step.")
    form: Public[Literal["translated", "weakened"] | None] = Field(
        default=None,
        description="Of an edit on recoded variables: 'text' says it of the published categories, with the same "
        "meaning or a weaker one.",
    )
    stated: Public[str | None] = Field(default=None, description="Its text on the original values then.")
    level: Public[str | None] = Field(
        default=None, description="Level of the records that it is about and that are counted; null: there is only one."
    )


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
        description="Complementary cells that show others, as the label of a code shows the code."
    )
    by_attack: Public[dict[str, int]] = Field(
        default_factory=dict,
        description="Complementary cells by the attack that would have inferred others: equation, dependency, "
        "position, group, emptiness; each counts for the first that needs it.",
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

    level: str | None = Field(
        default=None, description="Of data of several levels: what records are here, groups with all their members."
    )
    records: int
    violating: int
    localised: int
    unproven: int
    variables: dict[str, int] = Field(description="Records in which each variable has to change.")
    not_localised: tuple[NotLocalised, ...]
    fields: tuple[LocatedFields, ...]
    adjusted: dict[str, int] = Field(
        description="Cells changed before masking, by variable; of a variable of members each member's counts."
    )
    filled: dict[str, int] = Field(description="Missing cells filled, by variable.")
    mended: int = Field(description="Records that violate no edit any more.")
    left: int = Field(description="Records that could not be mended in these fields.")
    fields_omitted: int = Field(description="Records that `fields` does not list.")


class ClassSizes(RecordPart):
    """Classes of records that are published alike."""

    expected: Public[int] = Field(description="Size that classes are compared with: what steps ask of these variables.")
    smallest: Public[int]
    below: Public[int] = Field(description="Records in classes smaller than expected.")


class ClassSizesOn(RecordPart):
    """Classes of records that are published alike on some variables."""

    variables: Public[tuple[str, ...]]
    expected: Public[int] = Field(description="Size that classes are compared with: what steps ask of these variables.")
    smallest: Public[int]
    below: Public[int] = Field(description="Records in classes smaller than expected.")


class GroupClassSizes(RecordPart):
    """Classes of records that are published alike on the variables of a group, or on the keys of a step."""

    step: Public[int]
    variables: Public[tuple[str, ...]]
    requested: Public[int | None] = Field(description="Smallest size that the step asks for.")
    guaranteed: Public[bool] = Field(description="Whether it is promised; or counted only (`k_guarantee: report`).")
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
        """Whether the pipeline requested it."""
        return any(self.published.values())


class LevelRecord(RecordPart):
    """Records of one level."""

    records: Public[int]
    original_records: int = Field(description="Before groups that violate edits were dropped.")


class LikeClasses(RecordPart):
    """How many records are alike: one of the four counts of k for data of two levels."""

    about: Public[str]
    records: Public[int]
    expected: Public[int] = Field(
        description="Size that classes are compared with: that of the step, or the largest that a step asks for."
    )
    smallest: Public[int]
    below: Public[int] = Field(description="Records in classes smaller than expected.")


class FigureRecord(RecordPart):
    """Numbers that reports show as bars."""

    caption: str
    values: dict[str, float]
    unit: str = ""


class SectionRecord(RecordPart):
    """A section that a plugin adds to the report.

    Examples
    --------
    >>> from maskwright import SectionRecord
    >>> SectionRecord(name="size", title="Size", paragraphs=("20 records.",)).paragraphs
    ('20 records.',)
    """

    name: str
    title: str
    paragraphs: tuple[str, ...] = ()
    head: tuple[str, ...] = Field(default=(), description="Heads of the columns of its table.")
    rows: tuple[tuple[str, ...], ...] = ()
    figures: tuple[FigureRecord, ...] = ()


class RunRecord(RecordPart):
    """Everything about a run. Confidential: it has the seed and hashes of the input.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": [20 + 7 * place % 20 for place in range(20)]}).to_csv("ages.csv", index=False)
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
    left_out: dict[str, int] = Field(
        default_factory=dict,
        description="Records of the original that were dropped since they, or their group, violate an edit "
        "(`on_input_violation: drop`), by level; of a file without levels under `record`. Empty: none.",
    )
    pipeline: PipelineRecord
    inputs: tuple[InputFile, ...]
    outputs: dict[str, OutputFile]
    plugins: Public[dict[str, PluginRecord]] = Field(description="Plugins used, by kind and name.")
    seed: int | None = Field(description="null: in what a report gets.")
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
        description="Masked variables and quasi-identifiers that no measure of the pipeline uses."
    )
    adjustment: tuple[AdjustedUnit, ...]
    moved: tuple[MovedRows, ...]
    loss_by_step: LossByStep | None = Field(
        description="null: records are drawn anew, and a row has no original to be compared with."
    )
    moment_drift: MomentDrift | None
    structural_zeros: tuple[ZeroShares, ...]
    methods: Public[tuple[MethodNotes, ...]]
    notices: tuple[NoticeRecord, ...]
    seconds: dict[str, float] = Field(description="Spent in each stage.")
    levels: Public[dict[str, LevelRecord]] = Field(
        default_factory=dict, description="Of data of several levels: each level, the top first."
    )
    k_of_groups: Public[tuple[LikeClasses, ...]] = Field(
        default=(), description="Of data of two levels: the four counts of what is published alike."
    )
    cut: CutRecord | None = Field(default=None, description="Of a run over parts: how the file was cut.")
    sections: tuple[SectionRecord, ...] = Field(
        default=(), description="Further sections of the report, as plugins composed them."
    )
    per_record: dict[str, tuple[float | None, ...]] = Field(
        default_factory=dict,
        description="Contributions of the masked records to measures they were asked of, by label; null: not defined.",
    )


def run_record_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of `run.json`; fields that may be published carry ``"public": true``."""
    from maskwright.pipeline.file_schema import DIALECT, untitled  # of the schema alone

    schema: dict[str, Any] = untitled(RunRecord.model_json_schema(ref_template="#/$defs/{model}"))
    return {"$schema": DIALECT, "title": "Maskwright run record", **schema}


def record_for_reports(record: RunRecord) -> Mapping[str, Any]:
    """Plain data of a record, read-only, without the seed, hashes of what was read, and the text of the pipeline."""
    plain = record.to_json()
    settings = {name: each for name, each in plain["pipeline"]["settings"].items() if name != "seed"}
    plain["pipeline"] = plain["pipeline"] | {"text": "", "settings": settings}
    plain["inputs"] = [each | {"sha256": None} for each in plain["inputs"]]
    plain["seed"] = None
    return frozen(plain)
