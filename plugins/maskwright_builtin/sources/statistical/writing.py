"""Writing of published records with pyreadstat in the form of the original file."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, Layout, Place, Problem, Variable, read_numbers, write_numbers
from maskwright_builtin.sources.files import disk_trouble
from maskwright_builtin.sources.statistical.declarations import (
    Code,
    Family,
    MissingRange,
    VariableForm,
    code_text,
    from_moments,
)
from maskwright_builtin.sources.statistical.reading import longest_number, pyreadstat

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


LETTER = r"^\.[a-z]$"
NOTHING = r"[^\s\S]"
"""Matches no text."""


@dataclass(frozen=True)
class WrittenColumn:
    """A variable as it is to be written; both arrays of shape (n,).

    `values`: float64, NaN where nothing is, or str objects. `letters`: of missing values, None where there is none.
    """

    name: str
    form: VariableForm
    values: NDArray[Any]
    letters: NDArray[Any] | None = None

    def refused(self, path: Path, message: str, hint: str | None = None) -> DataError:
        """Error about this variable."""
        return DataError(Problem(f"variable {self.name!r}: {message}", Place(str(path)), hint))


def written_columns(
    path: Path, batches: Iterable[Any], variables: Sequence[Variable], layout: Layout, family: Family
) -> list[WrittenColumn]:
    """All records, column by column: pyreadstat writes a file as a whole."""
    table = pa.Table.from_batches(list(batches))
    forms: dict[str, VariableForm] = layout.details["variables"] if layout.format == family.source else {}
    columns = []
    for variable in variables:
        cells = _whole(table.column(variable.name))
        form = forms.get(variable.name)
        is_declared = form is None
        if form is None:
            form = VariableForm(is_text=False, label=variable.label, measure=_measure(variable))
        column = _column(path, variable, cells, form, family, is_new=is_declared)
        columns.append(
            _declared_of(variable, column, family) if is_declared else _recoded(_renamed_codes(column, form), variable)
        )
    return columns


def planned_columns(variables: Sequence[Variable], layout: Layout, family: Family) -> list[WrittenColumn]:
    """Columns without any cell, with the names and labels that they will have."""
    forms: dict[str, VariableForm] = layout.details["variables"] if layout.format == family.source else {}
    nothing = np.array([], dtype=np.float64)
    return [
        WrittenColumn(each.name, forms.get(each.name) or VariableForm(is_text=False, label=each.label), nothing)
        for each in variables
    ]


def _whole(cells: Any) -> Any:
    cells = cells.combine_chunks()
    return cells.chunk(0) if isinstance(cells, pa.ChunkedArray) and cells.num_chunks == 1 else cells


def _measure(variable: Variable) -> Any:
    return {"nominal": "nominal", "ordinal": "ordinal"}.get(variable.type, "scale")


def _column(
    path: Path, variable: Variable, cells: Any, form: VariableForm, family: Family, *, is_new: bool
) -> WrittenColumn:
    name = variable.name
    if form.is_text:
        return WrittenColumn(name, form, _texts(cells))
    if pa.types.is_date32(cells.type) or pa.types.is_timestamp(cells.type):
        return _moments(path, name, cells, form, family)
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return _numbers(path, name, pc.cast(cells, pa.float64(), safe=False), form)
    letter = LETTER if family.has_letters else NOTHING
    letters = pc.if_else(pc.match_substring_regex(cells, letter), cells, pa.scalar(None, pa.string()))
    has_letters = letters.null_count < len(letters)
    rest = pc.if_else(pc.or_(letters.is_valid(), pc.equal(cells, "")), pa.scalar(None, pa.string()), cells)
    if is_new and variable.is_date:
        form = _with_date_format(form, family, "datetime" if variable.type == "datetime" else "date")
    values = from_moments(rest, form.format, family.moments) if family.moments.of(form.format) else None
    if values is None:
        values = _as_numbers(rest)
    if values is None and variable.is_numeric:
        hint = "Stata has .a to .z, SPSS numbers, SAS transport files none: `suppressed_as: .s`, for instance."
        raise WrittenColumn(name, form, np.array([])).refused(
            path, "a code of its missing cells cannot be written", hint
        )
    if values is None or (is_new and not variable.is_numeric and rest.null_count == len(rest)):
        return WrittenColumn(name, replace(form, is_text=True, format="", width=0), _texts(cells))
    if has_letters:
        marks = np.array([None if each is None else each[1:] for each in letters.to_pylist()], dtype=object)
        return WrittenColumn(name, form, values, marks)
    return _numbers(path, name, pa.array(values, from_pandas=True), form)


def _texts(cells: Any) -> NDArray[Any]:
    kept = cells if pa.types.is_string(cells.type) else _number_texts(cells)
    return np.array(pc.fill_null(kept, "").to_pylist(), dtype=object)


def _number_texts(cells: Any) -> Any:
    if pa.types.is_floating(cells.type) or pa.types.is_integer(cells.type):
        numbers = np.asarray(pc.fill_null(pc.cast(cells, pa.float64(), safe=False), 0.0))
        return write_numbers(numbers, np.asarray(cells.is_null()), None)
    return pc.cast(cells, pa.string())


def _as_numbers(texts: Any) -> NDArray[np.float64] | None:
    """Texts as numbers; None where one is no number, or is not as numbers are written (``007``)."""
    encoded = texts.dictionary_encode()
    parsed = read_numbers(pc.cast(encoded.dictionary, pa.string()))
    if not np.all(parsed.is_number):
        return None
    again = write_numbers(parsed.values, np.zeros(len(parsed.values), dtype=np.bool_), None)
    if not pc.all(pc.equal(_bare(encoded.dictionary), again)).as_py() and len(again):
        return None
    places = np.asarray(pc.fill_null(encoded.indices, len(again)))
    return np.asarray(np.append(parsed.values, np.nan)[places], dtype=np.float64)


def holds_numbers(variable: Variable) -> bool:
    """Whether the cells of a variable are numbers in a new file of a statistical package."""
    return variable.is_numeric or _as_numbers(pa.array(variable.categories, pa.string())) is not None


def codes_as_letters(variable: Variable) -> dict[str, str]:
    """Letters ``.a`` to ``.z`` for the missing codes of a variable; those that are letters stay as they are."""
    if not holds_numbers(variable):
        return {}
    codes = dict.fromkeys(code for code in variable.empty_texts if code.strip())
    own = {code: code.lower() for code in codes if re.fullmatch(LETTER, code.lower())}
    free = (f".{each}" for each in string.ascii_lowercase if f".{each}" not in own.values())
    return own | dict(zip((code for code in codes if code not in own), free, strict=False))


def _bare(texts: Any) -> Any:
    """Number texts without zeros at the end of decimals."""
    cut = pc.utf8_rtrim(pc.utf8_rtrim(texts, characters="0"), characters=".")
    return pc.if_else(pc.match_substring(texts, "."), cut, texts)


def _moments(path: Path, name: str, cells: Any, form: VariableForm, family: Family) -> WrittenColumn:
    values = from_moments(cells, form.format, family.moments)
    if values is None:
        form = _with_date_format(form, family, "date" if pa.types.is_date32(cells.type) else "datetime")
        values = from_moments(cells, form.format, family.moments)
    if values is None:
        raise WrittenColumn(name, form, np.array([])).refused(path, "its dates cannot be written in this format")
    return WrittenColumn(name, form, values)


def _with_date_format(form: VariableForm, family: Family, kind: str) -> VariableForm:
    kinds = {each: name for name, (each, _) in reversed(list(family.moments.units.items()))}
    return replace(form, format=kinds[kind], measure="unknown")


def _numbers(path: Path, name: str, cells: Any, form: VariableForm) -> WrittenColumn:
    values = np.asarray(pc.fill_null(cells, np.nan), dtype=np.float64)
    column = WrittenColumn(name, form, values)
    if np.isinf(values).any():
        raise column.refused(path, "it has infinite values")
    return column


def _renamed_codes(column: WrittenColumn, original: VariableForm) -> WrittenColumn:
    """Column whose labels and missing codes are texts if its cells have become texts."""
    if column.form.is_text == original.is_text:
        return column
    labels: dict[Code, str] = {
        code_text(code): meaning for code, meaning in original.labels.items() if not isinstance(code, str)
    }
    ranges = tuple(
        MissingRange(code_text(each.lowest), code_text(each.lowest))
        for each in original.missing
        if each.is_single and not isinstance(each.lowest, str)
    )
    measure = "nominal" if original.measure == "scale" else original.measure
    return replace(column, form=replace(column.form, labels=labels, missing=ranges, measure=measure))


def _recoded(column: WrittenColumn, variable: Variable) -> WrittenColumn:
    """Column without labels of codes that the original has and recoding took away."""
    if not variable.bands:
        return column
    there = {*variable.categories, *variable.empty_texts}
    labels = {code: label for code, label in column.form.labels.items() if code_text(code) in there}
    return replace(column, form=replace(column.form, labels=labels))


def _declared_of(variable: Variable, column: WrittenColumn, family: Family) -> WrittenColumn:
    """Column with the labels and missing codes that are declared of its variable."""

    def code(text: str) -> Code | None:
        if column.form.is_text:
            return text
        if re.fullmatch(LETTER, text):
            return text[1:] if family.has_letters else None
        parsed = read_numbers(pa.array([text], pa.string()))
        return float(parsed.values[0]) if parsed.is_number[0] else None

    meanings = {code(text): meaning for text, meaning in (*variable.labels, *variable.empty_meanings)}
    labels = {each: meaning for each, meaning in meanings.items() if each is not None and meaning}
    codes = [code(text) for text in variable.empty_texts]
    ranges = tuple(
        MissingRange(each, each)
        for each in codes
        if each is not None and each != "" and (column.form.is_text or not isinstance(each, str))
    )
    return replace(column, form=replace(column.form, labels=labels, missing=ranges))


def fitting_format(column: WrittenColumn) -> str:
    """Format of numbers, widened if a number that was not in the original has more characters than it."""
    name = column.form.format.partition(".")[0]
    if name[:1] != "F" or not name[1:].isdigit():
        return column.form.format
    longest = longest_number(column.values, column.form.format)
    if longest <= max(int(name[1:]), column.form.longest):
        return column.form.format
    return f"F{longest}{column.form.format[len(name) :]}"


def too_long(path: Path, columns: Sequence[WrittenColumn], largest: dict[str, int]) -> None:
    """Refuse names, labels and texts that a format would cut. `largest`: most bytes (of UTF-8) of each."""
    problems: list[Problem] = []
    for column in columns:
        lengths = {
            "name": len(column.name.encode()),
            "label": len((column.form.label or "").encode()),
            "value label": max((len(label.encode()) for label in column.form.labels.values()), default=0),
            "text": longest_text(column) if column.form.is_text else 0,
        }
        problems += [
            Problem(f"variable {column.name!r}: a {what} has {lengths[what]} bytes, and {most} fit", Place(str(path)),
                    "Shorten it, or write another format, such as .csv or .parquet.")
            for what, most in largest.items()
            if lengths[what] > most
        ]  # fmt: skip
    if problems:
        raise DataError(problems)


def refuse_reserved(path: Path, columns: Sequence[WrittenColumn], words: frozenset[str], package: str) -> None:
    """Refuse names that are words of a package's language."""
    for column in columns:
        if column.name in words or (package == "SPSS" and column.name.upper() in words):
            raise column.refused(path, f"its name is a word of {package}'s language", "Rename it in the data.")


