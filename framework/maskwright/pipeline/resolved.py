"""A pipeline that has been read: names replaced by plugins, parameters by models, file names by absolute paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from maskwright.foundation.errors import Place

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.pipeline.file_model import ExecutionSection
    from maskwright.planning.params import PlanningParams
    from maskwright.plugins.edit_reader import EditReader
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.method import Method
    from maskwright.plugins.partition import Partition
    from maskwright.plugins.report import Report
    from maskwright.plugins.source import Source

OnInputViolation = Literal["fail", "mask", "drop", "localize"]


@dataclass(frozen=True)
class DataSource:
    """Where the microdata are, and what is declared of them.

    Attributes
    ----------
    path : Path
        Absolute.
    source : Source
    params : pydantic.BaseModel
        Instance of ``source.params``.
    variables : mapping of name to VariableDeclaration
    cluster : str or None
        Variable that identifies households.
    place : Place
        Of the file name.
    """

    path: Path
    source: Source
    params: BaseModel
    variables: Mapping[str, VariableDeclaration] = field(default_factory=dict)
    cluster: str | None = None
    place: Place = field(default_factory=Place)


@dataclass(frozen=True)
class RuleText:
    """A rule written in the pipeline file.

    Attributes
    ----------
    rule : str or mapping
        As `maskwright.EditSet.parse` takes it: the text, or ``{rule, name, message, severity}``.
    place : Place
        Where the rule's text starts.
    """

    rule: str | Mapping[str, str]
    place: Place


@dataclass(frozen=True)
class RuleFile:
    """A file of rules, with the plugin that reads it and its options; `place` is that of its name in the pipeline."""

    reader: EditReader
    path: Path
    place: Place
    params: BaseModel | None = None


@dataclass(frozen=True)
class VariableUse:
    """Name of a variable where the data section or a step gives it; `where` begins a message: ``step 1: ``."""

    name: str
    place: Place
    where: str = ""


@dataclass(frozen=True)
class PartitionChoice:
    """Partition that a step asks for, with its own parameters."""

    partition: Partition
    params: BaseModel


@dataclass(frozen=True)
class Step:
    """One protection step.

    Attributes
    ----------
    index : int
        1-based.
    method : Method
    params : pydantic.BaseModel
        Instance of ``method.params``.
    planning : PlanningParams
    variables : tuple of str, or None
        None: those of the default roles.
    groups : tuple of tuples of str, or None
        None: made by the planner.
    partition : PartitionChoice or None
        For methods that name a partition.
    place : Place
    """

    index: int
    method: Method
    params: BaseModel
    planning: PlanningParams
    variables: tuple[str, ...] | None = None
    groups: tuple[tuple[str, ...], ...] | None = None
    partition: PartitionChoice | None = None
    place: Place = field(default_factory=Place)

    @property
    def is_deterministic(self) -> bool:
        """Whether neither its method nor its partition draws random numbers."""
        return self.method.deterministic and (self.partition is None or self.partition.partition.deterministic)


@dataclass(frozen=True)
class MeasureRequest:
    """One measure to compute, under the label that reports and thresholds use.

    `per_record`: also write the contribution of each masked record, to the confidential record only.
    """

    label: str
    measure: Measure
    params: BaseModel
    place: Place = field(default_factory=Place)
    per_record: bool = False


@dataclass(frozen=True)
class Output:
    """Files to write, absolute.

    Attributes
    ----------
    data : Path
    source : Source
        That writes `data`.
    svrl, record, public_record, edits : Path or None
    reports : tuple of (Report, Path)
        The reports of plugins, in file order.
    """

    data: Path
    source: Source
    svrl: Path | None = None
    record: Path | None = None
    public_record: Path | None = None
    edits: Path | None = None
    reports: tuple[tuple[Report, Path], ...] = ()

    @property
    def paths(self) -> Mapping[str, Path]:
        """Every file by its key in the pipeline file, the masked data last, as they are published."""
        chosen = {"svrl": self.svrl, "record": self.record, "public_record": self.public_record, "edits": self.edits}
        paths = {report.name: path for report, path in self.reports}
        paths |= {key: path for key, path in chosen.items() if path is not None}
        return paths | {"data": self.data}


@dataclass(frozen=True)
class Pipeline:
    """A pipeline file, read and found right; nothing but data and rule files is left to read.

    Attributes
    ----------
    path, folder : Path
        The file and its folder, absolute.
    text : str
        The file as it stands, for the run record.
    settings : mapping
        The same as plain data, overrides applied.
    data : DataSource
    edits : tuple of RuleText or RuleFile
        In file order.
    on_input_violation : {"fail", "mask", "drop", "localize"}
    steps : tuple of Step
    measures : tuple of MeasureRequest
    thresholds : mapping of measure label to float
    output : Output
    seed : int or None
        None: draw one.
    execution : ExecutionSection
        `workers` and `block_size`.
    uses : tuple of VariableUse
        Names of variables in the data section and the steps.
    file : str
        The pipeline file as it was named, for messages.
    """

    path: Path
    folder: Path
    text: str
    settings: Mapping[str, Any]
    data: DataSource
    edits: tuple[RuleText | RuleFile, ...]
    on_input_violation: OnInputViolation
    steps: tuple[Step, ...]
    measures: tuple[MeasureRequest, ...]
    thresholds: Mapping[str, float]
    output: Output
    seed: int | None
    execution: ExecutionSection
    uses: tuple[VariableUse, ...] = ()
    file: str = ""
