"""Parts of the run record: which fields may be published, doubts, the plan, and how a file was cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from maskwright.data.variable import Role, VariableType
from maskwright.edits.edit import EditKind
from maskwright.foundation.doubts import DOUBT_KINDS, Doubt
from maskwright.foundation.findings import About, Notice
from maskwright.planning.model import KeptBy

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

    from maskwright.release.release_decision import ReleaseDecision


T = TypeVar("T")


@dataclass(frozen=True)
class Publication:
    """Marks a field that may be published with the data, and says how it stands in the public record.

    `name`: its key, where that is another than in the run record. `shown`: what is published instead of the value.
    `opened`: whether the public fields of this part stand in its place. `first`: whether it stands before the fields of
    the same part that are not marked so.
    """

    name: str | None = None
    shown: Callable[[Any], object] | None = None
    opened: bool = False
    first: bool = False

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Say so in the JSON Schema too."""
        return {**handler(core), "public": True}


Public = Annotated[T, Publication()]
"""Type of a field that may be published as it is."""


class RecordPart(BaseModel):
    """A part of the run record. A field with a default is one that some records do not have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def may_be_published(self) -> bool:
        """Whether anything of this part may be published; its fields say what."""
        return True

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in `run.json`; without the fields that were not given."""
        return {name: as_lists(value) for name, value in self.model_dump(exclude_unset=True).items()}

    def public_json(self) -> dict[str, Any]:
        """Plain data with what may be published, by the marks of the fields."""
        found: dict[str, Any] = {}
        for name, mark in sorted(publications(type(self)), key=lambda field: not field[1].first):
            value = getattr(self, name)
            if mark.opened:
                found |= value.public_json()
            else:
                found[mark.name or name] = _published(value if mark.shown is None else mark.shown(value))
        return found


def publications(part: type[RecordPart]) -> Iterator[tuple[str, Publication]]:
    """Fields of a part that may be published, in order, with their marks."""
    for name, field in part.model_fields.items():
        yield from ((name, mark) for mark in field.metadata if isinstance(mark, Publication))


def _published(value: object) -> object:
    if isinstance(value, RecordPart):
        return value.public_json()
    if isinstance(value, Mapping):
        return {key: _published(each) for key, each in value.items() if _may_be_published(each)}
    if isinstance(value, list | tuple):
        return [_published(each) for each in value if _may_be_published(each)]
    return value


def _may_be_published(value: object) -> bool:
    return not isinstance(value, RecordPart) or value.may_be_published


def as_lists(value: object) -> object:
    """Lists for tuples, as JSON has them."""
    if isinstance(value, Mapping):
        return {key: as_lists(each) for key, each in value.items()}
    return [as_lists(each) for each in value] if isinstance(value, list | tuple) else value


class PlaceRecord(RecordPart):
    """Where something is stated, in the pipeline or a rule file."""

    file: str | None = None
    line: int | None = None
    column: int | None = None


class FindingRecord(RecordPart):
    """What a finding is about; a field is missing where there is nothing to say in it."""

    level: str | None = Field(default=None, description="Of data of several levels.")
    step: int | None = Field(default=None, description="Number of the step in the pipeline.")
    variable: str | None = None
    edit: str | None = None
    measure: str | None = None
    given_by: str | None = Field(default=None, description="What gives the values of the variable away.")
    count: int | None = Field(default=None, description="How many cells, records or values are concerned.")
    total: int | None = Field(default=None, description="Of how many.")
    place: PlaceRecord | None = None


class NoticeRecord(FindingRecord):
    """What a person should know."""

    kind: str = Field(description="A stable name.")
    message: str
    is_caution: bool = Field(description="Whether it is to be read before the release is published.")


def notice_record(notice: Notice) -> NoticeRecord:
    """A notice as the run record has it."""
    return NoticeRecord.model_validate(notice.to_json())


