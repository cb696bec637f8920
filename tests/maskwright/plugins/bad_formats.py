"""Bad sources, edit readers and reports: what each does, and what is said of it. None of them may release a file.

The sources write a plain format, ``.rows``: names, then records, cells between tabs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from pydantic import BaseModel

import maskwright as mw
from maskwright import EditSet, Format, Layout, Report, RuleLanguage, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Rows = list[list[str]]
KIND = Literal["source", "rule_language", "report"]


@dataclass(frozen=True)
class BadPlugin:
    """A plugin that does something wrong.

    Attributes
    ----------
    name : str
    kind : {"source", "rule_language", "report"}
    does : str
        In a few words.
    plugin : object
        As a hook offers it.
    message : str
        That names it, in what a person reads.
    """

    name: str
    kind: KIND
    does: str
    plugin: Any
    message: str


class RowsReading:
    """A file of rows."""

    def __init__(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (UnicodeDecodeError, FileNotFoundError):
            raise mw.DataError("not a file of rows in UTF-8") from None
        self.names, *self.rows = [line.split("\t") for line in lines or [""]]
        if any(len(row) != len(self.names) for row in self.rows):
            raise mw.DataError("a row has not as many cells as there are names")

    def batches(self) -> Iterator[Any]:
        columns = list(zip(*self.rows, strict=True)) or [() for _ in self.names]
        yield pa.record_batch([pa.array(each, pa.string()) for each in columns], names=self.names)

    @property
    def layout(self) -> Layout:
        return Layout("rows")


def read_rows(path: Path, params: BaseModel, progress: Callable[[float], None]) -> RowsReading:
    return RowsReading(path)


def gathered(batches: Iterable[Any]) -> tuple[list[str], Rows]:
    names: list[str] = []
    rows: Rows = []
    for batch in batches:
        names = batch.schema.names
        rows += [["" if cell is None else cell for cell in row.values()] for row in batch.to_pylist()]
    return names, rows


def written(names: list[str], rows: Rows, path: Path, encoding: str = "utf-8") -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in [names, *rows]), encoding=encoding)


def source(name: str = "rows", change: Callable[[list[str], Rows], tuple[list[str], Rows]] | None = None) -> Source:
    def write(path: Path, batches: Iterable[Any], variables: Any, layout: Layout) -> None:
        names, rows = gathered(batches)
        if change is not None:
            names, rows = change(names, rows)
        written(names, rows, path)

    return Source(name=name, suffixes=(".rows",), open=read_rows, write=write)


def with_cell(
    column: int, row: int, change: Callable[[str], str]
) -> Callable[[list[str], Rows], tuple[list[str], Rows]]:
    def changed(names: list[str], rows: Rows) -> tuple[list[str], Rows]:
        rows[row][column] = change(rows[row][column])
        return names, rows

    return changed


def in_latin_1(path: Path, batches: Iterable[Any], variables: Any, layout: Layout) -> None:
    names, rows = gathered(batches)
    written(names, rows, path, "latin-1")


def nothing(path: Path, batches: Iterable[Any], variables: Any, layout: Layout) -> None:
    for _ in batches:
        pass


def folder(path: Path, batches: Iterable[Any], variables: Any, layout: Layout) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def half(path: Path, batches: Iterable[Any], variables: Any, layout: Layout) -> None:
    names, rows = gathered(batches)
    written(names, rows, path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def codes(names: list[str], rows: Rows, code: str) -> tuple[list[str], Rows]:
    return names, [[code if cell == "-9" else cell for cell in row] for row in rows]


# Columns: town, income (two decimals, -9 is missing in the rows 4, 11, ...), day.
DOES: tuple[tuple[str, str, Callable[[list[str], Rows], tuple[list[str], Rows]], str], ...] = (
    ("drops-the-last", "drops the last record", lambda names, rows: (names, rows[:-1]), "39 records instead of 40"),
    ("drops-one", "drops a record", lambda names, rows: (names, rows[:6] + rows[7:]), "39 records instead of 40"),
    ("adds-one", "writes the last record twice", lambda names, rows: (names, [*rows, rows[-1]]),
     "41 records instead of 40"),
    ("turns-round", "writes the records in reverse order", lambda names, rows: (names, rows[::-1]), "row 1"),
    ("swaps-two", "swaps two records", lambda names, rows: (names, [*rows[:4], rows[5], rows[4], *rows[6:]]), "row 5"),
    ("sorts", "sorts the records", lambda names, rows: (names, sorted(rows)), "column"),
    ("adds-a-cent", "alters the last digit of one number", with_cell(1, 16, lambda cell: f"{float(cell) + 0.01:.2f}"),
     "row 17, column income"),
    ("alters-all", "doubles every number",
     lambda names, rows: (names, [[a, b if b == "-9" else f"{2 * float(b):.2f}", c] for a, b, c in rows]),
     "more, column income"),
    ("rounds", "rounds numbers",
     lambda names, rows: (names, [[a, f"{float(b):.0f}", c] for a, b, c in rows]), "more, column income"),
    ("alters-a-code", "writes another category", with_cell(0, 2, lambda cell: "Yorck"), "row 3, column town"),
    ("shouts", "writes texts in capitals", lambda names, rows: (names, [[a.upper(), b, c] for a, b, c in rows]),
     "more, column town"),
    ("trims", "takes blanks away", lambda names, rows: (names, [[a.strip(), b, c] for a, b, c in rows]), "column town"),
    ("moves-a-day", "alters a date", with_cell(2, 0, lambda cell: "2001-01-01"), "row 1, column day"),
    ("other-code", "writes another missing code", lambda names, rows: codes(names, rows, "-8"), "column income"),
    ("empty-code", "writes empty cells for missing codes", lambda names, rows: codes(names, rows, ""), "column income"),
    ("fills", "fills missing cells", lambda names, rows: codes(names, rows, "17.25"), "column income"),
    ("empties", "leaves a number out", with_cell(1, 7, lambda cell: ""), "row 8, column income"),
    ("word-among-numbers", "writes a word among numbers", with_cell(1, 7, lambda cell: "many"), "cannot be read back"),
    ("drops-a-column", "leaves a column out",
     lambda names, rows: (names[:-1], [row[:-1] for row in rows]), "without column day"),
    ("adds-a-column", "adds a column",
     lambda names, rows: ([*names, "secret"], [[*row, "s"] for row in rows]), "with 1 more column"),
    ("swaps-columns", "writes the columns in another order",
     lambda names, rows: (names[::-1], [row[::-1] for row in rows]), "columns in another order"),
    ("swaps-names", "swaps the names of two columns", lambda names, rows: (names[::-1], rows), "cannot be read back"),
    ("renames", "renames a column", lambda names, rows: (["city", *names[1:]], rows), "without column town"),
    ("no-records", "writes names only", lambda names, rows: (names, []), "cannot be read back"),
)  # fmt: skip

SOURCES = (
    *(
        BadPlugin(name, "source", does, source("rows", change), message)
        for name, does, change, message in DOES
    ),
    BadPlugin("latin-1", "source", "writes another encoding", replace(source(), write=in_latin_1),
              "cannot be read back"),
    BadPlugin("half", "source", "stops in the middle", replace(source(), write=half),
              "does not give back what it was given to write"),
    BadPlugin("nothing", "source", "writes nothing", replace(source(), write=nothing), "cannot be read back"),
    BadPlugin("folder", "source", "makes a folder", replace(source(), write=folder), "there is no file"),
)  # fmt: skip
"""Sources that write something else than they are given."""


class Shadowed(BaseModel):
    """Options of which one is a key of the pipeline's own."""

    missing: str = ""


