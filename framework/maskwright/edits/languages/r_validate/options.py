"""Options of reading rule files of the R package validate."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ValidateOptions(BaseModel, extra="forbid", frozen=True):
    """Options of rule files of the R package validate, in a pipeline or on the command line."""

    allow_unread: tuple[str, ...] = Field(
        default=(),
        description="Names of rules that are left out where they are not understood. Without it, such a rule stops the "
        "run, or fails the command that shows what the others say.",
    )
