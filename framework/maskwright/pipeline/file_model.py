"""The pipeline file as models: what each section may hold, waivers of doubts among them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from maskwright.data.levels.linked_data import LevelDeclaration
from maskwright.edits.rule_language.rule_entry import RuleEntry
from maskwright.foundation.doubts import DOUBT_KINDS, Doubt, DoubtKind
from maskwright.foundation.processes.resources import processors
from maskwright.foundation.yaml_models import MemorySize
from maskwright.pipeline.declared_lists import Declarations, Name, Names, Numbers
from maskwright.planning.model import DisclosureSettings

FORMAT = 1

FileName = Annotated[str, Field(min_length=1)]
Section = dict[str, object]


class DataSection(Declarations, extra="allow", frozen=True):
    """The microdata, and what is known of their variables.

    Further keys are options of the file format: `record` (XML), `delimiter` and `encoding` (CSV), ...
    """

    source: FileName | None = Field(
        default=None,
        description="The data file, relative to the pipeline file: or a folder, a pattern (census/*.parquet) or the "
        "address of either in an object store (s3://bucket/census/*.parquet), whose files are one dataset in parts. "
        "Required, unless each of the `levels` has its own.",
    )
    levels: dict[Name, LevelDeclaration] | None = Field(
        default=None,
        description="Levels of records, the upper one first: households and the persons in them. "
        "maskwright explain levels",
    )
    format: Name | None = Field(default=None, description="File format; left out, the file name's ending tells.")
    codebook: FileName | None = Field(
        default=None,
        description="Codebook, as a table (.csv) or in DDI Codebook 2.5 (.xml), relative to the pipeline file: types, "
        "roles, labels, categories, missing codes, units, decimals and bounds of variables, as far as `variables` does "
        "not declare otherwise.",
    )


class StepEntry(BaseModel, extra="forbid", frozen=True):
    """One protection step."""

    method: Name = Field(description="Name of a protection method: maskwright plugins lists them.")
    variables: tuple[Name, ...] | None = Field(
        default=None,
        min_length=1,
        description="Variables to mask. Left out: the numeric quasi-identifiers and confidential variables.",
    )
    groups: tuple[Annotated[tuple[Name, ...], Field(min_length=1)], ...] | None = Field(
        default=None,
        min_length=1,
        description="Groups of variables to mask together, instead of those the planner makes.",
    )
    unit: Name | None = Field(
        default=None,
        description="Level whose records are masked with all their members as one record (household): whole groups "
        "are then alike. Left out: each level is masked by itself.",
    )
    within: Names = Field(
        default=(),
        description="Variable, or list of variables, by whose values the records are masked apart: each region by "
        "itself. Of fewer than k records (10, where no k is promised) the nearest are joined ('small_strata').",
    )
    params: Section = Field(default_factory=dict, description="Parameters of the method and of the planner.")

    @model_validator(mode="after")
    def _names_each_variable_once(self) -> StepEntry:
        listed = list(self.variables or ())
        if len(set(listed)) != len(listed):
            raise ValueError(f"'variables' lists {_twice(listed)!r} twice")
        grouped = [name for group in self.groups or () for name in group]
        if len(set(grouped)) != len(grouped):
            raise ValueError(f"'groups' lists {_twice(grouped)!r} twice; a variable can be in one group only")
        outside = [name for name in grouped if listed and name not in listed]
        if outside:
            raise ValueError(f"'groups' holds {outside[0]!r}, which 'variables' does not list")
        return self


class ReleaseSection(BaseModel, extra="forbid", frozen=True):
    """In which order, and under which keys, the records are published."""

    order: Literal["random", "kept"] | None = Field(
        default=None,
        description="'random': households in random order, each with its members in random order, or records where "
        "nothing that is published names households. 'kept': as in the original; what was changed or suppressed in a "
        "file that is sorted by it can be inferred from the neighbours, and stops the release. Left out: random "
        "where there are new keys, kept otherwise.",
    )
    ids: Literal["new", "dropped"] | None = Field(
        default=None,
        description="'new': identifiers, and the variable of `cluster`, are published as keys with new random values; "
        "equal ones stay equal. 'dropped': identifiers are not published. Left out: those that say `release: new` are "
        "published so, and with them the variable of `cluster`.",
    )


class OutputSection(BaseModel, extra="allow", frozen=True):
    """Files to write, relative to the pipeline file. Further keys are reports offered by plugins."""

    data: FileName | dict[Name, FileName] = Field(
        description="The masked data; the ending tells the file format. A name that ends in '/' is a folder of parts; "
        "it may be in an object store (s3://bucket/masked/). Of levels that have a file each: a file name for each "
        "level."
    )
    parts: Annotated[int, Field(ge=1)] | tuple[Name, ...] | None = Field(
        default=None,
        description="Of a folder: records of each part (1000000), or variables of whose published values its folders "
        "are made ([region]: region=12/part-1.parquet). Left out: the parts of the original.",
    )
    svrl: FileName | None = Field(
        default=None, description="Validation result as Schematron processors write it (.xml, .svrl); confidential."
    )
    edits: FileName | None = Field(
        default=None,
        description="The rules that hold in the published data (.sch: Schematron; .yaml). Left out: written beside the "
        "data, as NAME.edits.sch for XML and NAME.edits.yaml otherwise (NAME: that of the data without its ending), if "
        "a step suppresses cells or drops edits.",
    )
    report: FileName | None = Field(default=None, description="Report for reading (.html).")
    record: FileName | None = Field(
        default=None, description="Everything about the run (.json), with the seed and hashes: confidential."
    )
    public_record: FileName | None = Field(default=None, description="What may be published with the data (.json).")
    codebook: FileName | None = Field(
        default=None,
        description="Codebook of the masked data, in DDI Codebook 2.5 (.xml) or as a table (.csv): types, labels, "
        "categories and missing codes of what is published, and in words what was done.",
    )
    key_map: FileName | None = Field(
        default=None,
        description="Which original record each published one is (.csv): columns record and original_record, both "
        "counted from 1, and for each key with new values KEY and 'new KEY'. Confidential.",
    )
    format: Name | None = Field(
        default=None, description="Format of the masked data, when the file name does not tell: a source plugin's name."
    )
    formulas: Literal["keep", "escape"] = Field(
        default="keep",
        description="Texts that a spreadsheet would run as formulas, in files that spreadsheets open: 'keep' counts "
        "them, 'escape' puts an apostrophe before each, but where edits read them.",
    )
    numbers: Literal["as read", "canonical"] = Field(
        default="as read",
        description="'as read': columns that no step changed keep the text of their cells, and masked numbers the "
        "file's decimals; 'canonical': no zeros at the end, no exponent, no plus sign.",
    )


OUTPUT_SETTINGS = ("format", "formulas", "numbers", "parts")
"""Keys of the output section that name no file."""


class ExecutionSection(BaseModel, extra="forbid", frozen=True):
    """How the work is done. `block_size` changes results, and `engine` being there; the others never do."""

    workers: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="Blocks masked at the same time, or workers of an engine. Left out: where `block_size` cuts the "
        "file into blocks in memory, one for each processor given to the process; else 1. Compiled loops use these "
        "processors in any case. Errors are located (`on_input_violation: localize`) in so many processes; left out: "
        "one for each processor.",
    )
    block_size: int | None = Field(
        default=None,
        ge=2,
        description="Cut large files into blocks of about so many records; left out, all records together (exact).",
    )
    processes: bool = Field(
        default=False,
        strict=True,
        description="Mask the blocks in as many processes as there are workers, instead of threads: for methods in "
        "pure Python, which threads of one process run in turns. The results are the same.",
    )
    engine: Name | None = Field(
        default=None,
        description="Run in stages over parts of the data, for files larger than memory, and have their tasks done by "
        "an engine of this name: `local`, `processes`, `dask`. It may have further keys here. The results are the "
        "same for all engines. Left out: all data are in memory.",
    )
    scratch: FileName | None = Field(
        default=None,
        description="Folder for what an engine's tasks write on the way, which all workers see; it holds confidential "
        "data, for the owner only, and is emptied at the end. Left out: the folder of the masked data.",
    )
    memory_limit: MemorySize | None = Field(
        default=None,
        description="Memory that a run may need, such as 4GB, or each worker of an engine: a run that is expected to "
        "need more is refused before it begins. Left out: that of the machine, or what the process is given of it.",
    )
    plugin_seconds: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Seconds that one call of a plugin may take, built-in ones among them; a run that waits longer "
        "ends, and says for which plugin and step. Left out: each takes what it takes.",
    )

    @property
    def at_once(self) -> int:
        """Blocks masked at the same time, or workers of an engine."""
        if self.workers is not None:
            return self.workers
        return processors() if self.block_size is not None and self.engine is None else 1


class PluginsSection(BaseModel, extra="forbid", frozen=True):
    """Which packages may offer plugins to this pipeline."""

    allow: tuple[Name, ...] | None = Field(
        default=None,
        description="Names of packages whose plugins may be used; the others are not even imported. An empty list: "
        "built-in plugins only. Left out: all that are installed.",
    )


class Waiver(BaseModel, extra="forbid", frozen=True):
    """A doubt that does not stop the release."""

    doubt: str = Field(
        description="Name or id of the doubt: maskwright explain doubts lists them.",
        json_schema_extra={"enum": [*DOUBT_KINDS, *(kind.id for kind in DOUBT_KINDS.values())]},
    )
    variable: Names = Field(default=(), description="Variable, or list of variables, that the doubt is about.")
    edit: Names = Field(default=(), description="Edit, or list of edits, that the doubt is about.")
    step: Numbers = Field(default=(), description="Number of the step, or list of numbers, that the doubt is about.")
    measure: Names = Field(default=(), description="Label of the measure, or list of labels, that the doubt is about.")
    because: str = Field(min_length=1, description="Why it may be published all the same: it stands in the record.")

    @model_validator(mode="after")
    def _names_what_it_is_about(self) -> Waiver:
        kind = kind_called(self.doubt)
        if kind is None:
            return self
        given = [about for about in ("variable", "edit", "step", "measure") if getattr(self, about)]
        wanted = [] if kind.about == "file" else [kind.about]
        if given != wanted:
            way = f"about a {kind.about}: name it with '{kind.about}', and nothing else" if wanted else "named alone"
            raise ValueError(f"{kind.name} is {way}")
        if not self.because.strip(" ."):
            raise ValueError("'because' is empty: say why it may be published all the same")
        return self

    @property
    def kind(self) -> DoubtKind:
        """The kind of doubt that is waived."""
        found = kind_called(self.doubt)
        assert found is not None
        return found

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is about, as `Doubt.subject` has it."""
        return (*self.variable, *self.edit, *map(str, self.step), *self.measure) or ("",)

    def covers(self, doubt: Doubt) -> bool:
        """Whether it is this doubt that is waived."""
        return self.kind.name == doubt.kind and doubt.subject in self.subjects