class FileParams(BaseModel):
    """Options of which one is a key of the pipeline's own."""

    file: str = ""


def read_nothing(path: Path, params: BaseModel | None = None) -> EditSet:
    return EditSet()


def write_nothing(path: Path, record: object) -> None:
    path.write_text("", encoding="utf-8")


class Grouped(BaseModel):
    """A parameter that the planner reads."""

    group_size: int = 3


class Patterns(BaseModel):
    """A parameter that the planner reads."""

    missing: str = "own_pattern"


def protect(block: Any, params: BaseModel, rng: Any) -> Any:
    raise AssertionError("not called here")


CLAIMS = (
    BadPlugin("aaa-csv", "source", "claims .csv", replace(source("aaa"), suffixes=(".csv",)), "format: aaa"),
    BadPlugin("aaa-csv-gz", "source", "claims .csv.gz", replace(source("aaa"), suffixes=(".csv.gz",)), "format: aaa"),
    BadPlugin("aaa-data-csv", "source", "claims a longer ending of .csv",
              replace(source("aaa"), suffixes=(".data.csv",)), "format: aaa"),
    BadPlugin("aaa-folder", "source", "claims folders",
              replace(source("aaa"), suffixes=(".aaa",), format=Format(reads_folders=True)), "format: aaa"),
    BadPlugin("aaa-yaml", "rule_language", "claims .yaml",
              RuleLanguage(name="aaa", suffixes=(".yaml", ".yml"), read=read_nothing), "aaa: FILE"),
    BadPlugin("aaa-sch", "rule_language", "claims .sch",
              RuleLanguage(name="aaa", suffixes=(".sch",), read=read_nothing), "aaa: FILE"),
)  # fmt: skip
"""Plugins that claim endings of built-in ones: they work, and are used only where they are named."""

SHADOWED = (
    *(
        BadPlugin(f"report-{name}", "report", f"is called {name}", Report(name=name, write=write_nothing),
                  f"a report cannot be called {name!r}")
        for name in ("data", "svrl", "record", "public_record", "edits", "codebook", "key_map", "formulas", "numbers")
    ),
    BadPlugin("source-missing", "source", "has an option missing", replace(source(), params=Shadowed),
              "an option cannot be called 'missing'"),
    BadPlugin("reader-file", "rule_language", "has an option file",
              RuleLanguage(name="lines", suffixes=(".lines",), read=read_nothing, params=FileParams),
              "an option cannot be called 'file'"),
    BadPlugin("reader-rule", "rule_language", "is called rule",
              RuleLanguage(name="rule", suffixes=(".lines",), read=read_nothing),
              "a rule language cannot be called 'rule'"),
)  # fmt: skip
"""Names and parameters that the pipeline's own keys would hide."""