def longest_text(column: WrittenColumn) -> int:
    """Bytes of the longest text of a column."""
    return max(map(len, map(str.encode, column.values)), default=0)


def padded(column: WrittenColumn) -> NDArray[Any]:
    """Texts, the first filled up with blanks, which mean nothing there, to the width that the original column has."""
    if not len(column.values) or column.form.width <= longest_text(column):
        return column.values
    values = column.values.copy()
    values[0] += " " * (column.form.width - len(values[0].encode()))
    return values


def write_file(path: Path, function: str, frame: Any, columns: Sequence[WrittenColumn], **options: Any) -> None:
    """Write by a function of pyreadstat, whose errors show no cell, without the time of writing."""
    library = pyreadstat(path)
    named = {
        "column_labels": {each.name: each.form.label for each in columns if each.form.label},
        "variable_format": {each.name: each.form.format for each in columns if each.form.format},
    }
    try:
        with disk_trouble(path):
            getattr(library, function)(frame, str(path), **(named | options))
    except library.PyreadstatError as error:
        # These are about names and missing codes.
        raise DataError(Problem(f"the file cannot be written: {error}", Place(str(path)))) from None
    except library.ReadstatError as error:
        hint = "Write another format, such as .csv or .parquet."
        raise DataError(Problem(f"the file cannot be written: {error}", Place(str(path)), hint)) from None
    _remove_time(path)


def not_written(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Refuse to write a format that is only read."""
    del batches, variables, layout
    raise DataError(Problem(f"{path.suffix} files are read, and not written", Place(str(path))))


SPSS_TIME = (92, b"01 Jan 7000:00:00")
"""Where a ``.sav`` file has its date and time, 9 and 8 bytes."""
STATA_TIME = re.compile(rb"(?<=<timestamp>\x11).{17}(?=</timestamp>)")
SAS_TIME = re.compile(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d")
SAS_CARDS = 640
"""Bytes before the first variable of a transport file."""


def _remove_time(path: Path) -> None:
    """Replace the time of writing in a file of SPSS, Stata or SAS by the first of 1970."""
    with disk_trouble(path), path.open("r+b") as file:
        start = file.read(SAS_CARDS)
        if start.startswith((b"$FL2", b"$FL3")):
            place, time = SPSS_TIME
            start = start[:place] + time + start[place + len(time) :]
        elif start.startswith(b"<stata_dta>"):
            start = STATA_TIME.sub(b"01 Jan 1970 00:00", start, count=1)
        else:
            start = SAS_TIME.sub(b"01JAN70:00:00:00", start)
        file.seek(0)
        file.write(start)
