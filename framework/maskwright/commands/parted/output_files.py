"""Output of a run over parts: files joined and cut anew, and finished files gathered into the masked data."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.finishing import FOUND, SVRL, Finish, validated
from maskwright.commands.parted.part_output import name_of, write_part, written_files, written_part
from maskwright.commands.parted.task_settings import Stored
from maskwright.commands.reading import load
from maskwright.commands.running.release_files import check_round_trip
from maskwright.data.parts.manifest import write_manifest
from maskwright.data.parts.model import FoundPart
from maskwright.data.parts.part_files import hive_of, natural_key, stamp_of
from maskwright.edits.evaluation.check_data import record_path
from maskwright.edits.evaluation.svrl import SvrlWriter
from maskwright.foundation.errors import InputError
from maskwright.foundation.files import PUBLIC, masked_mode
from maskwright.foundation.progress import silent
from maskwright.plugins.parts_reading import files_source
from maskwright.plugins.parts_writing import WRITTEN, WrittenPart
from maskwright.plugins.registry import find_source
from maskwright.release.data_file import file_facts
from maskwright.release.files import writing
from maskwright.release.part_layout import RECORDS_OF_PART

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.commands.parted.task_run import PartedRun
    from maskwright.commands.parted.task_settings import TaskSettings
    from maskwright.data.dataset import Dataset, Layout
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.release.files import Release


JOINED = "join"
"""Stage whose tasks write these files."""


@dataclass(frozen=True)
class JoinedFile:
    """A file of the masked data, and what it is made of.

    `pieces`: files that hold its records, one after the other, and perhaps others before and behind. `start`,
    `records`: the first of its records in these, and how many there are.
    """

    name: str
    pieces: tuple[str, ...]
    start: int
    records: int


@dataclass(frozen=True, eq=False)
class Joining:
    """What joining takes.

    `finish`: as the parts were finished. `masked`: variables of the published file, without records.
    """

    finish: Finish
    masked: Dataset
    files: tuple[JoinedFile, ...]


def joined_files(pieces: Sequence[tuple[str, str, int]], ending: str, most: int | None) -> tuple[JoinedFile, ...]:
    """Files that the pieces of all parts make, in the order of their names.

    `most`: records of a file; if there are more of one name, they are cut into ``part-1``, ``part-2`` and so on. None:
    each name is one file.
    """
    of_name: dict[str, list[tuple[str, int]]] = {}
    for name, path, records in pieces:
        of_name.setdefault(name, []).append((path, records))
    found = []
    for name, own in of_name.items():
        ends = np.cumsum([records for _, records in own])
        starts = ends - [records for _, records in own]
        size = int(ends[-1]) if most is None else most
        for number, first in enumerate(range(0, int(ends[-1]), size), 1):
            last = min(first + size, int(ends[-1]))
            taken = np.flatnonzero((starts < last) & (ends > first)).tolist()
            called = name if most is None else f"{name.rpartition('/')[0]}/part-{number}{ending}"
            paths = tuple(own[at][0] for at in taken)
            found.append(JoinedFile(called, paths, first - int(starts[taken[0]]), last - first))
    return tuple(sorted(found, key=lambda each: natural_key(each.name)))


def join(settings: Stored, about: Stored, folder: Path, key: str) -> Mapping[str, object]:
    """Write one file; a task."""
    sheet: TaskSettings = settings.read()
    task: Joining = about.read()
    file = task.files[int(key)]
    pipeline = sheet.pipeline
    stated = hive_of(file.name)
    found = tuple(
        FoundPart(f"{number}/{Path(path).name}", path, Path(path).stat().st_size, stamp_of(path), stated)
        for number, path in enumerate(file.pieces)
    )
    target = written_part(folder, pipeline, task.masked.variables)
    pieces = replace(target, source=files_source(find_source(target.source.name), found))
    data = load(pieces, identifiers=True, may_lack="anything", again=True)
    data = replace(data, columns=tuple(data[name] for name in task.masked.names if name in data))
    if file.records < len(data):
        data = data.taken(np.arange(file.start, file.start + file.records))
    part = WrittenPart(file.name, file.records, said=stated)
    layout = replace(data.layout, details={**data.layout.details, WRITTEN: (part,)})
    data = replace(data, layout=layout, origin=None)
    held = write_part(data, data, pipeline, folder)
    check_round_trip(target, data, held, silent)
    outcome, _ = validated(folder, sheet, task.finish, data, reported=True)
    Stored.of(outcome, folder / FOUND)
    return {"records": file.records, "written": written_files(data, pipeline)}


def join_parts(run: PartedRun, settings: Stored, finish: Finish, masked: Dataset) -> list[tuple[int, Outcome]]:
    """Write the files that hold records of several parts: verdicts on each, and the number of its first record."""
    output = run.pipeline.output
    pieces = [
        (name, str(run.scratch / run.finished / receipt.key / name_of(run.pipeline, name)), records)
        for receipt in run.done[run.finished]
        for name, records in receipt.facts["written"]
    ]
    most = RECORDS_OF_PART if isinstance(output.parts, tuple) else None
    files = joined_files(pieces, output.source.suffixes[0], most)
    about = run.store(JOINED, Joining(finish, masked, files))
    keys = [str(position) for position in range(len(files))]
    run.run(JOINED, "Joining records of several parts, and validating again", join, keys, settings, about)
    run.joined = JOINED
    firsts = np.cumsum([0, *(each.records for each in files)]).tolist()
    return list(zip(firsts, run.read(JOINED, FOUND), strict=False))


def write_svrl(run: PartedRun, release: Release, edits: EditSet, layout: Layout) -> None:
    """Put the report on violations together, where one is asked for. Confidential."""
    if run.pipeline.output.svrl is None:
        return
    target = release.temporary("svrl")
    with (
        writing(target),
        target.open("wb") as stream,
        SvrlWriter(stream, edits, record_path(layout)) as report,
    ):
        for share in run.files(run.published, SVRL):
            with share.open("rb") as found:
                report.add_share(found)


def gather(run: PartedRun, release: Release, variables: Sequence[Variable]) -> None:
    """Move the finished files into the release, each as it was validated, and write the manifest of a folder."""
    output, target = run.pipeline.output, release.temporary("data")
    facts: list[dict[str, Any]] = []
    for receipt in run.done[run.published]:
        for written, records in receipt.facts["written"]:
            file = target / written if output.is_folder else target
            with writing(target):
                file.parent.mkdir(parents=True, exist_ok=True)
                place = run.scratch / run.published / receipt.key / name_of(run.pipeline, written)
                shutil.move(place, file)
                file.chmod(0o600 if file == target else masked_mode(PUBLIC))
            found = file_facts(file)
            if found["sha256"] != receipt.files[name_of(run.pipeline, written)]:
                message = (
                    f"{written or target.name}: the masked file was changed by another program; nothing was released"
                )
                raise InputError(message)
            facts.append({"name": written, "records": records, **found})
    if output.is_folder:
        write_manifest(target, facts, variables, output.source.name)
