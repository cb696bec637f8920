"""A pipeline that has been read: names replaced by plugins, parameters by models, file names by absolute paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from maskwright.foundation.errors import Place
from maskwright.pipeline.file_model import ExecutionSection, ReleaseSection, Waiver
from maskwright.planning.model import DisclosureSettings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa
    from pydantic import BaseModel

    from maskwright.data.codebooks.codebook import Codebook
    from maskwright.data.dataset import Dataset
    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.levels.linked_data import LevelDeclaration, LevelPlaces
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.pipeline.declared_lists import Origin
    from maskwright.pipeline.extras.extra import Extra
    from maskwright.planning.model import Step
    from maskwright.plugins.engine import Engine
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.report import Report
    from maskwright.plugins.rules import RuleLanguage
    from maskwright.plugins.source import Source

OnInputViolation = Literal["fail", "mask", "drop", "localize"]


@dataclass(frozen=True)
class DataSource:
    """Where the microdata are, and what is declared of them.

    `missing`: missing codes of every variable that declares none of its own, and what each of them means. `codebook`:
    what it declares is among `variables`, under what the pipeline declares itself. `stated`: what the pipeline declares
    itself, without the codebook. `held`: what a program read of it before, identifiers included. `origins`: where the
    pipeline declares the roles.
    """

    path: Path
    source: Source
    params: BaseModel
    variables: Mapping[str, VariableDeclaration] = field(default_factory=dict)
    cluster: str | None = None
    place: Place = field(default_factory=Place)
    missing: tuple[tuple[str, str], ...] = ()
    codebook: Codebook | None = None
    stated: Mapping[str, VariableDeclaration] = field(default_factory=dict)
    held: Dataset | None = field(default=None, compare=False, repr=False)
    origins: Mapping[str, Origin] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What the data are called in messages."""
        return self.path.name

    @property
    def described_only(self) -> frozenset[str]:
        """Variables that only the codebook declares: the file may lack them, as codebooks are often of a larger one."""
        return frozenset() if self.codebook is None else frozenset(self.variables) - frozenset(self.stated)

    def stated_of(self, names: Collection[str]) -> dict[str, VariableDeclaration]:
        """Declarations without those of variables that only the codebook describes and that the file has not."""
        absent = self.described_only - frozenset(names)
        return {name: each for name, each in self.variables.items() if name not in absent}


@dataclass(frozen=True)
class LevelSources:
    """Where the records of each level are.

    `sources`: the same file twice where it is flat or nested. `form`: one row for each record of the lowest level; a
    file of each level; one XML file with records inside each other. `places`: where the pipeline says what it declares.
    `uses`: variables that the command line declares.
    """

    declared: Mapping[str, LevelDeclaration]
    sources: Mapping[str, DataSource]
    form: Literal["flat", "linked", "nested"]
    places: Mapping[str, LevelPlaces] = field(default_factory=dict)
    uses: tuple[VariableUse, ...] = ()


@dataclass(frozen=True, eq=False)
class DataInMemory:
    """Microdata that a program has, and what it declares of them; `variables`: of data that are no Dataset."""

    data: Dataset | pd.DataFrame | pa.Table
    variables: Mapping[str, VariableDeclaration] = field(default_factory=dict)
    cluster: str | None = None
    name: ClassVar[str] = "the data"


@dataclass(frozen=True)
class RuleText:
    """A rule written in the pipeline file.

    `rule`: as `maskwright.EditSet.parse` takes it: the text, or ``{rule, name, message, severity}``. `place`: where the
    rule's text starts. `edit`: what it says; without a name of its own it is ``edit-N``, N its position among such
    rules.
    """

    rule: str | Mapping[str, str]
    place: Place
    edit: Edit = field(compare=False)


@dataclass(frozen=True)
class RuleFile:
    """A file of rules, with the plugin that reads it and its options; `place` is that of its name in the pipeline."""

    reader: RuleLanguage
    path: Path
    place: Place
    params: BaseModel | None = None


@dataclass(frozen=True)
class VariableUse:
    """Name of a variable where the data section, a step or a measure gives it.

    `where` begins a message: ``step 1: ``. `published`: it has to be in the masked file, as for a measure.
    """

    name: str
    place: Place
    where: str = ""
    published: bool = False


@dataclass(frozen=True)
class MeasureRequest:
    """One measure to compute, under the label that reports and thresholds use.

    `per_record`: also write the contribution of each masked record, to the confidential record only. `places`: of its
    parameters, by name. `asked`: whether it was named; one that was not never stops a run.
    """

    label: str
    measure: Measure
    params: BaseModel
    place: Place = field(default_factory=Place)
    per_record: bool = False
    places: Mapping[str, Place] = field(default_factory=dict)
    asked: bool = True


