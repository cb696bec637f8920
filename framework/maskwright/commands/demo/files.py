"""The three files of the example: data, edits, pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files as package_files
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from maskwright.commands.demo.model import NAMES, survey
from maskwright.commands.demo.own_files import foreign_files, left_alone
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Progress, silent
from maskwright.foundation.whole_files import write_text, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEADER = b'<?xml version="1.0" encoding="UTF-8"?>\n<HouseholdSurvey>\n'
FOOTER = b"</HouseholdSurvey>\n"
RECORD = "Household"

FEWEST_RECORDS = 10
MOST_RECORDS = 20_000_000
BLOCKS_ABOVE = 100_000

BLOCKS = f"""
# Clusters are looked for inside blocks of neighbouring records: quick, and a little more loss than without blocks.
# Written above {BLOCKS_ABOVE} records; the report names the mode. k and the edits hold either way.
execution: {{block_size: 50000}}
"""


@dataclass(frozen=True)
class DemoFiles:
    """Where the example was written, and how many records it has."""

    data: Path
    edits: Path
    pipeline: Path
    records: int


def write_demo(folder: Path, records: int = 1080, progress: Progress = silent) -> DemoFiles:
    """Write the example: `survey.xml`, `survey.sch` and `pipeline.yaml`.

    The same number of records gives the same bytes. Memory does not grow with the number of records.

    `folder`: made if it does not exist. `records`: households in the survey, >= 10. `progress`: told the share of the
    records written.
    """
    if records < FEWEST_RECORDS:
        raise InputError(f"the example needs at least {FEWEST_RECORDS} records; asked for {records}")
    if records > MOST_RECORDS:
        raise InputError(f"the example has at most {MOST_RECORDS:,} records; asked for {records:,}")
    texts = {"survey.sch": _text("survey.sch"), "pipeline.yaml": pipeline_text(records)}
    own = {
        "survey.sch": {texts["survey.sch"]},
        "pipeline.yaml": {_text("pipeline.yaml"), _text("pipeline.yaml") + BLOCKS},
    }
    target = DemoFiles(folder / "survey.xml", folder / "survey.sch", folder / "pipeline.yaml", records)
    _refuse_to_overwrite(target, own)
    write_whole(target.data, lambda path: _write_data(path, records, progress))
    for name, text in texts.items():
        write_text(folder / name, text)
    return target


def pipeline_text(records: int) -> str:
    """Text of the example's pipeline for a survey of that many records."""
    return _text("pipeline.yaml") + (BLOCKS if records > BLOCKS_ABOVE else "")


def _text(name: str) -> str:
    return (package_files("maskwright.commands.demo") / name).read_text(encoding="utf-8")


def _refuse_to_overwrite(target: DemoFiles, own: dict[str, set[str]]) -> None:
    foreign = foreign_files(target.data.parent, {target.data.name: HEADER}, own)
    if not foreign:
        return
    hint = "Choose another folder: maskwright demo DIR"
    if target.pipeline in foreign and target.data not in foreign:
        hint += f"; to run the pipeline as it is now: maskwright run {target.pipeline}"
    raise InputError([left_alone(path, hint) for path in foreign])


def _write_data(path: Path, records: int, progress: Progress) -> None:
    with path.open("wb") as stream:
        _write_records(stream, records, progress)


def _write_records(stream: IO[bytes], records: int, progress: Progress) -> None:
    stream.write(HEADER)
    done = 0
    for batch in survey(records):
        lines = pc.binary_join_element_wise(*_pieces(batch), "")
        for line_block in _bytes_of(lines):
            stream.write(line_block)
        done += batch.num_rows
        progress(done / records)
    stream.write(FOOTER)


def _pieces(batch: pa.RecordBatch) -> list[pa.Array | str]:
    pieces: list[pa.Array | str] = [f"  <{RECORD}>"]
    for name in NAMES:
        pieces += [f"<{name}>", batch.column(name), f"</{name}>"]
    pieces.append(f"</{RECORD}>\n")
    return pieces


def _bytes_of(lines: pa.StringArray) -> Iterator[memoryview]:
    """Text of an array of strings that has no offset and no nulls, without a copy."""
    _, offsets, data = lines.buffers()
    length = int.from_bytes(memoryview(offsets)[4 * len(lines) : 4 * len(lines) + 4], "little")
    yield memoryview(data)[:length]