class DoubtRecord(FindingRecord):
    """What was not surely understood or protected."""

    id: Public[str]
    doubt: Public[str] = Field(description="Its name, as waivers give it.")
    about: Public[About]
    subject: Public[str] = Field(description="Name of the variable, edit or measure, or number of the step.")
    message: str
    remedy: str
    because: str | None = Field(description="Why the pipeline waives it; null: it is open and stops the release.")


def doubt_records(judgement: ReleaseDecision) -> tuple[DoubtRecord, ...]:
    """Open doubts, and then those that are waived."""
    return (
        *(_record(doubt, None) for doubt in judgement.open),
        *(_record(each.doubt, each.waiver.because) for each in judgement.waived),
    )


def _record(doubt: Doubt, because: str | None) -> DoubtRecord:
    kind = DOUBT_KINDS[doubt.kind]
    return DoubtRecord(
        id=kind.id, doubt=kind.name, about=kind.about, subject=doubt.subject, message=doubt.said,
        remedy=doubt.remedy, because=because, **doubt.fields(),
    )  # fmt: skip


ActingOn = Literal["records", "representatives"]


class StratumRecord(RecordPart):
    """Records of a group that are masked apart from the others."""

    label: str = Field(description="What these records have in common.")
    records: int
    merged: bool = Field(description="Whether smaller strata were joined to make it.")


class GroupRecord(RecordPart):
    """Variables that one step masks together."""

    variables: Public[tuple[str, ...]]
    operators: Public[dict[str, str]] = Field(
        description="How each variable is aggregated; empty where the step only takes cells or records away."
    )
    computed: tuple[str, ...] = Field(description="Variables computed from masked ones.")
    edits: tuple[str, ...] = Field(description="Edits inside the group.")
    cut_by: tuple[str, ...] = Field(description="What keeps records apart.")
    strata: tuple[StratumRecord, ...]
    smallest_cluster: int | None = Field(description="That the step promises.")


class StepRecord(RecordPart):
    """One step of the plan."""

    step: int = Field(description="1 for the first.")
    method: Public[str]
    params: Public[dict[str, object]] = Field(description="Of the method and of the planner.")
    unpublished: tuple[str, ...] = Field(default=(), description="Parameters that are kept from the public record.")
    changes_cells: Public[bool] = Field(default=True, description="False: it takes whole records away, and no cells.")
    groups: Public[tuple[GroupRecord, ...]] = Field(description="If it changes no cell: the variables that it reads.")
    takes: Public[str | None] = Field(
        default=None, description="Of data of several levels: what a step that draws records takes."
    )

    def public_json(self) -> dict[str, Any]:
        """Plain data with what may be published."""
        shown = {name: value for name, value in self.params.items() if name not in self.unpublished}
        return super().public_json() | {"params": shown}


class PlannedEdit(RecordPart):
    """Who is to keep an edit, and how."""

    name: str
    kind: EditKind
    text: str
    kept_by: KeptBy
    how: str
    form: Literal["translated", "weakened"] | None = Field(
        default=None,
        description="Of an edit on recoded variables: how it holds of the published categories, with the same meaning "
        "or a weaker one; null also where that is not known before masking.",
    )
    becomes: str | None = Field(default=None, description="What it says then.")


class PlannedUnit(RecordPart):
    """Variables that are adjusted together."""

    variables: tuple[str, ...]
    edits: tuple[str, ...]
    acting_on: ActingOn = Field(description="What is moved: single records, or what stands for groups of them.")


PublishedAs = Literal["masked", "as it is", "new values", "no"]


class PlannedVariable(RecordPart):
    """A variable as it is declared, or as it was understood."""

    name: str
    type: VariableType | None = Field(description="Null of one that is not read, and whose type is not declared.")
    role: Role
    declared_by: str = Field(description="What says its role: `variables`, `roles: q*`, `codebook`, ...; '': nothing.")
    line: int | None = Field(description="Of the pipeline file.")
    steps: tuple[int, ...] = Field(description="That mask it.")
    published: PublishedAs