@dataclass(frozen=True)
class ChosenEngine:
    """The engine that a pipeline names.

    `params`: instance of ``plugin.params``; names of files are absolute. `scratch`: absolute, where the pipeline names
    a folder.
    """

    plugin: Engine
    params: BaseModel
    scratch: Path | None = None


@dataclass(frozen=True)
class Chosen:
    """A check, a section or an action that a pipeline names, and its parameters."""

    extra: Extra
    params: BaseModel
    place: Place = field(default_factory=Place)


@dataclass(frozen=True)
class Output:
    """Files to write, absolute.

    `escapes_formulas`: whether texts that a spreadsheet would run get an apostrophe before them. `reports`: the reports
    of plugins, in file order. `level_data`: the masked data where each level has its own file; `data` is that of the
    lowest one then. `is_folder`: whether `data` is a folder of parts. `parts`: of a folder: records of each part, or
    variables whose published values name its folders; None: as the original.
    """

    data: Path
    source: Source
    svrl: Path | None = None
    record: Path | None = None
    public_record: Path | None = None
    edits: Path | None = None
    codebook: Path | None = None
    key_map: Path | None = None
    reports: tuple[tuple[Report, Path], ...] = ()
    escapes_formulas: bool = False
    numbers: Literal["as read", "canonical"] = "as read"
    level_data: Mapping[str, Path] = field(default_factory=dict)
    is_folder: bool = False
    parts: int | tuple[str, ...] | None = None

    @property
    def paths(self) -> Mapping[str, Path]:
        """Every file by its key in the pipeline file, the masked data last, as they are published."""
        chosen = {
            "svrl": self.svrl,
            "record": self.record,
            "public_record": self.public_record,
            "edits": self.edits,
            "codebook": self.codebook,
            "key_map": self.key_map,
        }
        paths = {report.name: path for report, path in self.reports}
        paths |= {key: path for key, path in chosen.items() if path is not None}
        if self.level_data:
            return paths | {f"data.{name}": path for name, path in self.level_data.items()}
        return paths | {"data": self.data}


@dataclass(frozen=True, kw_only=True)
class MaskingRequest:
    """What is to be masked, under which rules and how: everything checked that can be without reading data.

    A pipeline file and a call from Python both end as one of these, and whatever happens then is the same.

    `edits`: in order; an EditSet has been read already. `waivers`: doubts that do not stop the release. `release`:
    order and keys of the published records. `disclosure`: what is taken to be known of suppressed cells. `uses`:
    names of variables in the declarations and the steps. `file`: the pipeline file as it was named, for messages.
    """

    data: DataSource | DataInMemory
    edits: tuple[RuleText | RuleFile, ...] | EditSet
    on_input_violation: OnInputViolation = "mask"
    steps: tuple[Step, ...]
    seed: int | None = None
    execution: ExecutionSection
    waivers: tuple[Waiver, ...] = ()
    release: ReleaseSection = field(default_factory=ReleaseSection)
    disclosure: DisclosureSettings = field(default_factory=DisclosureSettings)
    uses: tuple[VariableUse, ...] = ()
    file: str = ""


@dataclass(frozen=True, kw_only=True)
class Pipeline(MaskingRequest):
    """A pipeline, read and found right; nothing but data and rule files is left to read.

    `path`: the file, absolute; None where a program gave the settings. `folder`: that names of files are relative to.
    `text`: the file as it stands, or the settings as YAML, for the run record. `settings`: the same as plain data,
    overrides applied. `thresholds`: by measure label, or by label and part, ``label.part``. `levels`: where the data
    have several levels; `data` is the source of the lowest one then. `sections`: of the report, besides its own.
    `after`: what is done once everything is released. `engine`: who has the tasks done of a run in stages; None: all
    data are in memory. `in_one_process`: why they are although an engine is named.
    """

    path: Path | None
    folder: Path
    text: str
    settings: Mapping[str, Any]
    data: DataSource
    edits: tuple[RuleText | RuleFile, ...]
    measures: tuple[MeasureRequest, ...]
    thresholds: Mapping[str, float]
    output: Output
    levels: LevelSources | None = None
    checks: tuple[Chosen, ...] = ()
    sections: tuple[Chosen, ...] = ()
    after: tuple[Chosen, ...] = ()
    engine: ChosenEngine | None = None
    in_one_process: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in the run record."""
        return "settings of a program" if self.path is None else self.path.name

    @property
    def level_sources(self) -> LevelSources:
        """Sources of the levels, where the data have several."""
        assert self.levels is not None
        return self.levels
