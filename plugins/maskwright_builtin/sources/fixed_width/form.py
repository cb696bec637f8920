"""Where the columns of a fixed-width file are: declared in the pipeline, or by the metadata of µ-Argus."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from maskwright import DataError, Place, Problem, VariableDeclaration
from maskwright_builtin.sources.text_encodings import text_encoding


class ColumnPlace(BaseModel, extra="forbid", frozen=True):
    """Where a column is in every line."""

    start: int = Field(ge=1, description="Its first character, counted from 1.")
    width: int = Field(ge=1, le=10_000, description="How many characters it has.")


class FixedWidthParams(BaseModel, extra="forbid", frozen=True):
    """Options of fixed-width files in the pipeline's ``data:`` section."""

    metadata: Path | None = Field(
        None,
        description="Metadata of µ-Argus (.rda) with names, places, missing codes and roles of the columns. This or "
        "`columns` is needed.",
    )
    columns: Mapping[str, ColumnPlace] | None = Field(
        None, description="Places of the columns, by name: {age: {start: 1, width: 3}}; characters count from 1."
    )
    encoding: str = Field("utf-8", description="Character encoding (default utf-8); columns are counted in characters.")
    decimal: str = Field(".", pattern=r"^[.,]$", description="Decimal mark of numbers: '.' (default) or ','.")
    short_lines: Literal["refuse", "pad"] = Field(
        "refuse", description="Lines that end before the last column: `refuse` (default), or `pad` with blanks."
    )
    blank_columns: Literal["keep", "leave out"] = Field(
        "keep", description="Columns that are blank in every line: `keep` them as variables (default), or `leave out`."
    )
    max_file_size: int | None = Field(
        None, ge=1, description="Largest file accepted, in bytes; of a compressed file, unpacked. Left out: no limit."
    )

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, value: str) -> str:
        found = text_encoding(value)
        if found.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
            raise ValueError("fixed-width files are read in encodings of single bytes, or UTF-8")
        return found


@dataclass(frozen=True)
class Form:
    """Columns of a file, and what their metadata say of them.

    `places`: in order; of separated files start and width are 0. `separator`: character between cells, where they have
    no places. `has_names`: whether the first line of a separated file holds names. `decimals`: decimals that the
    metadata give a variable. The cells themselves tell how many they have: whether a point is written or left out, the
    metadata do not say.
    """

    places: Mapping[str, tuple[int, int]]
    separator: str | None = None
    has_names: bool = False
    declared: Mapping[str, VariableDeclaration] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    decimals: Mapping[str, str] = field(default_factory=dict)


def check_places(places: Mapping[str, tuple[int, int]], place: Place) -> None:
    """Stop at columns that overlap."""
    ordered = sorted(places, key=lambda name: places[name])
    for name, after in itertools.pairwise(ordered):
        if sum(places[name]) > places[after][0]:
            message = f"the columns {name!r} and {after!r} overlap: {name!r} ends at {sum(places[name]) - 1}"
            raise DataError(Problem(f"{message}, and {after!r} starts at {places[after][0]}", place))
