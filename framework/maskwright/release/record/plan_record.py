"""The plan in the run record: steps, variable groups, strata, who is to keep each edit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from maskwright.edits.edit import EditKind
from maskwright.planning.model import KeptBy
from maskwright.release.record.doubt_record import DoubtRecord
from maskwright.release.record.record_part import Public, RecordPart

ActingOn = Literal["records", "representatives"]


class StratumRecord(RecordPart):
    """Records of a group that are masked apart from the others."""

    label: str = Field(description="What these records have in common.")
    records: int
    merged: bool = Field(description="Whether smaller strata were joined to make it.")


class GroupRecord(RecordPart):
    """Variables that one step masks together."""

    variables: Public[tuple[str, ...]]
    operators: Public[dict[str, str]] = Field(description="How each variable is aggregated.")
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
    changes_cells: Public[bool] = Field(
        default=True,
        description="False: it takes whole records away, and every cell of the others is as it was, weights apart.",
    )
    groups: Public[tuple[GroupRecord, ...]] = Field(
        description="Of a step that changes no cell: the variables whose values it looks at, if any."
    )
    takes: Public[str | None] = Field(
        default=None,
        description="Of data of several levels: what a step that draws records takes.",
    )


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


class PlanRecord(RecordPart):
    """What a run was to do; ``maskwright plan`` shows the same."""

    records: int | None = Field(description="Of the original; null when planned without data.")
    steps: Public[tuple[StepRecord, ...]]
    edits: tuple[PlannedEdit, ...]
    adjustment: tuple[PlannedUnit, ...]
    grid: dict[str, int | None] = Field(description="Published decimals of each masked variable; null: not rounded.")
    untouched: tuple[str, ...] = Field(description="Variables published as they are.")
    may_lose_cells: tuple[str, ...] = Field(
        description="Those of them that may lose cells, lest edits give others away."
    )
    dropped: tuple[str, ...] = Field(description="Identifiers, not published.")
    new_keys: tuple[str, ...] = Field(default=(), description="Keys that are published with new random values.")
    warnings: tuple[str, ...]
    doubts: tuple[DoubtRecord, ...] = Field(default=(), description="Of ``maskwright plan``; a run has its own.")
    notices: tuple[str, ...] = Field(default=(), description="Of ``maskwright plan``; a run has its own.")
    checks: tuple[CheckRecord, ...] = Field(default=(), description="Of ``maskwright plan``: what checks say of it.")
    levels: dict[str, int] = Field(
        default_factory=dict, description="Of ``maskwright plan`` on data of several levels: records of each."
    )

    costs: CostsRecord | None = Field(default=None, description="Of ``maskwright plan``; null of a run.")

    @property
    def published_as_they_are(self) -> tuple[str, ...]:
        """Variables of which no cell is changed."""
        return tuple(name for name in self.untouched if name not in self.may_lose_cells)
