"""CSV files written as the original was: its dialect, its quotes, its numbers, the end of its last line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, Layout, Place, Problem, Variable
from maskwright_builtin.sources.csv.dialect import CsvDialect
from maskwright_builtin.sources.csv.quoting import QuotingRule, quoted_cells
from maskwright_builtin.sources.files import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

PLAIN_NUMBER = r"^-?[0-9]+(?:\.[0-9]+)?$"
LEADING_DIGITS = r"^(-?[0-9]+)([0-9]{3})"


@dataclass(frozen=True)
class Form:
    """What a file has beside its dialect.

    `header`: names of variables as the first row writes them, quotes included. `ending`: line ends behind the last
    record; None: one. `quoting`: of the columns that have quotes without need. `grouped`: columns whose numbers from
    1000 on are in groups of three digits.
    """

    header: Mapping[str, str] = field(default_factory=dict)
    ending: str | None = None
    quoting: Mapping[str, QuotingRule] = field(default_factory=dict)
    grouped: frozenset[str] = frozenset()

    def renamed(self, names: Sequence[str], others: Sequence[str]) -> Form:
        """Form of the same columns under other names; the first row keeps its own."""
        new = dict(zip(names, others, strict=False))
        return Form(
            {new[name]: text for name, text in self.header.items()},
            self.ending,
            {new[name]: rule for name, rule in self.quoting.items()},
            frozenset(new[name] for name in self.grouped),
        )


@dataclass(frozen=True)
class _Writer:
    path: Path
    dialect: CsvDialect
    form: Form
    numeric: frozenset[str]
    as_written: frozenset[str]
    missing_as_written: Mapping[str, Any]

    def header(self, names: list[str]) -> bytes:
        """The first row, with its line end."""
        cells = [
            pa.array([self.form.header[name]]) if name in self.form.header else self._quoted(name, pa.array([name]))
            for name in names
        ]
        return self._lines(cells)

    def rows(self, batch: Any, start: int) -> bytes:
        """Rows of a batch, the first of which is record `start`, each with its line end."""
        cells = [
            pc.fill_null(column, "") if name in self.as_written else self._cells(name, pc.fill_null(column, ""))
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        for place, name in enumerate(batch.schema.names):
            if name in self.missing_as_written:
                held = self.missing_as_written[name].slice(start, batch.num_rows).combine_chunks()
                cells[place] = pc.coalesce(held, cells[place])
        if len(cells) == 1 and self.dialect.quote is not None and batch.schema.names[0] not in self.as_written:
            # An empty line would be no row at all for many readers.
            empty = pc.equal(pc.binary_length(cells[0]), 0)
            cells = [pc.if_else(empty, self.dialect.quote * 2, cells[0])]
        return self._lines(cells)

    def _lines(self, cells: list[Any]) -> bytes:
        dialect = self.dialect
        last = pc.binary_join_element_wise(cells[-1], dialect.line_end, "")
        ended = pc.binary_join_element_wise(*cells[:-1], last, dialect.delimiter)
        offsets = memoryview(ended.buffers()[1]).cast("i")
        return self.encoded(bytes(memoryview(ended.buffers()[2])[offsets[0] : offsets[len(ended)]]))

    def encoded(self, text: bytes) -> bytes:
        """UTF-8 text in the encoding of the file."""
        if self.dialect.encoding in ("utf-8", "utf-8-sig"):
            return text
        try:
            return str(text, "utf-8").encode(self.dialect.encoding)
        except UnicodeEncodeError:
            message = f"a cell has characters that {self.dialect.encoding} cannot write"
            raise DataError(Problem(message, Place(str(self.path)), "Declare `encoding: utf-8`.")) from None

    def _cells(self, name: str, column: Any) -> Any:
        if name in self.numeric:
            column = self._number_cells(column, grouped=name in self.form.grouped)
        return self._quoted(name, column)

    def _number_cells(self, column: Any, *, grouped: bool) -> Any:
        dialect = self.dialect
        if dialect.decimal == "." and not grouped:
            return column
        # Missing codes are among the cells, and stay what they are.
        is_number = pc.match_substring_regex(column, PLAIN_NUMBER)
        numbers = pc.replace_substring(column, ".", dialect.decimal)
        while grouped and pc.any(pc.match_substring_regex(numbers, LEADING_DIGITS)).as_py():
            numbers = pc.replace_substring_regex(numbers, LEADING_DIGITS, rf"\1{dialect.thousands}\2")
        return pc.if_else(is_number, numbers, column)

    def _quoted(self, name: str, column: Any) -> Any:
        dialect, rule = self.dialect, self.form.quoting.get(name, QuotingRule())
        special = (dialect.delimiter, dialect.quote or "\n")
        if rule == QuotingRule() and not _have_any(column, (*special, "\r", "\n")):
            return column
        pattern = "[" + "".join(f"\\x{{{ord(character):x}}}" for character in special) + "\r\n]"
        needs = pc.match_substring_regex(column, pattern)
        any_needs = pc.any(needs).as_py()
        if not any_needs and rule == QuotingRule():
            return column
        if dialect.quote is not None:
            return quoted_cells(column, dialect, rule, needs)
        message = f"variable {name!r} has cells that hold the delimiter or a line end, and no quote is declared"
        raise DataError(Problem(message, Place(str(self.path)), "Declare `quote: '\"'`, or another delimiter."))


def _have_any(column: Any, characters: Iterable[str]) -> bool:
    """Whether the bytes of a string column have any of these characters."""
    data = column.buffers()[2]
    raw = b"" if data is None else data.to_pybytes()
    return any(character.encode() in raw for character in characters)


def write_csv(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write batches of string columns as CSV in the original's dialect; null is an empty cell.

    Parameters
    ----------
    path : Path
    batches : iterable of pyarrow.RecordBatch
    variables : tuple of Variable
        The columns, in order.
    layout : Layout
        Of the original file; one of another format gives commas, UTF-8 and a header.

    Raises
    ------
    DataError
        A text that the dialect or its encoding cannot hold, or trouble with the disk.
    """
    details = layout.details if layout.format == "csv" else {}
    dialect = CsvDialect(**{name: details[name] for name in CsvDialect.__dataclass_fields__ if name in details})
    form: Form = details.get("form", Form())
    names = [variable.name for variable in variables]
    numeric = frozenset(each.name for each in variables if each.is_numeric and not each.is_date)
    writer = _Writer(path, dialect, form, numeric, layout.as_written, layout.missing_as_written)
    line_end = writer.encoded(dialect.line_end.encode())
    with writing(path) as file:
        file.write(dialect.bom)
        last = writer.header(names) if dialect.header else b""
        start = 0
        for batch in batches:
            if batch.num_rows:
                file.write(last)
                last = writer.rows(batch, start)
                start += batch.num_rows
        is_empty_row = len(names) == 1 and last.endswith(2 * line_end)
        if form.ending is None or is_empty_row or not last:
            file.write(last)
        else:
            file.write(last.removesuffix(line_end) + writer.encoded(form.ending.encode()))
