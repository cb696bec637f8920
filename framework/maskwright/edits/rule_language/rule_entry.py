"""One rule as a model: the keys that are read, described for the JSON Schema and ``maskwright explain edits``."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, Field

Name = Annotated[str, Field(min_length=1)]


class RuleEntry(BaseModel, extra="forbid", frozen=True):
    """One rule that every released record must obey."""

    rule: Name = Field(description="The rule as text, for instance: if V8 < 1115 then V13 <= V12")
    name: Name | None = Field(default=None, description="Name in reports; left out, edit-N.")
    label: str | None = Field(default=None, description="A few words for lists and reports: what the rule is about.")
    message: str | None = Field(default=None, description="The message for a record that breaks it.")
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


RULE_KEYS = tuple(RuleEntry.model_fields)
SEVERITIES: tuple[str, ...] = get_args(RuleEntry.model_fields["severity"].annotation)