class CheckRecord(RecordPart):
    """What a check of the plan says."""

    check: str
    refuses: bool
    message: str
    hint: str | None


class StageCostRecord(RecordPart):
    """What one stage of a run is expected to take."""

    stage: str
    megabytes: float = Field(description="Most memory that the process holds; over parts, a worker.")
    seconds: float = Field(description="Of one processor.")


class CostsRecord(RecordPart):
    """What a run is expected to take, by measured rates."""

    records: int
    stages: tuple[StageCostRecord, ...]
    peak_megabytes: float
    seconds: float
    memory_megabytes: float | None = Field(description="That there is for it; null where the system does not say.")
    fits: bool
    workers: int = Field(default=0, description="Of a run over parts; 0: in memory.")
    leader_megabytes: float = Field(default=0.0, description="Of the process that leads a run over parts.")
    scratch_megabytes: float = Field(default=0.0, description="Of files that a run over parts writes on the way.")
    in_one_process: tuple[str, ...] = Field(
        default=(), description="Why all records are in one process although an engine is named."
    )
    basis: str = Field(default="", description="What the times rest on; empty: on the rates of measured runs alone.")
    to_compile: tuple[str, ...] = Field(default=(), description="Plugins whose kernels are not compiled yet.")


class PlanRecord(RecordPart):
    """What a run was to do; ``maskwright plan`` shows the same."""

    records: int | None = Field(description="Of the original; null when planned without data.")
    steps: Public[tuple[StepRecord, ...]]
    edits: tuple[PlannedEdit, ...]
    adjustment: tuple[PlannedUnit, ...]
    grid: dict[str, int | None] = Field(description="Published decimals of each masked variable; null: not rounded.")
    untouched: tuple[str, ...] = Field(description="Variables published as they are.")
    may_lose_cells: tuple[str, ...] = Field(
        description="Those of them that may lose cells, because edits would reveal others."
    )
    dropped: tuple[str, ...] = Field(description="Identifiers, not published.")
    new_keys: tuple[str, ...] = Field(default=(), description="Keys that are published with new random values.")
    warnings: tuple[NoticeRecord, ...]
    doubts: tuple[DoubtRecord, ...] = Field(default=(), description="Of ``maskwright plan``; a run has its own.")
    notices: tuple[NoticeRecord, ...] = Field(default=(), description="Of ``maskwright plan``; a run has its own.")
    checks: tuple[CheckRecord, ...] = Field(default=(), description="Of ``maskwright plan``: what checks say of it.")
    levels: dict[str, int] = Field(
        default_factory=dict, description="Of ``maskwright plan`` on data of several levels: records of each."
    )
    costs: CostsRecord | None = Field(default=None, description="Of ``maskwright plan``; null of a run.")
    variables: tuple[PlannedVariable, ...] = Field(
        default=(), description="Of ``maskwright plan``: each as it is declared, in the order of the file."
    )

    @property
    def published_as_they_are(self) -> tuple[str, ...]:
        """Variables of which no cell is changed."""
        return tuple(name for name in self.untouched if name not in self.may_lose_cells)


class GroupCutRecord(RecordPart):
    """Blocks in which a variable group was masked."""

    step: int
    variables: tuple[str, ...]
    tree: str = Field(description="SHA-256 of its strata and of the k-d cuts.")
    blocks: int
    smallest: int = Field(description="Records of the smallest block.")
    largest: int


class CutRecord(RecordPart):
    """How a run over parts was done."""

    engine: str
    parts: int
    sampled: int = Field(description="Records that the cuts were made from.")
    groups: tuple[GroupCutRecord, ...] = Field(description="Those that were masked in blocks.")
    measures: dict[str, str] = Field(
        description="Of each measure: 'exact', 'sampled' or 'approximate', against the file in memory."
    )