def kind_called(name: str) -> DoubtKind | None:
    """Kind of doubt of that name or id; None where there is none."""
    return next((kind for kind in DOUBT_KINDS.values() if name in (kind.name, kind.id)), None)


class SingleSettings(BaseModel, extra="forbid", frozen=True):
    """The settings of a pipeline that are one value."""

    maskwright: Literal[1] = Field(description="Version of this file's format: 1.")
    on_input_violation: Literal["fail", "mask", "drop", "localize"] = Field(
        default="mask",
        description="Records that break an edit in the original data: 'fail' stops, 'mask' masks them with the rest, "
        "'drop' leaves them out, 'localize' first adjusts the smallest set of fields with which all edits can hold.",
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="The same seed gives the same bytes; left out, a fresh one is drawn. Secret: who guesses it can "
        "subtract the noise, and small numbers are guessed first.",
    )


class PipelineFile(SingleSettings, extra="forbid", frozen=True):
    """A Maskwright pipeline: which data, which edits, how to protect, what to measure, what to write."""

    data: DataSection
    edits: tuple[str | RuleEntry | dict[str, str], ...] = Field(
        default=(),
        description="What must hold in every released record: a rule as text, a rule with its name, or a rule file.",
    )
    protect: tuple[StepEntry, ...] = Field(min_length=1, description="Protection steps, in order.")
    measure: tuple[str | dict[str, Section | None], ...] = Field(
        default=(), description="Loss and risk measures: a name, or {name: {parameters, as: label}}."
    )
    thresholds: dict[Name, float] = Field(
        default_factory=dict,
        description="Bounds by measure label, or of a part by label.part; nothing is released on the wrong side (a "
        "measure's direction tells).",
    )
    waive: tuple[Waiver, ...] = Field(
        default=(),
        description="Doubts that do not stop the release, each by name and with a reason (maskwright explain doubts).",
    )
    checks: tuple[str | dict[str, Section | None], ...] = Field(
        default=(),
        description="Checks of the plan, before anything is masked: a name, or {name: {parameters}}. One may stop the "
        "run.",
    )
    release: ReleaseSection = Field(
        default_factory=ReleaseSection, description="In which order, and under which keys, the records are published."
    )
    disclosure: DisclosureSettings = Field(
        default_factory=DisclosureSettings,
        description="What is taken to be known of cells that are not shown, and which cells are suppressed for it.",
    )
    output: OutputSection
    sections: tuple[str | dict[str, Section | None], ...] = Field(
        default=(), description="Further sections of the report: a name, or {name: {parameters}}."
    )
    after: tuple[str | dict[str, Section | None], ...] = Field(
        default=(),
        description="What is done once everything is released: a name, or {name: {parameters}}.",
    )
    plugins: PluginsSection = Field(
        default_factory=PluginsSection, description="Which packages may offer plugins to this pipeline."
    )
    execution: ExecutionSection = Field(default_factory=ExecutionSection, description="How the work is done.")


def _twice(names: list[str]) -> str:
    return next(name for name in names if names.count(name) > 1)
