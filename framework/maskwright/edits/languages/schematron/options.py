"""What a person may choose when a Schematron file is read: the phase, where included files may be, and the limits."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field


class SchematronOptions(BaseModel, extra="forbid", frozen=True):
    """Options of Schematron files: beside ``file`` in a pipeline's ``schematron:`` entry, or on the command line."""

    phase: str | None = Field(
        default=None,
        description="Name of the phase whose patterns are used; #ALL uses every pattern. Left out: the schema's "
        "defaultPhase, and every pattern where there is none.",
    )
    include_folder: Path | None = Field(
        default=None,
        description="Folder inside which `include` and `extends href` may name files, relative to the rule file. Left "
        "out: included files are refused.",
    )
    max_file_size: int = Field(default=8 * 2**20, ge=1, description="Largest rule file, in bytes (default 8 MB).")
    max_elements: int = Field(
        default=100_000,
        ge=1,
        description="Most elements, with those of included files and abstract patterns written out.",
    )
    max_depth: int = Field(default=32, ge=3, le=200, description="Deepest nesting of elements (default 32).")
    max_expression: int = Field(default=10_000, ge=1, description="Longest test, in characters (default 10,000).")
    max_nesting: int = Field(
        default=200, ge=1, le=200, description="Deepest nesting of one test (default and most: 200)."
    )
