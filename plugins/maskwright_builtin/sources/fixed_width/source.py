"""Fixed-width microdata: read and written by the place and padding of each variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from maskwright import (
    DataError,
    Format,
    FormatFacts,
    Layout,
    Place,
    Problem,
    Progress,
    Source,
    VariableDeclaration,
    WrittenBatch,
)
from maskwright_builtin.sources.files import BLOCK, WrittenReading, readable_size, reading, with_packed
from maskwright_builtin.sources.fixed_width.layout import (
    FixedWidthParams,
    Form,
    SeparatedReading,
    check_places,
    read_metadata,
    read_separated_plainly,
)
from maskwright_builtin.sources.fixed_width.writing import Padding, refuse_unwritable, write_fixed_width

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from pathlib import Path


COMMA_NUMBER = r"^[ \t\r\n]*-?([0-9]+(,[0-9]*)?|,[0-9]+)[ \t\r\n]*$"
POINT_NUMBER = r"^[ \t\r\n]*-?([0-9]+\.[0-9]*|\.[0-9]+)[ \t\r\n]*$"
END_OF_FILE = b"\x1a"
"""What programs of DOS put at the end of a text."""


class FixedWidthReading(WrittenReading):
    """A fixed-width file whose columns are known."""

    def __init__(self, path: Path, form: Form, params: FixedWidthParams, progress: Progress) -> None:
        self._path = path
        self._params = params
        self._progress = progress
        self._size = readable_size(path, params.max_file_size, of_text=True)
        self._form = form
        self._places = dict(form.places)
        self._needed = max(start + width - 1 for start, width in self._places.values())
        self._line_end, self._ends_with_line, self._lines, self._length = "\n", True, 0, self._needed
        self._filled: set[str] = set()
        self._between = 0
        self._paddings = {name: Padding(width) for name, (_, width) in self._places.items()}
        if params.blank_columns == "leave out":
            for lines in self._blocks():
                self._filled.update(name for name in self._places if _has_text(self._cut(lines, name)))
            self._places = {name: place for name, place in self._places.items() if name in self._filled}

    @property
    def declared(self) -> Mapping[str, VariableDeclaration]:
        """What the metadata say of the variables."""
        return {name: each for name, each in self._form.declared.items() if name in self._places}

    def written_batches(self) -> Generator[WrittenBatch]:
        """Yield the records, and the cells with the blanks around them."""
        records = 0
        for lines in self._blocks():
            cells, written = {}, {}
            for name in self._places:
                written[name] = self._cut(lines, name)
                text = pc.utf8_trim(written[name], " ")
                self._paddings[name].see(written[name], text)
                cells[name] = self._with_points(name, text, records)
            self._between += self._count_text_between_columns(lines)
            records += len(lines)
            yield WrittenBatch(pa.record_batch(cells), written)

    def _cut(self, lines: Any, name: str) -> Any:
        start, width = self._places[name]
        return pc.utf8_slice_codeunits(lines, start - 1, start - 1 + width)

    def _blocks(self) -> Iterator[Any]:
        """Lines of the file, checked, each as long as the longest of the block."""
        self._lines, rest, done = 0, b"", 0
        with reading(self._path) as file:
            while piece := file.read(BLOCK):
                done += len(piece)
                text = rest + piece
                cut = text.rfind(b"\n") + 1
                rest = text[cut:]
                if cut:
                    yield self._checked(text[:cut])
                elif len(rest) > 16 * BLOCK:
                    message = f"line {self._lines + 1} has more than {16 * BLOCK} bytes"
                    raise DataError(Problem(message, Place(str(self._path), self._lines + 1)))
                self._progress(min(1.0, done / self._size))
        rest = rest.removesuffix(END_OF_FILE)
        self._ends_with_line = not rest
        if rest:
            yield self._checked(rest)

    def _checked(self, raw: bytes) -> Any:
        try:
            text = raw.decode(self._params.encoding)
        except UnicodeDecodeError as error:
            line = self._lines + raw[: error.start].count(b"\n") + 1
            hint = (
                "Name it: `encoding: latin-1` (or cp1252, ...) in the pipeline's data section, or --encoding latin-1."
            )
            message = f"the line has bytes that are not {self._params.encoding} text"
            raise DataError(Problem(message, Place(str(self._path), line), hint)) from None
        if self._lines == 0:
            text = text.removeprefix("\ufeff")
            self._line_end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
        lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        self._refuse(
            lines, lambda line: "\t" in line, text, "\t", "has a tab, behind which columns have no fixed place"
        )
        self._refuse(lines, lambda line: "\0" in line, text, "\0", "has NUL characters")
        array = pa.array(lines, pa.string())
        lengths = pc.utf8_length(array)
        shortest, longest = (each.as_py() for each in pc.min_max(lengths).values())
        if shortest < self._needed and self._params.short_lines == "refuse":
            line = self._lines + pc.index(pc.less(lengths, self._needed), pa.scalar(True)).as_py() + 1
            hint = "The file may be cut short; `short_lines: pad` if only blanks at the end are left out."
            message = (
                f"the line has {len(lines[line - self._lines - 1])} characters, and the columns need {self._needed}"
            )
            raise DataError(Problem(message, Place(str(self._path), line), hint))
        if self._lines == 0:
            self._length = max(len(lines[0]), self._needed)
        self._lines += len(lines)
        return pc.utf8_rpad(array, max(longest, self._needed), " ")

    def _refuse(self, lines: list[str], wrong: Any, text: str, sign: str, message: str) -> None:
        if sign in text:
            line = self._lines + next(place for place, each in enumerate(lines, 1) if wrong(each))
            raise DataError(Problem(f"the line {message}", Place(str(self._path), line)))

    def _count_text_between_columns(self, lines: Any) -> int:
        """How many lines have text where no column is."""
        text, before = lines, 1
        pieces = []
        for start, width in sorted(self._form.places.values()):
            pieces.append(pc.utf8_slice_codeunits(text, before - 1, start - 1))
            before = start + width
        pieces.append(pc.utf8_slice_codeunits(text, before - 1))
        between = pc.binary_join_element_wise(*pieces, "")
        return int(pc.sum(pc.greater(pc.binary_length(pc.utf8_trim(between, " ")), 0)).as_py() or 0)

    def _with_points(self, name: str, text: Any, before: int) -> Any:
        if self._params.decimal == ".":
            return text
        pointed = pc.match_substring_regex(text, POINT_NUMBER)
        if pc.any(pointed).as_py():
            record = before + pc.index(pointed, pa.scalar(True)).as_py() + 1
            message = f"variable {name!r} has a number with a point (record {record}), and the decimal mark is ','"
            raise DataError(
                Problem(message, Place(str(self._path), record), "Declare `decimal: '.'`, or mend the file.")
            )
        is_number = pc.match_substring_regex(text, COMMA_NUMBER)
        return pc.if_else(is_number, pc.replace_substring(text, ",", "."), text)

    @property
    def layout(self) -> Layout:
        """Places of the columns, how their cells are padded, and how lines end."""
        notes = list(self._form.notes)
        notes += [
            f"{name}: the metadata say {decimals} decimals, and no cell has a decimal mark; read as whole numbers"
            for name, decimals in self._form.decimals.items()
            if name in self._places and not self._paddings[name].has_points
        ]
        if self._between:
            notes.append(
                f"{self._between} lines have text where no column is declared: it is not read, and not written"
            )
        details = {
            "columns": dict(self._places),
            "paddings": {name: self._paddings[name].kind for name in self._places},
            "length": self._length,
            "line_end": self._line_end,
            "ends_with_line": self._ends_with_line,
            "encoding": self._params.encoding,
            "decimal": self._params.decimal,
            "notes": tuple(notes),
        }
        return Layout("fixed_width", details)


def _has_text(cells: Any) -> bool:
    return bool(pc.any(pc.greater(pc.binary_length(pc.utf8_trim(cells, " ")), 0)).as_py())


def open_fixed_width(path: Path, params: Any, progress: Progress) -> FixedWidthReading | SeparatedReading:
    """Open a fixed-width file, or one with separators that metadata of µ-Argus describe."""
    if (params.metadata is None) == (params.columns is None):
        hint = "`metadata: file.rda` of µ-Argus, or `columns: {age: {start: 1, width: 3}, ...}` in the data section."
        message = "a fixed-width file needs either metadata or the places of its columns"
        raise DataError(Problem(message, Place(str(path)), hint))
    if params.metadata is not None:
        form = read_metadata(params.metadata)
    else:
        form = Form({name: (each.start, each.width) for name, each in params.columns.items()})
        if not form.places:
            raise DataError(Problem("`columns` names no column", Place(str(path))))
        check_places(form.places, Place(str(path)))
    if form.separator is not None:
        return SeparatedReading(path, form, params, progress)
    return FixedWidthReading(path, form, params, progress)


def _read_plainly(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[list[str | None]]]:
    """Rows of a written file, cut line by line: nothing of this is shared with `FixedWidthReading`."""
    if "separated" in details:
        yield from read_separated_plainly(path, details["separated"], names)
        return
    cuts = [slice(start - 1, start - 1 + width) for start, width in (details["columns"][name] for name in names)]
    rows: list[list[str | None]] = []
    with reading(path) as file:
        for raw in file:
            line = raw.decode(details["encoding"]).rstrip("\r\n")
            rows.append([_pointed(line[cut].strip(), details["decimal"]) for cut in cuts])
            if len(rows) == 1 << 15:
                yield rows
                rows = []
    yield rows


def _pointed(text: str, decimal: str) -> str:
    whole, mark, part = text.partition(decimal)
    is_number = decimal != "." and mark and (whole.removeprefix("-") + part).isdecimal()
    return f"{whole}.{part}" if is_number else text


def _as_written(params: Any) -> FixedWidthParams:
    """Options for a file in which identifiers were left blank, so that every other column is where it was."""
    known: FixedWidthParams = params
    return known.model_copy(update={"blank_columns": "leave out", "short_lines": "refuse"})


FIXED_WIDTH = Source(
    name="fixed_width",
    suffixes=with_packed(".fwf", ".asc", ".dat"),
    open=open_fixed_width,
    write=write_fixed_width,
    params=FixedWidthParams,
    format=Format(
        params_of_written=_as_written,
        loses=frozenset({"blanks_at_ends"}),
        refuse_unwritable=refuse_unwritable,
        holds=FormatFacts(
            types="texts; numbers and dates are recognised by their cells, or declared",
            missing_codes="codes stay in their cells; which they are, metadata of µ-Argus say",
            dates="texts of any declared form",
            precision="as many digits as the column is wide",
            texts="as long as the column is wide, without blanks at the ends",
            names="in the metadata, or declared",
        ),
    ),
    read_plainly=_read_plainly,
    summary="A line for each record, each variable at its place; places from metadata of µ-Argus, or declared.",
)
