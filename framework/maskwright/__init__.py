"""Maskwright: statistical disclosure control that keeps edit constraints.

These are the public names, for users and for plugin authors.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maskwright.adjustment.projection import project as project
    from maskwright.aggregation import aggregate as aggregate
    from maskwright.api import localize as localize
    from maskwright.api import measure as measure
    from maskwright.api import protect as protect
    from maskwright.api import read as read
    from maskwright.api import read_edits as read_edits
    from maskwright.api import suggest as suggest
    from maskwright.api import validate as validate
    from maskwright.data.columns import Columns as Columns
    from maskwright.data.dataset import Column as Column
    from maskwright.data.dataset import Dataset as Dataset
    from maskwright.data.dataset import Layout as Layout
    from maskwright.data.number_text import read_numbers as read_numbers
    from maskwright.data.number_text import write_numbers as write_numbers
    from maskwright.data.variable import Variable as Variable
    from maskwright.edits.check import Outcome as Outcome
    from maskwright.edits.check import evaluate as evaluate
    from maskwright.edits.conversion.convert import convert_edits as convert_edits
    from maskwright.edits.edit import Edit as Edit
    from maskwright.edits.edit import EditSet as EditSet
    from maskwright.edits.edit import GoverningPart as GoverningPart
    from maskwright.edits.edit import LinearPart as LinearPart
    from maskwright.edits.edit import Part as Part
    from maskwright.edits.edit import ProductPart as ProductPart
    from maskwright.edits.edit import RangePart as RangePart
    from maskwright.errors import DataError as DataError
    from maskwright.errors import EditError as EditError
    from maskwright.errors import EditViolation as EditViolation
    from maskwright.errors import InputError as InputError
    from maskwright.errors import MaskwrightError as MaskwrightError
    from maskwright.errors import PipelineError as PipelineError
    from maskwright.errors import Place as Place
    from maskwright.errors import PluginError as PluginError
    from maskwright.errors import Problem as Problem
    from maskwright.errors import ReadAgain as ReadAgain
    from maskwright.errors import ReleaseRefused as ReleaseRefused
    from maskwright.errors import ThresholdMissed as ThresholdMissed
    from maskwright.errors import UnpairedRecords as UnpairedRecords
    from maskwright.experiments.compare import Compared as Compared
    from maskwright.experiments.compare import compare as compare
    from maskwright.experiments.tune import Tuned as Tuned
    from maskwright.experiments.tune import tune as tune
    from maskwright.localisation.localize import Localisation as Localisation
    from maskwright.pipeline_run import RunResult as RunResult
    from maskwright.pipeline_run import run as run
    from maskwright.plugins.block import Block as Block
    from maskwright.plugins.edit_reader import EditReader as EditReader
    from maskwright.plugins.hooks import hookimpl as hookimpl
    from maskwright.plugins.measure import Comparison as Comparison
    from maskwright.plugins.measure import Measure as Measure
    from maskwright.plugins.measure import Measurement as Measurement
    from maskwright.plugins.method import Masked as Masked
    from maskwright.plugins.method import Method as Method
    from maskwright.plugins.partition import NoParams as NoParams
    from maskwright.plugins.partition import Partition as Partition
    from maskwright.plugins.registry import find_measure as find_measure
    from maskwright.plugins.registry import find_partition as find_partition
    from maskwright.plugins.report import Report as Report
    from maskwright.plugins.source import Source as Source
    from maskwright.progress import Progress as Progress
    from maskwright.suggestions.model import Suggestions as Suggestions

__version__ = "0.1.0"

# Imported on first use: ``maskwright --help`` must not wait for pandas or numba.
_HOME = {
    "aggregate": "maskwright.aggregation",
    "Block": "maskwright.plugins.block",
    "Column": "maskwright.data.dataset",
    "Columns": "maskwright.data.columns",
    "compare": "maskwright.experiments.compare",
    "Compared": "maskwright.experiments.compare",
    "Comparison": "maskwright.plugins.measure",
    "DataError": "maskwright.errors",
    "Dataset": "maskwright.data.dataset",
    "Edit": "maskwright.edits.edit",
    "EditError": "maskwright.errors",
    "EditReader": "maskwright.plugins.edit_reader",
    "EditSet": "maskwright.edits.edit",
    "RangePart": "maskwright.edits.edit",
    "ProductPart": "maskwright.edits.edit",
    "Part": "maskwright.edits.edit",
    "LinearPart": "maskwright.edits.edit",
    "GoverningPart": "maskwright.edits.edit",
    "convert_edits": "maskwright.edits.conversion.convert",
    "EditViolation": "maskwright.errors",
    "evaluate": "maskwright.edits.check",
    "find_measure": "maskwright.plugins.registry",
    "find_partition": "maskwright.plugins.registry",
    "hookimpl": "maskwright.plugins.hooks",
    "InputError": "maskwright.errors",
    "Layout": "maskwright.data.dataset",
    "Localisation": "maskwright.localisation.localize",
    "localize": "maskwright.api",
    "Masked": "maskwright.plugins.method",
    "MaskwrightError": "maskwright.errors",
    "Measure": "maskwright.plugins.measure",
    "measure": "maskwright.api",
    "Measurement": "maskwright.plugins.measure",
    "Method": "maskwright.plugins.method",
    "NoParams": "maskwright.plugins.partition",
    "Outcome": "maskwright.edits.check",
    "Partition": "maskwright.plugins.partition",
    "PipelineError": "maskwright.errors",
    "Place": "maskwright.errors",
    "PluginError": "maskwright.errors",
    "Problem": "maskwright.errors",
    "Progress": "maskwright.progress",
    "project": "maskwright.adjustment.projection",
    "protect": "maskwright.api",
    "read": "maskwright.api",
    "read_edits": "maskwright.api",
    "read_numbers": "maskwright.data.number_text",
    "ReadAgain": "maskwright.errors",
    "ReleaseRefused": "maskwright.errors",
    "Report": "maskwright.plugins.report",
    "run": "maskwright.pipeline_run",
    "RunResult": "maskwright.pipeline_run",
    "Source": "maskwright.plugins.source",
    "suggest": "maskwright.api",
    "Suggestions": "maskwright.suggestions.model",
    "ThresholdMissed": "maskwright.errors",
    "tune": "maskwright.experiments.tune",
    "Tuned": "maskwright.experiments.tune",
    "UnpairedRecords": "maskwright.errors",
    "validate": "maskwright.api",
    "Variable": "maskwright.data.variable",
    "write_numbers": "maskwright.data.number_text",
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 - a test compares it with the imports above


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'maskwright' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
