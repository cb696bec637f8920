"""The file of edits as models: what a file of rules may hold.

These models are the one source of truth: their fields are the keys that are read, and their descriptions feed the JSON
Schema and ``maskwright explain edits``.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from maskwright.edits.rule_language.rule_entry import Name, RuleEntry

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class IncludeEntry(BaseModel, extra="forbid", frozen=True):
    """The rules of another file, in this place."""

    include: Name = Field(description="YAML file of rules, relative to this file, inside the folder of the first file.")


class EditsFile(BaseModel, extra="forbid", frozen=True):
    """Rules with what they share."""

    aliases: dict[Name, Name] = Field(
        default_factory=dict,
        description="Names for variables, or for calculations with variables, in this file and the files it includes.",
    )
    include: Name | tuple[Name, ...] = Field(
        default=(), description="Files whose rules come before those of this file, relative to it."
    )
    edits: tuple[Name | RuleEntry | IncludeEntry, ...] = Field(
        default=(), description="Rules as text, rules with names, and further files."
    )
    model_config = ConfigDict(title="Edits")


FILE_KEYS = tuple(EditsFile.model_fields)


def edits_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a file of edits: a list of rules, or a mapping with the list under ``edits``."""
    whole = EditsFile.model_json_schema(ref_template="#/$defs/{model}")
    definitions = whole.pop("$defs")
    listed = whole["properties"]["edits"]
    return {
        "$schema": DIALECT,
        "title": "Maskwright edits",
        "anyOf": [{"type": "array", "minItems": 1, "items": listed["items"]}, {"$ref": "#/$defs/EditsFile"}],
        "$defs": dict(sorted({**definitions, "EditsFile": whole}.items())),
    }
