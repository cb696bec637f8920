"""What a person may choose when a whole document is checked: of the schema, and limits of the engine."""

from __future__ import annotations

from pydantic import Field

from maskwright.edits.languages.schematron.options import SchematronOptions


class DocumentOptions(SchematronOptions, extra="forbid", frozen=True):
    """Options of the schema, and limits of the engine."""

    max_seconds: int | None = Field(
        default=None,
        ge=1,
        description="Longest time the engine may take. Left out: two minutes, and 12 seconds more for each MB.",
    )
    max_memory: int | None = Field(
        default=None,
        ge=256,
        description="Most memory the engine may take, in MB. Left out: 1,024 MB, and 40 bytes more for each byte.",
    )
