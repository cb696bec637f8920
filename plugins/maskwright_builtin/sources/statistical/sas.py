"""SAS files: sas7bdat read, transport files read and written, with special missing values."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Format, FormatFacts, Layout, Source, Variable
from maskwright_builtin.sources.files import ROWS, reading
from maskwright_builtin.sources.statistical.declarations import Family, Moments, StatisticalParams
from maskwright_builtin.sources.statistical.reading import StatisticalReading
from maskwright_builtin.sources.statistical.writing import (
    WrittenColumn,
    not_written,
    padded,
    planned_columns,
    too_long,
    write_file,
    written_columns,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright import Progress


CARD = 80
NAMES = re.compile(rb"HEADER RECORD\*{7}(?:NAMESTR|NAMSTV8) HEADER RECORD!{7}(\d{10})")
RECORDS = (b"HEADER RECORD*******OBS     HEADER RECORD", b"HEADER RECORD*******OBSV8   HEADER RECORD")
DESCRIPTION = 140
"""Bytes of the description of a variable."""
LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ_", dtype=np.uint8)


def special_missing_values(path: Path) -> int:
    """How many numbers of a transport file are special missing values: ``.A`` to ``.Z``, or ``._``."""
    found = 0
    with reading(path) as file:
        start = file.read(CARD * 8)
        named = NAMES.search(start)
        if named is None:
            return 0
        count = int(named[1])
        file.seek(named.start() + CARD)
        described = file.read(-(-count * DESCRIPTION // CARD) * CARD)
        numbers, length = [], 0
        for position in range(0, count * DESCRIPTION, DESCRIPTION):
            kind, _, width = struct.unpack_from(">hhh", described, position)
            (at,) = struct.unpack_from(">i", described, position + 84)
            length = max(length, at + width)
            if kind == 1:
                numbers.append((at, width))
        while (card := file.read(CARD)) and not card.startswith(RECORDS):
            pass
        while len(block := file.read(length * ROWS)) >= length > 0:
            cells = np.frombuffer(block, dtype=np.uint8, count=len(block) // length * length).reshape(-1, length)
            found += sum(_specials(cells[:, at : at + width]) for at, width in numbers)
    return found


def _specials(cells: NDArray[np.uint8]) -> int:
    """Cells of a number whose first byte is a letter, and all others nothing."""
    return int(np.count_nonzero(np.isin(cells[:, 0], LETTERS) & ~cells[:, 1:].any(axis=1)))


SECONDS = 86_400.0
DATES: tuple[str, ...] = (
    "DATE", "DDMMYY", "DDMMYYB", "DDMMYYC", "DDMMYYD", "DDMMYYN", "DDMMYYP", "DDMMYYS", "MMDDYY", "MMDDYYB", "MMDDYYC",
    "MMDDYYD", "MMDDYYN", "MMDDYYP", "MMDDYYS", "YYMMDD", "YYMMDDB", "YYMMDDC", "YYMMDDD", "YYMMDDN", "YYMMDDP",
    "YYMMDDS", "E8601DA", "B8601DA", "IS8601DA", "JULIAN", "MONYY", "YYMM", "YYMON", "YYQ", "WEEKDATE", "WEEKDATX",
    "WORDDATE", "WORDDATX",
)  # fmt: skip
DATETIMES: tuple[str, ...] = ("DATETIME", "DATEAMPM", "DTDATE", "E8601DT", "B8601DT", "IS8601DT", "MDYAMPM")
_DAYS: dict[str, tuple[str, float]] = dict.fromkeys(DATES, ("date", 1.0))
_SECONDS: dict[str, tuple[str, float]] = dict.fromkeys(DATETIMES, ("datetime", SECONDS))
SAS_MOMENTS = Moments(3_653, _DAYS | _SECONDS)
"""Since 1 January 1960, in days or in seconds; times of a day are left numbers."""
SAS7BDAT = Family("sas", "a SAS data set", "read_sas7bdat", SAS_MOMENTS, rows=0)
XPT = Family(
    "sas_transport",
    "a SAS transport file",
    "read_xport",
    SAS_MOMENTS,
    rows=0,
    tells_codes=False,
    is_whole=lambda _, __, size: size % CARD == 0,
)
LARGEST = {5: {"name": 8, "label": 40, "text": 200}, 8: {"name": 32, "label": 256, "text": 32_767}}
LARGEST_NUMBER = 7.2e75
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def open_sas(path: Path, params: Any, progress: Progress) -> StatisticalReading:
    """Open a ``.sas7bdat`` file."""
    return StatisticalReading(path, SAS7BDAT, params, progress)


class TransportReading(StatisticalReading):
    """A transport file, of which the version is kept."""

    def __init__(self, path: Path, params: StatisticalParams, progress: Progress) -> None:
        super().__init__(path, XPT, params, progress)
        with reading(path) as file:
            self._version = 8 if file.read(CARD).startswith(b"HEADER RECORD*******LIBV8") else 5
        self._special = special_missing_values(path)

    @property
    def layout(self) -> Layout:
        """How each variable is written, by name, and the version of the file."""
        layout = super().layout
        note = f"{self._special} special missing values (.A to .Z) are read, and written, as missing without a letter"
        notes = (*layout.details["notes"], *((note,) if self._special else ()))
        return replace(layout, details={**layout.details, "version": self._version, "notes": notes})


def open_xpt(path: Path, params: Any, progress: Progress) -> TransportReading:
    """Open a ``.xpt`` file; as `open_sas`."""
    return TransportReading(path, params, progress)


def write_xpt(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write a transport file."""
    import pandas as pd

    columns = written_columns(path, batches, variables, layout, XPT)
    version = _version(layout)
    _check(path, columns, version)
    for column in columns:
        if not column.form.is_text and np.nanmax(np.abs(column.values), initial=0.0) > LARGEST_NUMBER:
            raise column.refused(path, f"a transport file holds no numbers beyond {LARGEST_NUMBER:g}")
    frame = pd.DataFrame({each.name: padded(each) if each.form.is_text else each.values for each in columns})
    write_file(path, "write_xport", frame, columns, file_format_version=version)


