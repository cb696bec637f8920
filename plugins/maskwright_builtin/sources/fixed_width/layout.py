"""The layout of fixed-width files, declared or from metadata of µ-Argus, also for separated files."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, field_validator

from maskwright import (
    DataError,
    Layout,
    NumberNotation,
    Place,
    Problem,
    Progress,
    VariableDeclaration,
    WrittenBatch,
)
from maskwright_builtin.sources.csv.dialect import CsvParams
from maskwright_builtin.sources.csv.source import CsvReading
from maskwright_builtin.sources.files import WrittenReading, reading, text_encoding

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence


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
    """Columns of a file, and what their metadata declare; `places` are 0 in separated files.

    `decimals`: of the metadata. The cells themselves show how many they have, and whether a point is written.
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


TOKEN = re.compile(r'"[^"]*"|\S+')
KNOWN = ("<RECODEABLE>", "<RECODABLE>", "<NUMERIC>", "<DECIMALS>", "<WEIGHT>", "<HOUSE_ID>", "<HOUSEHOLD>",
         "<CODELIST>", "<IDLEVEL>", "<TRUNCABLE>", "<SUPPRESSWEIGHT>", "<RELATED>")  # fmt: skip
LARGEST = 8_000_000


@dataclass
class _Described:
    """A variable as its lines say."""

    name: str
    start: int
    width: int
    missing: Sequence[str]
    keywords: dict[str, str] = field(default_factory=dict)


def read_metadata(path: Path) -> Form:
    """Form of a data file that metadata of µ-Argus describe."""
    separator, has_names = None, False
    described: list[_Described] = []
    for line, text in enumerate(_text(path).splitlines(), 1):
        tokens = [token.strip('"') for token in TOKEN.findall(text)]
        place = Place(str(path), line)
        if not tokens:
            continue
        word = tokens[0].upper()
        if not word.startswith("<"):
            described.append(_variable(tokens, place, is_separated=separator is not None or has_names))
        elif word in ("<SEPARATOR>", "<NAMESINFRONT>") and not described:
            has_names = has_names or word == "<NAMESINFRONT>"
            separator = _separator(tokens, place) if word == "<SEPARATOR>" else separator
        elif word == "<SPSS>":
            hint = "Read the .sav file itself."
            raise DataError(Problem("these metadata describe an SPSS file", place, hint))
        elif not described:
            raise DataError(Problem(f"{tokens[0]} stands before any variable", place))
        elif word in KNOWN:
            described[-1].keywords[word] = tokens[1] if len(tokens) > 1 else ""
        else:
            message = f"unknown keyword {tokens[0]}"
            raise DataError(Problem(message, place, f"Those of µ-Argus are: {', '.join(KNOWN)}."))
    return _form(path, described, separator, has_names=has_names)


def _form(path: Path, described: list[_Described], separator: str | None, *, has_names: bool) -> Form:
    place = Place(str(path))
    if not described:
        raise DataError(Problem("the metadata describe no variable", place))
    names = [each.name for each in described]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(Problem(f"the metadata describe variables twice: {', '.join(twice[:5])}", place))
    places = {each.name: (each.start, each.width) for each in described}
    if separator is None and not has_names:
        check_places(places, place)
    return Form(
        places,
        separator or ("," if has_names else None),
        has_names,
        {each.name: _declared(each, path) for each in described},
        tuple(note for each in described for note in _notes(each)),
        {each.name: each.keywords["<DECIMALS>"] for each in described if each.keywords.get("<DECIMALS>", "0") != "0"},
    )


def _text(path: Path) -> str:
    place = Place(str(path))
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise DataError(Problem(f"the metadata cannot be read: {error.strerror or error}", place)) from None
    if len(raw) > LARGEST:
        raise DataError(Problem(f"the metadata have more than {LARGEST} bytes", place))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        # µ-Argus writes the code page of Windows.
        return raw.decode("cp1252", errors="replace")


def _separator(tokens: list[str], place: Place) -> str:
    given = tokens[1] if len(tokens) > 1 else ""
    separator = {"\\t": "\t", "": "\t" if len(tokens) > 1 else ""}.get(given, given)
    if len(separator) != 1:
        raise DataError(Problem("<SEPARATOR> needs one character", place, 'Write it in quotes: <SEPARATOR> ";"'))
    return separator


