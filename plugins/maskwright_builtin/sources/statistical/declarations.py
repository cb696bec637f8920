"""Declarations of files of statistical packages: labels, kinds, missing codes, dates and times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, Field

from maskwright import VariableDeclaration, write_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray


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

    `missing`: of SPSS; the letters of Stata and SAS need no declaration. `width`: bytes of the longest text that fits.
    `longest`: characters of the longest number: a format that is too narrow for the original stays so.
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


def _unchecked_end(_start: bytes, _end: bytes, _size: int) -> bool:
    return True


@dataclass(frozen=True)
class Family:
    """A file format of a statistical package; `title` is for messages, `read` a function of pyreadstat.

    `rows`: records read at a time; 0: all, where the format cannot be entered in the middle. `is_whole`: ``(first 64
    bytes, last 64 bytes, size) -> bool``, which pyreadstat does not check in every format.
    """

    source: str
    title: str
    read: str
    moments: Moments
    rows: int = 65_536
    tells_codes: bool = True
    takes_encoding: bool = True
    has_letters: bool = False
    is_whole: Callable[[bytes, bytes, int], bool] = _unchecked_end


def code_text(code: Code) -> str:
    """Text of a code in cells: ``1`` for 1.0, ``.a`` for a missing value that is a letter."""
    if isinstance(code, str):
        return code
    return str(write_numbers(np.array([code], dtype=np.float64), np.array([False]), None)[0])


def letter_text(letter: str) -> str:
    """Text of a missing value that is a letter."""
    return f".{letter}"


YEAR_1, YEAR_10000 = -719_162, 2_932_897
"""Days from 1970-01-01 to the first day of these years: dates of other years have no four-digit text."""
MICROSECONDS = 86_400_000_000
PARTS = {"s": 86_400, "ms": 86_400_000, "us": MICROSECONDS}


def as_moments(values: NDArray[np.float64], variable_format: str, moments: Moments) -> Any:
    """Numbers of a date format (NaN: missing) as date32, or as timestamps where one is no midnight; shape (n,).

    None: the format is no date, or a number has no date of a year from 1 to 9999.
    """
    known = moments.of(variable_format)
    missing = np.isnan(values)
    if known is None or missing.all():
        return None
    units = known[1]
    days = np.where(missing, 0.0, values / units - moments.epoch)
    if days.min() < YEAR_1 or days.max() >= YEAR_10000:
        return None
    if np.array_equal(np.rint(days), days):
        return pa.array(days.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    for unit, parts in PARTS.items():
        counts = np.rint(np.where(missing, 0.0, (values - moments.epoch * units) * (parts / units)))
        if np.array_equal(
            counts * (units / parts) + moments.epoch * units, np.where(missing, moments.epoch * units, values)
        ):
            return pa.array(counts.astype(np.int64), pa.int64(), mask=missing).cast(pa.timestamp(unit))
    return None


def from_moments(cells: Any, variable_format: str, moments: Moments) -> NDArray[np.float64] | None:
    """Dates, moments or their ISO texts as numbers of a date format, NaN where missing; None: some are no dates."""
    known = moments.of(variable_format)
    if known is None:
        return None
    try:
        moment = pc.cast(cells, pa.timestamp("us"))
    except pa.ArrowException:
        return None
    counts = np.asarray(pc.fill_null(moment.cast(pa.int64()), 0))
    units = known[1]
    # Whole days apart: the sum of both has more digits than binary64.
    days, rest = np.divmod(counts, MICROSECONDS)
    values = (days + moments.epoch) * units + rest / (MICROSECONDS / units)
    return np.where(np.asarray(moment.is_null()), np.nan, values)


def declaration(
    form: VariableForm, cells: Any, letters: Any = None, dates: Any = None, moments: Moments | None = None
) -> VariableDeclaration:
    """Declaration of a variable, as far as its file has one.

    Texts are categories. Numbers are categories where they are whole and their measure is one of categories, or where
    all have labels; they are quantities where the measure is a scale. `letters`: missing values that are letters;
    `dates`: the cells as dates.
    """
    is_looked_at = form.labels or form.missing or form.measure in ("nominal", "ordinal")
    found = _found(cells) if is_looked_at else []
    codes = _missing_codes(form, found)
    named = [] if letters is None else sorted(each for each in pc.unique(letters).to_pylist() if each is not None)
    text: Callable[[Code], str] = code_text
    if dates is not None and moments is not None:
        text = lambda code: _moment_text(code, form.format, dates.type, moments)  # noqa: E731
    missing = {text(code): form.labels.get(code, "") for code in codes}
    if not form.is_text:
        tagged = {letter_text(code): meaning for code, meaning in form.labels.items() if isinstance(code, str)}
        missing |= {letter: tagged.get(letter, "") for letter in dict.fromkeys([*named, *tagged])}
    labels = tuple(
        (text(code), meaning)
        for code, meaning in form.labels.items()
        if code not in codes and (form.is_text or not isinstance(code, str))
    )
    facts: dict[str, Any] = {}
    kind, categories = _kind(form, [code for code in found if code not in codes], is_date=dates is not None)
    if kind is None and letters is not None and dates is None:
        kind = "continuous"
    if kind is not None:
        facts["type"] = kind
    if categories:
        facts["categories"] = categories
    if form.label:
        facts["label"] = form.label
    if labels:
        facts["labels"] = labels
    if missing:
        facts["missing"] = tuple(missing.items())
    return VariableDeclaration(**facts)


def _found(cells: Any) -> list[Code]:
    held = pa.array(cells, from_pandas=True) if isinstance(cells, np.ndarray) else cells
    return [each for each in pc.unique(held).to_pylist() if each is not None]


def _missing_codes(form: VariableForm, found: Sequence[Code]) -> list[Code]:
    """Codes that the file declares to be missing: single ones, and of ranges those that occur or have a label."""
    codes: dict[Code, None] = {}
    for each in form.missing:
        inside = sorted(code for code in {*found, *form.labels} if not isinstance(code, str) and each.holds(code))
        codes |= dict.fromkeys([each.lowest] if each.is_single else inside)
    return list(codes)


def _kind(form: VariableForm, found: Sequence[Code], *, is_date: bool) -> tuple[str | None, tuple[str, ...]]:
    labelled = bool(form.labels) and all(code in form.labels for code in found)
    if form.is_text:
        found = [code for code in found if code != ""]
        if form.measure == "ordinal" and found and all(code in form.labels for code in found):
            missing = [each.lowest for each in form.missing]
            return "ordinal", tuple(str(code) for code in form.labels if code not in missing)
        return "nominal", ()
    if is_date:
        return None, ()
    is_whole = all(not isinstance(code, str) and code == int(code) for code in found if code not in (np.inf, -np.inf))
    if form.measure in ("nominal", "ordinal") and is_whole:
        return form.measure, ()
    if form.measure == "unknown" and found and labelled:
        return "nominal", ()
    return ("continuous", ()) if form.measure == "scale" else (None, ())


def _moment_text(code: Code, variable_format: str, kind: Any, moments: Moments) -> str:
    """Text of a missing code of a date, as the dates are written."""
    moment = None if isinstance(code, str) else as_moments(np.array([code]), variable_format, moments)
    if moment is None:
        return code_text(code)
    try:
        return str(pc.cast(pc.cast(moment, kind), pa.string())[0])
    except pa.ArrowException:
        return str(pc.cast(moment, pa.string())[0])
