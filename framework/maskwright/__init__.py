"""Maskwright: statistical disclosure control that keeps edit constraints.

The public names, for users and for plugin authors, are those of the stub ``__init__.pyi``.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maskwright.commands.describe_data import Description as Description
    from maskwright.commands.describe_data import describe as describe
    from maskwright.commands.edits import suggest as suggest
    from maskwright.commands.input_data import analyse_edits as analyse_edits
    from maskwright.commands.input_data import linked_data as linked_data
    from maskwright.commands.input_data import pipeline_data as pipeline_data
    from maskwright.commands.input_data import pipeline_edits as pipeline_edits
    from maskwright.commands.input_data import pipeline_linked_data as pipeline_linked_data
    from maskwright.commands.localize import localize as localize
    from maskwright.commands.measure import measure as measure
    from maskwright.commands.plan import plan as plan
    from maskwright.commands.plan import plan_pipeline as plan_pipeline
    from maskwright.commands.protect import iterations as iterations
    from maskwright.commands.protect import protect as protect
    from maskwright.commands.reading import read as read
    from maskwright.commands.reading import read_codebook as read_codebook
    from maskwright.commands.reading import read_edits as read_edits
    from maskwright.commands.run import RunResult as RunResult
    from maskwright.commands.run import run as run
    from maskwright.commands.validate import validate as validate
    from maskwright.commands.validate import validate_document as validate_document
    from maskwright.data.dataset import Column as Column
    from maskwright.data.dataset import Dataset as Dataset
    from maskwright.data.dataset import Layout as Layout
    from maskwright.data.dataset import WrittenBatch as WrittenBatch
    from maskwright.data.date_texts import read_dates as read_dates
    from maskwright.data.date_texts import write_dates as write_dates
    from maskwright.data.dates import completed_years as completed_years
    from maskwright.data.dates import first_of as first_of
    from maskwright.data.dates import year_month_day as year_month_day
    from maskwright.data.declaration import VariableDeclaration as VariableDeclaration
    from maskwright.data.hierarchies.declaration import HierarchyDeclaration as HierarchyDeclaration
    from maskwright.data.hierarchies.hierarchy import CategoryHierarchy as CategoryHierarchy
    from maskwright.data.hierarchies.hierarchy import CategoryLevel as CategoryLevel
    from maskwright.data.hierarchies.hierarchy import IntervalHierarchy as IntervalHierarchy
    from maskwright.data.hierarchies.hierarchy import IntervalLevel as IntervalLevel
    from maskwright.data.levels.linked_data import Level as Level
    from maskwright.data.levels.linked_data import LevelDeclaration as LevelDeclaration
    from maskwright.data.levels.linked_data import LinkedData as LinkedData
    from maskwright.data.levels.linked_data import NestedDocument as NestedDocument
    from maskwright.data.levels.linked_data import NestedElements as NestedElements
    from maskwright.data.missing import MissingCells as MissingCells
    from maskwright.data.notations import NumberNotation as NumberNotation
    from maskwright.data.number_text import read_numbers as read_numbers
    from maskwright.data.number_text import write_numbers as write_numbers
    from maskwright.data.record_chunk import RecordChunk as RecordChunk
    from maskwright.data.sketches.exact_sums import ExactMoments as ExactMoments
    from maskwright.data.sketches.record_hashes import class_hashes as class_hashes
    from maskwright.data.sketches.record_hashes import record_hashes as record_hashes
    from maskwright.data.sketches.record_hashes import sampled as sampled
    from maskwright.data.variable import Band as Band
    from maskwright.data.variable import Hierarchy as Hierarchy
    from maskwright.data.variable import Variable as Variable
    from maskwright.edits.completion import Completion as Completion
    from maskwright.edits.edit import Edit as Edit
    from maskwright.edits.edit import GoverningPart as GoverningPart
    from maskwright.edits.edit import LinearPart as LinearPart
    from maskwright.edits.edit import Part as Part
    from maskwright.edits.edit import ProductPart as ProductPart
    from maskwright.edits.edit import RangePart as RangePart
    from maskwright.edits.edit_set import EditSet as EditSet
    from maskwright.edits.evaluation.check import Outcome as Outcome
    from maskwright.edits.evaluation.check import evaluate as evaluate
    from maskwright.edits.languages.conversion.convert import convert_edits as convert_edits
    from maskwright.edits.languages.conversion.converted import Converted as Converted
    from maskwright.edits.localisation.localize import Localisation as Localisation
    from maskwright.edits.suggestions.model import Suggestions as Suggestions
    from maskwright.edits.whole_documents.document import DocumentOutcome as DocumentOutcome
    from maskwright.experiments.compare import compare as compare
    from maskwright.experiments.results import Compared as Compared
    from maskwright.experiments.tune import Tuned as Tuned
    from maskwright.experiments.tune import tune as tune
    from maskwright.foundation.doubts import Doubt as Doubt
    from maskwright.foundation.errors import DataError as DataError
    from maskwright.foundation.errors import EditError as EditError
    from maskwright.foundation.errors import EvaluationsDisagree as EvaluationsDisagree
    from maskwright.foundation.errors import InputError as InputError
    from maskwright.foundation.errors import MaskwrightError as MaskwrightError
    from maskwright.foundation.errors import NoRecords as NoRecords
    from maskwright.foundation.errors import PipelineError as PipelineError
    from maskwright.foundation.errors import Place as Place
    from maskwright.foundation.errors import PluginError as PluginError
    from maskwright.foundation.errors import PluginFailed as PluginFailed
    from maskwright.foundation.errors import Problem as Problem
    from maskwright.foundation.errors import ReadAgain as ReadAgain
    from maskwright.foundation.errors import StepNotDone as StepNotDone
    from maskwright.foundation.errors import UnpairedRecords as UnpairedRecords
    from maskwright.foundation.errors import WrittenOtherwise as WrittenOtherwise
    from maskwright.foundation.kernel_cache import kernel_cache as kernel_cache
    from maskwright.foundation.processes.resources import give_back_memory as give_back_memory
    from maskwright.foundation.processes.resources import processors as processors
    from maskwright.foundation.progress import Caution as Caution
    from maskwright.foundation.progress import Progress as Progress
    from maskwright.foundation.release_outcomes import EditViolation as EditViolation
    from maskwright.foundation.release_outcomes import OpenDoubts as OpenDoubts
    from maskwright.foundation.release_outcomes import PlanRefused as PlanRefused
    from maskwright.foundation.release_outcomes import ReleaseRefused as ReleaseRefused
    from maskwright.foundation.release_outcomes import ThresholdMissed as ThresholdMissed
    from maskwright.foundation.xml_syntax import marked_encoding as marked_encoding
    from maskwright.foundation.xml_syntax import xml_problem as xml_problem
    from maskwright.foundation.yaml_models import Formerly as Formerly
    from maskwright.foundation.yaml_models import MemorySize as MemorySize
    from maskwright.masking.adjusting.projection import project as project
    from maskwright.masking.aggregation import aggregate as aggregate
    from maskwright.pipeline.file_schema import pipeline_schema as pipeline_schema
    from maskwright.pipeline.reading import pipeline_problems as pipeline_problems
    from maskwright.pipeline.reading import read_settings as read_settings
    from maskwright.planning.plan import Plan as Plan
    from maskwright.plugins.block import Block as Block
    from maskwright.plugins.block import Gathering as Gathering
    from maskwright.plugins.block import Moments as Moments
    from maskwright.plugins.block import uniform_by_record as uniform_by_record
    from maskwright.plugins.engine import Engine as Engine
    from maskwright.plugins.engine import EngineLost as EngineLost
    from maskwright.plugins.engine import EngineTerms as EngineTerms
    from maskwright.plugins.engine import MemoryFull as MemoryFull
    from maskwright.plugins.engine import Receipt as Receipt
    from maskwright.plugins.engine import ScratchFull as ScratchFull
    from maskwright.plugins.engine import Stage as Stage
    from maskwright.plugins.engine import TaskFailed as TaskFailed
    from maskwright.plugins.engine import Workers as Workers
    from maskwright.plugins.hooks import hookimpl as hookimpl
    from maskwright.plugins.measure import Comparison as Comparison
    from maskwright.plugins.measure import Measurable as Measurable
    from maskwright.plugins.measure import Measure as Measure
    from maskwright.plugins.measure import MeasurePart as MeasurePart
    from maskwright.plugins.measurement import ComparedLevels as ComparedLevels
    from maskwright.plugins.measurement import Further as Further
    from maskwright.plugins.measurement import Measurement as Measurement
    from maskwright.plugins.measurement import MeasureTable as MeasureTable
    from maskwright.plugins.measurement import Merging as Merging
    from maskwright.plugins.measurement import PartOfFile as PartOfFile
    from maskwright.plugins.method import Iteration as Iteration
    from maskwright.plugins.method import Limit as Limit
    from maskwright.plugins.method import Masked as Masked
    from maskwright.plugins.method import Method as Method
    from maskwright.plugins.parameter_markers import CompanionVariables as CompanionVariables
    from maskwright.plugins.parameter_markers import DependentVariables as DependentVariables
    from maskwright.plugins.parameter_markers import IndependentVariables as IndependentVariables
    from maskwright.plugins.parameter_markers import KeyVariables as KeyVariables
    from maskwright.plugins.parameter_markers import NamesFile as NamesFile
    from maskwright.plugins.parameter_markers import NamesPartition as NamesPartition
    from maskwright.plugins.parameter_markers import NamesVariables as NamesVariables
    from maskwright.plugins.parameter_markers import PromisesK as PromisesK
    from maskwright.plugins.parameter_markers import UsesWeights as UsesWeights
    from maskwright.plugins.partition import Aggregation as Aggregation
    from maskwright.plugins.partition import ChosenAggregation as ChosenAggregation
    from maskwright.plugins.partition import ClusterCells as ClusterCells
    from maskwright.plugins.partition import NoParams as NoParams
    from maskwright.plugins.partition import Partition as Partition
    from maskwright.plugins.registry import find_measure as find_measure
    from maskwright.plugins.registry import find_method as find_method
    from maskwright.plugins.registry import find_partition as find_partition
    from maskwright.plugins.remover import Removed as Removed
    from maskwright.plugins.remover import Remover as Remover
    from maskwright.plugins.report import Bars as Bars
    from maskwright.plugins.report import Report as Report
    from maskwright.plugins.report import ReportSection as ReportSection
    from maskwright.plugins.report import SectionContent as SectionContent
    from maskwright.plugins.rules import ConstraintKind as ConstraintKind
    from maskwright.plugins.rules import EditReader as EditReader
    from maskwright.plugins.rules import MovableRows as MovableRows
    from maskwright.plugins.rules import RulesFor as RulesFor
    from maskwright.plugins.rules import RuleWriter as RuleWriter
    from maskwright.plugins.run_extensions import Action as Action
    from maskwright.plugins.run_extensions import Command as Command
    from maskwright.plugins.run_extensions import PlanCheck as PlanCheck
    from maskwright.plugins.run_extensions import PlanFinding as PlanFinding
    from maskwright.plugins.run_extensions import Positional as Positional
    from maskwright.plugins.source import FormatFacts as FormatFacts
    from maskwright.plugins.source import Source as Source
    from maskwright.plugins.task import perform as perform
    from maskwright.plugins.task import receipt_of as receipt_of
    from maskwright.plugins.task import several_tries as several_tries
    from maskwright.release import wording as wording
    from maskwright.release.record.measure_record import MeasureRecord as MeasureRecord
    from maskwright.release.record.measure_record import TableRecord as TableRecord
    from maskwright.release.record.run_record import RunRecord as RunRecord
    from maskwright.release.record.run_record import SectionRecord as SectionRecord

__version__ = "0.1.0"

# Imported on first use: ``maskwright --help`` must not wait for pandas or numba.
_HOME = {
    "aggregate": "maskwright.masking.aggregation",
    "Aggregation": "maskwright.plugins.partition",
    "ChosenAggregation": "maskwright.plugins.partition",
    "ClusterCells": "maskwright.plugins.partition",
    "ConstraintKind": "maskwright.plugins.rules",
    "MovableRows": "maskwright.plugins.rules",
    "Band": "maskwright.data.variable",
    "CategoryHierarchy": "maskwright.data.hierarchies.hierarchy",
    "CategoryLevel": "maskwright.data.hierarchies.hierarchy",
    "Hierarchy": "maskwright.data.variable",
    "HierarchyDeclaration": "maskwright.data.hierarchies.declaration",
    "IntervalHierarchy": "maskwright.data.hierarchies.hierarchy",
    "IntervalLevel": "maskwright.data.hierarchies.hierarchy",
    "Block": "maskwright.plugins.block",
    "Column": "maskwright.data.dataset",
    "RecordChunk": "maskwright.data.record_chunk",
    "Caution": "maskwright.foundation.progress",
    "compare": "maskwright.experiments.compare",
    "Compared": "maskwright.experiments.results",
    "CompanionVariables": "maskwright.plugins.parameter_markers",
    "ComparedLevels": "maskwright.plugins.measurement",
    "Comparison": "maskwright.plugins.measure",
    "Completion": "maskwright.edits.completion",
    "DataError": "maskwright.foundation.errors",
    "Dataset": "maskwright.data.dataset",
    "DependentVariables": "maskwright.plugins.parameter_markers",
    "describe": "maskwright.commands.describe_data",
    "Description": "maskwright.commands.describe_data",
    "DocumentOutcome": "maskwright.edits.whole_documents.document",
    "Doubt": "maskwright.foundation.doubts",
    "Edit": "maskwright.edits.edit",
    "EditError": "maskwright.foundation.errors",
    "EditReader": "maskwright.plugins.rules",
    "EditSet": "maskwright.edits.edit_set",
    "RangePart": "maskwright.edits.edit",
    "ProductPart": "maskwright.edits.edit",
    "Part": "maskwright.edits.edit",
    "LinearPart": "maskwright.edits.edit",
    "GoverningPart": "maskwright.edits.edit",
    "PlanRefused": "maskwright.foundation.release_outcomes",
    "Action": "maskwright.plugins.run_extensions",
    "Command": "maskwright.plugins.run_extensions",
    "Positional": "maskwright.plugins.run_extensions",
    "PlanCheck": "maskwright.plugins.run_extensions",
    "PlanFinding": "maskwright.plugins.run_extensions",
    "ReportSection": "maskwright.plugins.report",
    "SectionContent": "maskwright.plugins.report",
    "Bars": "maskwright.plugins.report",
    "RuleWriter": "maskwright.plugins.rules",
    "RulesFor": "maskwright.plugins.rules",
    "Converted": "maskwright.edits.languages.conversion.converted",
    "SectionRecord": "maskwright.release.record.run_record",
    "convert_edits": "maskwright.edits.languages.conversion.convert",
    "Engine": "maskwright.plugins.engine",
    "EngineLost": "maskwright.plugins.engine",
    "EngineTerms": "maskwright.plugins.engine",
    "Receipt": "maskwright.plugins.engine",
    "ScratchFull": "maskwright.plugins.engine",
    "MemoryFull": "maskwright.plugins.engine",
    "Stage": "maskwright.plugins.engine",
    "StepNotDone": "maskwright.foundation.errors",
    "TaskFailed": "maskwright.plugins.engine",
    "Workers": "maskwright.plugins.engine",
    "MemorySize": "maskwright.foundation.yaml_models",
    "several_tries": "maskwright.plugins.task",
    "perform": "maskwright.plugins.task",
    "receipt_of": "maskwright.plugins.task",
    "EditViolation": "maskwright.foundation.release_outcomes",
    "evaluate": "maskwright.edits.evaluation.check",
    "find_method": "maskwright.plugins.registry",
    "find_measure": "maskwright.plugins.registry",
    "find_partition": "maskwright.plugins.registry",
    "FormatFacts": "maskwright.plugins.source",
    "NestedDocument": "maskwright.data.levels.linked_data",
    "NestedElements": "maskwright.data.levels.linked_data",
    "Formerly": "maskwright.foundation.yaml_models",
    "hookimpl": "maskwright.plugins.hooks",
    "IndependentVariables": "maskwright.plugins.parameter_markers",
    "InputError": "maskwright.foundation.errors",
    "Iteration": "maskwright.plugins.method",
    "iterations": "maskwright.commands.protect",
    "KeyVariables": "maskwright.plugins.parameter_markers",
    "Layout": "maskwright.data.dataset",
    "Level": "maskwright.data.levels.linked_data",
    "LevelDeclaration": "maskwright.data.levels.linked_data",
    "Limit": "maskwright.plugins.method",
    "linked_data": "maskwright.commands.input_data",
    "LinkedData": "maskwright.data.levels.linked_data",
    "Localisation": "maskwright.edits.localisation.localize",
    "localize": "maskwright.commands.localize",
    "Masked": "maskwright.plugins.method",
    "EvaluationsDisagree": "maskwright.foundation.errors",
    "MaskwrightError": "maskwright.foundation.errors",
    "marked_encoding": "maskwright.foundation.xml_syntax",
    "xml_problem": "maskwright.foundation.xml_syntax",
    "NoRecords": "maskwright.foundation.errors",
    "Measure": "maskwright.plugins.measure",
    "measure": "maskwright.commands.measure",
    "Measurable": "maskwright.plugins.measure",
    "Measurement": "maskwright.plugins.measurement",
    "Merging": "maskwright.plugins.measurement",
    "Further": "maskwright.plugins.measurement",
    "Gathering": "maskwright.plugins.block",
    "PartOfFile": "maskwright.plugins.measurement",
    "class_hashes": "maskwright.data.sketches.record_hashes",
    "ExactMoments": "maskwright.data.sketches.exact_sums",
    "record_hashes": "maskwright.data.sketches.record_hashes",
    "sampled": "maskwright.data.sketches.record_hashes",
    "MeasurePart": "maskwright.plugins.measure",
    "MeasureTable": "maskwright.plugins.measurement",
    "Moments": "maskwright.plugins.block",
    "MeasureRecord": "maskwright.release.record.measure_record",
    "Method": "maskwright.plugins.method",
    "NamesFile": "maskwright.plugins.parameter_markers",
    "NamesPartition": "maskwright.plugins.parameter_markers",
    "NamesVariables": "maskwright.plugins.parameter_markers",
    "NoParams": "maskwright.plugins.partition",
    "Outcome": "maskwright.edits.evaluation.check",
    "OpenDoubts": "maskwright.foundation.release_outcomes",
    "Partition": "maskwright.plugins.partition",
    "PipelineError": "maskwright.foundation.errors",
    "analyse_edits": "maskwright.commands.input_data",
    "pipeline_data": "maskwright.commands.input_data",
    "pipeline_linked_data": "maskwright.commands.input_data",
    "pipeline_edits": "maskwright.commands.input_data",
    "plan": "maskwright.commands.plan",
    "plan_pipeline": "maskwright.commands.plan",
    "pipeline_schema": "maskwright.pipeline.file_schema",
    "pipeline_problems": "maskwright.pipeline.reading",
    "read_settings": "maskwright.pipeline.reading",
    "Plan": "maskwright.planning.plan",
    "Place": "maskwright.foundation.errors",
    "PluginError": "maskwright.foundation.errors",
    "PluginFailed": "maskwright.foundation.errors",
    "Problem": "maskwright.foundation.errors",
    "Progress": "maskwright.foundation.progress",
    "PromisesK": "maskwright.plugins.parameter_markers",
    "project": "maskwright.masking.adjusting.projection",
    "protect": "maskwright.commands.protect",
    "read": "maskwright.commands.reading",
    "read_codebook": "maskwright.commands.reading",
    "read_edits": "maskwright.commands.reading",
    "read_numbers": "maskwright.data.number_text",
    "ReadAgain": "maskwright.foundation.errors",
    "ReleaseRefused": "maskwright.foundation.release_outcomes",
    "Removed": "maskwright.plugins.remover",
    "Remover": "maskwright.plugins.remover",
    "Report": "maskwright.plugins.report",
    "run": "maskwright.commands.run",
    "RunRecord": "maskwright.release.record.run_record",
    "RunResult": "maskwright.commands.run",
    "Source": "maskwright.plugins.source",
    "suggest": "maskwright.commands.edits",
    "Suggestions": "maskwright.edits.suggestions.model",
    "ThresholdMissed": "maskwright.foundation.release_outcomes",
    "tune": "maskwright.experiments.tune",
    "Tuned": "maskwright.experiments.tune",
    "UnpairedRecords": "maskwright.foundation.errors",
    "validate": "maskwright.commands.validate",
    "validate_document": "maskwright.commands.validate",
    "UsesWeights": "maskwright.plugins.parameter_markers",
    "TableRecord": "maskwright.release.record.measure_record",
    "Variable": "maskwright.data.variable",
    "wording": "maskwright.release",
    "MissingCells": "maskwright.data.missing",
    "NumberNotation": "maskwright.data.notations",
    "VariableDeclaration": "maskwright.data.declaration",
    "WrittenBatch": "maskwright.data.dataset",
    "WrittenOtherwise": "maskwright.foundation.errors",
    "write_numbers": "maskwright.data.number_text",
    "read_dates": "maskwright.data.date_texts",
    "write_dates": "maskwright.data.date_texts",
    "year_month_day": "maskwright.data.dates",
    "completed_years": "maskwright.data.dates",
    "first_of": "maskwright.data.dates",
    "processors": "maskwright.foundation.processes.resources",
    "give_back_memory": "maskwright.foundation.processes.resources",
    "kernel_cache": "maskwright.foundation.kernel_cache",
    "uniform_by_record": "maskwright.plugins.block",
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 - those of the stub


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'maskwright' has no attribute {name!r}")
    home = importlib.import_module(_HOME[name])
    return home if _HOME[name] == f"maskwright.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return __all__