def refuse_unwritable(path: Path, variables: tuple[Variable, ...], layout: Layout) -> None:
    """Refuse names and labels that a transport file cannot hold; as `Source.refuse_unwritable`."""
    _check(path, planned_columns(variables, layout, XPT), _version(layout))


def _version(layout: Layout) -> int:
    return int(layout.details.get("version", 5)) if layout.format == XPT.source else 5


def _check(path: Path, columns: list[WrittenColumn], version: int) -> None:
    too_long(path, columns, LARGEST[version])
    for column in columns:
        if not NAME.fullmatch(column.name):
            hint = "Names in SAS have letters, digits and underscores: rename it, or write another format."
            raise column.refused(path, "SAS does not take its name", hint)


def _read_plainly(path: Path, details: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[list[str | None]]]:
    """Rows of a written file, as pyreadstat gives them to pandas.

    pandas has a reader of its own, of version 5 only, and loses records that end with blanks: it cannot judge.
    """
    del details
    import pyreadstat

    from maskwright_builtin.sources.statistical.data_frame_rows import rows_by_pyreadstat

    return rows_by_pyreadstat(pyreadstat.read_xport, path, names, SAS_MOMENTS)


SAS = Source(
    name=SAS7BDAT.source,
    suffixes=(".sas7bdat",),
    open=open_sas,
    write=not_written,
    format=Format(
        not_written="Write .xpt, which SAS imports, or .sav or .csv.",
        holds=FormatFacts(
            types="numbers and texts, with formats",
            labels="of variables; value labels are in catalogues, which are not read",
            missing_codes=".A to .Z and ._, without labels",
            dates="dates and times, as days or seconds since 1960",
            precision="15 to 17 digits (binary64)",
            texts="32,767 bytes",
            names="32 bytes",
        ),
    ),
    params=StatisticalParams,
    writes_text=False,
    summary="Read only; special missing values are .A to .Z. Write .xpt.",
)
SAS_TRANSPORT = Source(
    name=XPT.source,
    suffixes=(".xpt",),
    open=open_xpt,
    write=write_xpt,
    params=StatisticalParams,
    format=Format(
        params_of_written=lambda _: StatisticalParams(),
        loses=frozenset({"blanks_at_end"}),
        refuse_unwritable=refuse_unwritable,
        holds=FormatFacts(
            types="numbers and texts, with formats",
            labels=f"of variables ({LARGEST[5]['label']} bytes; {LARGEST[8]['label']} in version 8), not of values",
            missing_codes="codes stay as values; special ones (.A to .Z) become empty",
            dates="dates and times, as days or seconds since 1960",
            precision=f"16 to 17 digits, up to {LARGEST_NUMBER:g}",
            texts=f"{LARGEST[5]['text']} bytes ({LARGEST[8]['text']:,} in version 8), without blanks at the end",
            names=f"{LARGEST[5]['name']} letters, digits and underscores ({LARGEST[8]['name']} in version 8)",
            file_itself="name, label and time of the table stay behind",
        ),
    ),
    writes_text=False,
    read_plainly=_read_plainly,
    summary="Labels and formats are kept; names have 8 characters, labels 40, texts 200 bytes in version 5.",
)
