"""The file of edits as models: what a rule and a file of rules may hold.

These models are the one source of truth: their fields are the keys that are read, and their descriptions feed the JSON
Schema and ``maskwright explain edits``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1)]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


class RuleEntry(BaseModel, extra="forbid", frozen=True):
    """One rule that every released record must obey."""

    rule: Name = Field(description="The rule as text, for instance: if V8 < 1115 then V13 <= V12")
    name: Name | None = Field(default=None, description="Name in reports; left out, edit-N.")
    label: str | None = Field(default=None, description="A few words for lists and reports: what the rule is about.")
    message: str | None = Field(default=None, description="What to tell a person about a record that breaks it.")
    severity: Literal["error", "warning"] = Field(default="error", description="Only errors stop a release.")
    tolerance: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="By how much the numbers that the rule compares may miss: = is abs(a - b) <= tolerance, a <= b is "
        "a <= b + tolerance; conditions after 'if' and 'when' are taken as written.",
    )
    when: Name | None = Field(
        default=None, description="Condition: the rule is for records that obey it; it fires on no others."
    )


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


RULE_KEYS = tuple(RuleEntry.model_fields)
FILE_KEYS = tuple(EditsFile.model_fields)
SEVERITIES: tuple[str, ...] = get_args(RuleEntry.model_fields["severity"].annotation)


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
