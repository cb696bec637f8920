"""The experiment file: its models, and their JSON Schema."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from maskwright.pipeline.declared_lists import Name
from maskwright.pipeline.file_model import FileName, Section
from maskwright.pipeline.file_schema import DIALECT, untitled

MOST_CELLS = 100_000


class Span(BaseModel, extra="forbid", frozen=True):
    """Values from one number to another."""

    from_: float = Field(alias="from", allow_inf_nan=False, description="First value.")
    to: float = Field(allow_inf_nan=False, description="Last value, included when a whole number of steps reaches it.")
    step: float = Field(default=1, gt=0, allow_inf_nan=False, description="Distance between values; 1 unless given.")

    @model_validator(mode="after")
    def _is_not_endless(self) -> Span:
        if (self.to - self.from_) / self.step > MOST_CELLS:
            raise ValueError(f"that is more than {MOST_CELLS} values")
        return self

    def values(self) -> tuple[int | float, ...]:
        """All values, in decimal arithmetic: 0.1, 0.2, 0.3."""
        start, stop, step = (Decimal(repr(each)) for each in (self.from_, self.to, self.step))
        count = int((stop - start) / step) + 1 if stop >= start else 0
        found = [start + step * number for number in range(count)]
        return tuple(int(value) if value == value.to_integral_value() else float(value) for value in found)

    @property
    def is_whole(self) -> bool:
        """Whether all its values are whole numbers."""
        return all(each == int(each) for each in (self.from_, self.to, self.step))


class Family(BaseModel, extra="forbid", frozen=True):
    """A pipeline and the settings in it that vary: one cell for each combination of their values."""

    family: Name | None = Field(default=None, description="Its name in the table; left out, that of its method.")
    protect: tuple[Section, ...] | None = Field(
        default=None, min_length=1, description="Protection steps as in a pipeline; or give one step as method, params."
    )
    method: Name | None = Field(default=None, description="Method of the only step.")
    variables: tuple[Name, ...] | None = Field(default=None, description="Variables that the only step masks.")
    groups: tuple[tuple[Name, ...], ...] | None = Field(default=None, description="Groups of the only step.")
    params: Section | None = Field(default=None, description="Parameters of the only step that do not vary.")
    vary: dict[Name, Span | tuple[object, ...]] = Field(
        default_factory=dict,
        description="Parameters that vary: a list of values, or {from, to, step}. A name is a parameter of the only "
        "step; with dots it is a path into the steps: 0.params.k, 1.groups. k: 1 leaves the step out (the identity).",
    )
    edits: tuple[Name, ...] | None = Field(
        default=None, min_length=1, description="Names of the edit sets to run it under; left out, all of them."
    )
    repeats: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="Runs of each cell that draws random numbers, instead of the experiment's."
    )


class MapSection(BaseModel, extra="forbid", frozen=True):
    """Axes of the risk-utility map: labels of measures, or of their parts, as in mg.ERD."""

    risk: Name | None = Field(default=None, description="Horizontal axis; left out, the first measure of risk.")
    loss: Name | None = Field(default=None, description="Vertical axis; left out, the first measure of loss.")


class TuneSection(BaseModel, extra="forbid", frozen=True):
    """What `maskwright tune` looks for: the smallest value of a measure, within bounds of others."""

    minimise: Name | None = Field(
        default=None, description="Measure or part to make small; left out, the score, else the loss of the map."
    )
    thresholds: dict[Name, Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="Bounds of other measures or parts, for instance of a risk, as in a pipeline: largest values or, "
        "where larger is better, smallest.",
    )
    trials: int = Field(default=50, ge=1, le=100_000, description="Settings to try beyond the grid's.")
    seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="Stop after so long, earlier.")


class ExperimentExecution(BaseModel, extra="forbid", frozen=True):
    """How the work is done; it never changes a result."""

    workers: int | None = Field(
        default=None, ge=1, le=1024, description="Processes; left out, one for each processor that may be used."
    )


class ExperimentSettings(BaseModel, extra="forbid", frozen=True):
    """The settings of an experiment that are of no plugin."""

    maskwright: Literal[1] = Field(description="Version of this file's format: 1.")
    on_input_violation: Literal["fail", "mask", "drop", "localize"] = Field(
        default="mask", description="As in a pipeline."
    )
    grid: tuple[Family, ...] = Field(min_length=1, description="Families of pipelines to compare.")
    repeats: int = Field(
        default=1, ge=1, le=10_000, description="Runs of each cell that draws random numbers; the table has them all."
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="The same seed gives the same table. Left out, one is drawn and kept with the cache.",
    )
    score: Name | None = Field(
        default=None, description="Measure that says which cell is best; left out, the first score that is measured."
    )
    map: MapSection = Field(default_factory=MapSection, description="Axes of the risk-utility map.")
    tune: TuneSection = Field(default_factory=TuneSection, description="For `maskwright tune`.")
    output: FileName | None = Field(
        default=None, description="Folder for table, map and pipelines; left out, the file's name and -results."
    )
    execution: ExperimentExecution = Field(default_factory=ExperimentExecution, description="How the work is done.")


class ExperimentFile(ExperimentSettings, extra="forbid", frozen=True):
    """A Maskwright experiment: pipelines that differ in methods, parameters and edits, and how they are compared."""

    data: Section = Field(description="The microdata, as in a pipeline.")
    edits: tuple[object, ...] = Field(default=(), description="Edits of every cell, as in a pipeline.")
    edit_sets: dict[Name, tuple[object, ...]] = Field(
        default_factory=dict,
        description="Named sets of edits, each in the place of `edits`: every family runs under each of them.",
    )
    measure: tuple[str | dict[str, Section | None], ...] = Field(
        min_length=1, description="Loss and risk measures, as in a pipeline."
    )


PIPELINE = "pipeline.schema.json#/properties"
"""The file beside it, as ``maskwright schema`` prints it."""


def experiment_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the experiment file."""
    schema: dict[str, Any] = untitled(ExperimentFile.model_json_schema(ref_template="#/$defs/{model}", by_alias=True))
    properties, definitions = schema["properties"], schema["$defs"]
    edits = {"$ref": f"{PIPELINE}/edits"}
    properties |= {
        "data": {"$ref": f"{PIPELINE}/data"},
        "edits": edits,
        "edit_sets": properties["edit_sets"] | {"additionalProperties": edits},
        "measure": {"$ref": f"{PIPELINE}/measure", "minItems": 1},
    }
    method = {"$ref": f"{PIPELINE}/protect/items/properties/method"}
    family = definitions["Family"]["properties"]
    family["method"] = method
    # A parameter that varies may be missing here, so that steps are not held to the pipeline's own schema.
    step = {
        "type": "object",
        "required": ["method"],
        "additionalProperties": False,
        "properties": {"method": method, **{key: {} for key in ("variables", "groups", "params")}},
    }
    family["protect"] = {"type": "array", "minItems": 1, "items": step, "description": family["protect"]["description"]}
    return {"$schema": DIALECT, "title": "Maskwright experiment", **schema}