def _variable(tokens: list[str], place: Place, *, is_separated: bool) -> _Described:
    numbers = tokens[1:2] if is_separated else tokens[1:3]
    if len(numbers) < (1 if is_separated else 2) or not all(each.isdecimal() and int(each) > 0 for each in numbers):
        expected = "NAME LENGTH [MISSING [MISSING]]" if is_separated else "NAME START LENGTH [MISSING [MISSING]]"
        raise DataError(Problem(f"the variable {tokens[0]!r} has no place", place, f"Expected: {expected}"))
    places = [int(each) for each in numbers]
    start, width = (0, 0) if is_separated else (places[0], places[1])
    return _Described(tokens[0], start, width, tuple(dict.fromkeys(filter(None, tokens[1 + len(numbers) :]))))


def _declared(each: _Described, path: Path) -> VariableDeclaration:
    facts: dict[str, Any] = {}
    if each.missing:
        facts["missing"] = each.missing
    if "<WEIGHT>" in each.keywords:
        facts |= {"role": "weight", "type": "continuous"}
    elif "<NUMERIC>" in each.keywords:
        facts["type"] = "continuous"
    elif {"<RECODEABLE>", "<RECODABLE>"} & each.keywords.keys():
        facts["type"] = "nominal"
    level = each.keywords.get("<IDLEVEL>", "0")
    if level.isdecimal() and int(level) > 0 and "role" not in facts:
        facts["role"] = "quasi_identifier"
    if each.keywords.get("<CODELIST>"):
        facts["labels"] = _labels(path.parent / each.keywords["<CODELIST>"])
    return VariableDeclaration(**facts)


def _labels(path: Path) -> dict[str, str]:
    """What codes mean, from a list of lines ``code,meaning``."""
    pairs = (line.partition(",") for line in _text(path).splitlines() if line.strip())
    return {code.strip().strip('"'): meaning.strip().strip('"') for code, _, meaning in pairs}


def _notes(each: _Described) -> list[str]:
    if "<HOUSE_ID>" in each.keywords:
        return [f"{each.name}: identifies households by the metadata; declare `cluster: {each.name}` to count them"]
    return []


class SeparatedReading(WrittenReading):
    """A file of cells between separators, with or without names in front."""

    def __init__(self, path: Path, form: Form, params: FixedWidthParams, progress: Progress) -> None:
        self._path = path
        self._form = form
        options = CsvParams(
            delimiter=form.separator,
            quote='"',
            header=form.has_names,
            encoding=params.encoding,
            decimal=params.decimal,
            thousands=None,
            max_file_size=params.max_file_size,
        )
        self._csv = CsvReading(path, options, progress)

    @property
    def declared(self) -> Mapping[str, VariableDeclaration]:
        """What the metadata say of the variables."""
        return self._form.declared

    def written_batches(self) -> Generator[WrittenBatch]:
        """Yield the records, and the cells as they are written where that is another form."""
        names = list(self._form.places)
        for batch in self._csv.written_batches():
            there = batch.cells.schema.names
            if len(there) != len(names) or (self._form.has_names and there != names):
                message = f"the file has {len(there)} columns, and the metadata describe {len(names)}, or other names"
                hint = "Metadata of a file with separators describe every column of it, in order."
                raise DataError(Problem(message, Place(str(self._path), 1), hint))
            new = dict(zip(there, names, strict=True))
            written = {new[name]: cells for name, cells in batch.written.items()}
            yield WrittenBatch(batch.cells.rename_columns(names), written)

    @property
    def numbers(self) -> NumberNotation:
        """How the file writes numbers."""
        return self._csv.numbers

    @property
    def layout(self) -> Layout:
        """The dialect."""
        details = dict(self._csv.layout.details)
        details["form"] = details["form"].renamed(self._csv.names, list(self._form.places))
        return Layout("fixed_width", {"separated": details, "notes": (*self._form.notes, *details["notes"])})


def read_separated_plainly(
    path: Path, details: Mapping[str, Any], names: Sequence[str]
) -> Iterator[list[list[str | None]]]:
    """Rows of a written file, by the standard library's reader."""
    with reading(path) as file, io.TextIOWrapper(file, encoding=details["encoding"], newline="") as text:
        rows = csv.reader(text, delimiter=details["delimiter"], quotechar=details["quote"], strict=True)
        next(rows, None) if details["header"] else None
        while block := [row or [""] for row in islice(rows, 1 << 15) if row or len(names) == 1]:
            if any(len(row) != len(names) for row in block):
                raise ValueError("other columns")
            yield [list(row) for row in block]
