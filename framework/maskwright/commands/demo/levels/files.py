"""The files of the two-level example: a survey in three forms, its edits in two languages, a pipeline for each form."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files as package_files
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.commands.demo.files import BLOCKS, BLOCKS_ABOVE, foreign_files, left_alone, refuse_size, xml_elements
from maskwright.commands.demo.levels.model import CATEGORIES, DECIMALS, HOUSEHOLD, PERSON, survey
from maskwright.data.number_text import cell_bytes, write_numbers
from maskwright.foundation.errors import InputError
from maskwright.foundation.files import write_text, write_whole
from maskwright.foundation.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from maskwright.commands.demo.levels.model import Households, Numbers

HEADERS = {
    "survey.csv": f"{','.join((*HOUSEHOLD, *PERSON))}\n".encode(),
    "households.csv": f"{','.join(HOUSEHOLD)}\n".encode(),
    "persons.csv": f"{','.join(('hhid', *PERSON))}\n".encode(),
    "survey.xml": b'<?xml version="1.0" encoding="UTF-8"?>\n<Survey>\n',
}
"""What each data file begins with, in the order in which `_blocks` gives their lines."""
FOOTERS = {"survey.xml": b"</Survey>\n"}

RULES = ("edits.yaml", "survey.sch")
PIPELINES = ("flat.yaml", "linked.yaml", "nested.yaml")
CLUSTERING = ("flat.yaml", "linked.yaml")
"""Pipelines that look for clusters."""

AS_TRIED = ("thresholds={}",)
"""Setting over those of the flat pipeline, whose threshold is there to be missed."""

HOUSEHOLDS = 6_000
FEWEST_HOUSEHOLDS = 10
MOST_HOUSEHOLDS = 10_000_000


@dataclass(frozen=True)
class LevelsDemoFiles:
    """Where the two-level example was written, and how large it is.

    `flat`, `households`, `persons`, `nested`: the same survey: a row for each person; a row for each household and one
    for each person; XML. `pipelines`: one for each form: flat, linked, nested.
    """

    flat: Path
    households: Path
    persons: Path
    nested: Path
    edits: Path
    schematron: Path
    pipelines: tuple[Path, Path, Path]
    household_count: int
    person_count: int


def write_levels_demo(folder: Path, households: int = HOUSEHOLDS, progress: Progress = silent) -> LevelsDemoFiles:
    """Write one survey of households and persons in three forms, with edits and pipelines; always the same bytes."""
    refuse_size(households, FEWEST_HOUSEHOLDS, MOST_HOUSEHOLDS, "households")
    texts = {name: _text(name, households) for name in (*RULES, *PIPELINES)}
    own = {name: {_text(name, FEWEST_HOUSEHOLDS), _text(name, MOST_HOUSEHOLDS)} for name in texts}
    foreign = foreign_files(folder, HEADERS, own)
    if foreign:
        hint = "Choose another folder: maskwright demo --levels DIR"
        raise InputError([left_alone(path, hint) for path in foreign])
    persons = 0

    def write(temporary: Sequence[Path]) -> None:
        nonlocal persons
        persons = _write_survey(temporary, households, progress)

    _write_together([folder / name for name in HEADERS], write)
    for name, text in texts.items():
        write_text(folder / name, text)
    return LevelsDemoFiles(
        flat=folder / "survey.csv",
        households=folder / "households.csv",
        persons=folder / "persons.csv",
        nested=folder / "survey.xml",
        edits=folder / "edits.yaml",
        schematron=folder / "survey.sch",
        pipelines=(folder / "flat.yaml", folder / "linked.yaml", folder / "nested.yaml"),
        household_count=households,
        person_count=persons,
    )


def _text(name: str, households: int) -> str:
    text = (package_files("maskwright.commands.demo.levels") / name).read_text(encoding="utf-8")
    return text + BLOCKS if name in CLUSTERING and households > BLOCKS_ABOVE else text


def _write_together(
    paths: Sequence[Path], write: Callable[[Sequence[Path]], None], temporary: tuple[Path, ...] = ()
) -> None:
    """Write several files at once; each appears when all are written."""
    if not paths:
        write(temporary)
        return
    write_whole(paths[0], lambda path: _write_together(paths[1:], write, (*temporary, path)))


def _write_survey(paths: Sequence[Path], households: int, progress: Progress) -> int:
    persons = done = 0
    with ExitStack() as stack:
        streams = [stack.enter_context(path.open("wb")) for path in paths]
        for stream, header in zip(streams, HEADERS.values(), strict=True):
            stream.write(header)
        for part in survey(households):
            for stream, lines in zip(streams, _blocks(part), strict=True):
                stream.write(cell_bytes(lines))
            done += len(part.starts) - 1
            persons += int(part.starts[-1])
            progress(done / households)
        for stream, name in zip(streams, HEADERS, strict=True):
            stream.write(FOOTERS.get(name, b""))
    return persons


def _blocks(part: Households) -> tuple[pa.StringArray, ...]:
    """Lines of households for each data file, in the order of `HEADERS`."""
    household, person = _cells(part.household), _cells(part.person)
    home = pa.array(np.repeat(np.arange(len(part.starts) - 1), np.diff(part.starts)))
    row, member = _joined(_separated(household, HOUSEHOLD)), _joined(_separated(person, PERSON))
    return (
        _joined([row.take(home), ",", member, "\n"]),
        _joined([row, "\n"]),
        _joined([household["hhid"].take(home), ",", member, "\n"]),
        _nested(household, person, part),
    )


def _nested(household: Mapping[str, pa.Array], person: Mapping[str, pa.Array], part: Households) -> pa.StringArray:
    members = _joined(["    <Person>", *xml_elements(person, PERSON), "</Person>\n"])
    inside = pc.binary_join(pa.ListArray.from_arrays(pa.array(part.starts, pa.int32()), members), "")
    return _joined(["  <Household>", *xml_elements(household, HOUSEHOLD), "\n", inside, "  </Household>\n"])


def _cells(level: Mapping[str, Numbers]) -> dict[str, pa.StringArray]:
    return {name: _cells_of(name, values) for name, values in level.items()}


def _cells_of(name: str, values: Numbers) -> pa.StringArray:
    if name in CATEGORIES:
        return pa.array(CATEGORIES[name], pa.string()).take(pa.array(values))
    if name in DECIMALS:
        return write_numbers(values.astype(np.float64), np.zeros(len(values), dtype=np.bool_), DECIMALS[name])
    text = pc.cast(pa.array(values), pa.string())
    return _joined(["H", pc.utf8_lpad(text, 7, "0")]) if name == "hhid" else text


def _separated(cells: Mapping[str, pa.Array], names: Iterable[str]) -> list[pa.Array | str]:
    pieces: list[pa.Array | str] = []
    for name in names:
        pieces += [cells[name], ","]
    return pieces[:-1]


def _joined(pieces: Iterable[pa.Array | str]) -> pa.StringArray:
    return pc.binary_join_element_wise(*pieces, "")
