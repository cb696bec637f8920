"""What a file of a statistical package says of a variable, and what tells one package from another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import write_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Code = float | str
"""A value that a label or a missing code is about; a letter is one of Stata's or SAS's missing values."""


class StatisticalParams(BaseModel, extra="forbid", frozen=True):
    """Options of files of statistical packages."""

    encoding: str | None = Field(
        default=None,
        description="Character encoding of the texts, where the file does not say it or says it wrongly: windows-1252.",
    )


@dataclass(frozen=True)
class MissingRange:
    """Values that SPSS takes as missing, both ends inclusive; a single one where the ends are equal."""

    lowest: Code
    highest: Code

    @property
    def is_single(self) -> bool:
        """Whether it is one value."""
        return self.lowest == self.highest

    def holds(self, code: Code) -> bool:
        """Whether a value is in the range."""
        if isinstance(code, str) or isinstance(self.lowest, str) or isinstance(self.highest, str):
            return code == self.lowest
        return self.lowest <= code <= self.highest


@dataclass(frozen=True)
class VariableForm:
    """How a file writes a variable; never any of its values.

    `format`: as the package names it: ``F8.2``, ``DATE11``, ``%9.0g``; "" where there is none. `missing`: of SPSS; the
    missing values of Stata and SAS are letters, which need no declaration. `width`: bytes of the longest text that
    fits. `is_whole`: whether the file stores integers (Stata). `longest`: characters of the longest number in its
    format: a format that is too narrow for the original stays so.
    """

    is_text: bool
    format: str = ""
    label: str | None = None
    labels: Mapping[Code, str] = field(default_factory=dict)
    missing: tuple[MissingRange, ...] = ()
    measure: Literal["nominal", "ordinal", "scale", "unknown"] = "unknown"
    display_width: int = 0
    width: int = 0
    is_whole: bool = False
    longest: int = 0


@dataclass(frozen=True)
class Moments:
    """How a package counts dates and times.

    `epoch`: days from its first day to 1970-01-01. `units`: for the start of a format's name: whether it is a "date" or
    a "datetime", and how many units a day has.
    """

    epoch: int
    units: Mapping[str, tuple[str, float]]

    def of(self, variable_format: str) -> tuple[str, float] | None:
        """Kind and units of a format; None where it is no date."""
        # Stata tells %tc from %tC, and lets what is shown of a date follow: %tdD_m_Y.
        if variable_format.startswith("%t"):
            return self.units.get(variable_format[:3])
        return self.units.get(variable_format.upper().rstrip("0123456789."))


def _not_looked_at(_start: bytes, _end: bytes, _size: int) -> bool:
    return True


@dataclass(frozen=True)
class Family:
    """A file format of a statistical package.

    `title`: for messages: ``an SPSS file``. `read`: function of pyreadstat that reads it. `rows`: records read at a
    time; 0: all, where the format cannot be entered in the middle. `tells_codes`: whether the function can tell missing
    values apart. `has_letters`: whether missing values that are letters can be written among numbers. `is_whole`:
    ``(first 64 bytes, last 64 bytes, size) -> bool``: whether the end of the file is there, which pyreadstat does not
    look at in every format.
    """

    source: str
    title: str
    read: str
    moments: Moments
    rows: int = 65_536
    tells_codes: bool = True
    takes_encoding: bool = True
    has_letters: bool = False
    is_whole: Callable[[bytes, bytes, int], bool] = _not_looked_at


def code_text(code: Code) -> str:
    """Text of a code in cells: ``1`` for 1.0, ``.a`` for a missing value that is a letter."""
    if isinstance(code, str):
        return code
    return str(write_numbers(np.array([code], dtype=np.float64), np.array([False]), None)[0])


def letter_text(letter: str) -> str:
    """Text of a missing value that is a letter."""
    return f".{letter}"
