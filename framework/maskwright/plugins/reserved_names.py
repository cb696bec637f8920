"""Names that the pipeline's own keys would hide: a plugin, or a parameter of one, that could never be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.plugins.aggregation import Aggregation
from maskwright.plugins.command import Command
from maskwright.plugins.constraint_kind import ConstraintKind
from maskwright.plugins.edit_reader import EditReader
from maskwright.plugins.engine import Engine
from maskwright.plugins.report import Report
from maskwright.plugins.source import Source

if TYPE_CHECKING:
    from collections.abc import Collection

STEP_PARAMETERS = frozenset(
    {
        "adjustment_weights", "aggregation", "allow_original_values", "group_size", "grouping", "k_guarantee",
        "missing", "release_edits", "rare", "structural_zeros", "totals",
    }
)  # fmt: skip
"""Parameters of every step, which the planner reads."""
DATA_KEYS = frozenset({"cluster", "codebook", "format", "levels", "missing", "source", "variables"})
OUTPUT_KEYS = frozenset(
    {
        "codebook",
        "data",
        "edits",
        "format",
        "formulas",
        "key_map",
        "numbers",
        "parts",
        "public_record",
        "record",
        "svrl",
    }
)
EXECUTION_KEYS = frozenset({"block_size", "engine", "plugin_seconds", "processes", "scratch", "workers"})
OPERATORS = frozenset({"geometric_mean", "lower_median", "mean", "mode"})
"""How the plan aggregates variables by itself."""
RULE_FUNCTIONS = frozenset(
    {
        "abs", "age_at", "all", "and", "any", "ceiling", "count", "day", "else", "first", "floor", "hour", "if", "in",
        "inf", "integer", "is", "max", "min", "missing", "mod", "month", "no", "not", "number", "one", "or", "original",
        "quarter", "round", "sum", "then", "unique", "year",
    }
)  # fmt: skip
"""Functions of the language of rules, and its words."""
RULE_KEYS = frozenset({"rule"})
RULE_FILE_KEYS = frozenset({"file"})
COMMANDS = frozenset(
    {
        "advise", "compare", "completion", "demo", "describe", "edits", "explain", "init", "localize",
        "measure", "plan", "plugins", "run", "schema", "tune", "validate",
    }
)  # fmt: skip
"""Commands that come with Maskwright."""
COMMAND_OPTIONS = frozenset({"h", "help", "traceback"})
"""Options of every command."""


def reserved_name_error(kind: str, plugin: object) -> str | None:
    """Say in one sentence which name of a plugin the pipeline's own keys would hide; None: none.

    `plugin`: a record of that kind.
    """
    match plugin:
        case Aggregation() | ConstraintKind():
            wrong = _word_error(plugin)
        case Report():
            wrong = _name_error("a report", plugin.name, OUTPUT_KEYS, "output")
        case Source():
            wrong = _fields_error("an option", plugin.params, DATA_KEYS, "the `data:` section has it itself")
        case Engine():
            why = "the `execution:` section has it itself"
            wrong = _fields_error("a parameter", plugin.params, EXECUTION_KEYS, why)
        case EditReader():
            wrong = _name_error("an edit reader", plugin.name, RULE_KEYS, "edits")
            wrong = wrong or _fields_error("an option", plugin.params, RULE_FILE_KEYS, "it names the file of rules")
        case Command():
            taken = f"a command cannot be called {plugin.name!r}: Maskwright has one of this name, which would be run"
            wrong = taken if plugin.name in COMMANDS else None
            wrong = wrong or _fields_error("an option", plugin.params, COMMAND_OPTIONS, "every command has it")
        case _ if kind == "method":
            params = getattr(plugin, "params", None)
            wrong = _fields_error("a parameter", params, STEP_PARAMETERS, "the planner reads it")
        case _:
            wrong = None
    return wrong


def _word_error(plugin: Aggregation | ConstraintKind) -> str | None:
    if isinstance(plugin, Aggregation):
        what, why = "an aggregation", "the plan itself has one of this name" if plugin.name in OPERATORS else None
    else:
        what, why = "a kind of constraint", "rules have this word" if plugin.name in RULE_FUNCTIONS else None
    return None if why is None else f"{what} cannot be called {plugin.name!r}: {why}"


def _name_error(what: str, name: str, keys: Collection[str], section: str) -> str | None:
    if name not in keys:
        return None
    return f"{what} cannot be called {name!r}: the `{section}:` section of pipelines has a key of this name"


def _fields_error(what: str, params: object, keys: Collection[str], why: str) -> str | None:
    taken = sorted(set(getattr(params, "model_fields", ())) & set(keys))
    return f"{what} cannot be called {taken[0]!r}: {why}, and the plugin would never see it" if taken else None
