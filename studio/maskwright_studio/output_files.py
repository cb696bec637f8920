"""Files that pipelines write: their names, whether they are up to date, and the risks they hold."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

import maskwright as mw
from maskwright_studio.data_process import stamps_of_data
from maskwright_studio.pipeline_text import set_value
from maskwright_studio.pipeline_text.layout import settings_of
from maskwright_studio.proposals import fingerprint, value_at
from maskwright_studio.refusal import Refusal
from maskwright_studio.session import inside, shown

if TYPE_CHECKING:
    from collections.abc import Collection

    from maskwright_studio.jobs import Job
    from maskwright_studio.pipeline_file import PipelineFile
    from maskwright_studio.session import Session


def written_by(folder: Path, pipeline: str) -> dict[str, str]:
    """Files that a pipeline writes, as the page names them, by their keys; none where it cannot be read."""
    try:
        section = value_at(mw.read_settings((folder / pipeline).read_text("utf-8-sig")), ("output",))
    except (mw.InputError, OSError, UnicodeDecodeError):
        return {}
    own = folder / PurePosixPath(pipeline).parent
    return {
        key: shown(folder, Path(os.path.normpath(own / name)))
        for key, name in (section.items() if isinstance(section, dict) else ())
        if isinstance(name, str)
    }


def with_own_outputs(text: str, stem: str, folder: str, source: str, taken: Collection[str]) -> str:
    """Text of a new pipeline whose outputs are no other's: they begin with its own name where others are taken."""
    section = value_at(settings_of(text), ("output",))
    names = {key: name for key, name in section.items() if isinstance(name, str)} if isinstance(section, dict) else {}

    def is_free(found: dict[str, str]) -> bool:
        return all(os.path.normpath(PurePosixPath(folder) / name) not in taken for name in found.values())

    if is_free(names):
        return text
    own = (
        {key: f"{begin}-{name.removeprefix(f'{source}-')}" for key, name in names.items()}
        for begin in itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    )
    for key, name in next(found for found in own if is_free(found)).items():
        text = set_value(text, ("output", key), name)
    return text


def section_of(session: Session, name: str) -> dict[str, Any]:
    """A section of the pipeline that is open; empty where there is none."""
    pipeline = session.needed_pipeline()
    try:
        settings = yaml.safe_load(pipeline.text)
    except yaml.YAMLError:
        raise Refusal(f"{pipeline.path.name} is no YAML as it stands", "Undo the last change, or mend it.") from None
    section = settings.get(name) if isinstance(settings, dict) else None
    return section if isinstance(section, dict) else {}


def output_of(session: Session, key: str) -> Path | None:
    """File that the pipeline writes; None where it does not."""
    name = section_of(session, "output").get(key)
    if not isinstance(name, str):
        return None
    return inside(session.folder, str(session.needed_pipeline().path.parent / name))


def needed_output(session: Session, key: str, what: str) -> tuple[str, list[int]]:
    """Path of a file that the pipeline has written, and what distinguishes its versions."""
    path = output_of(session, key)
    if path is None:
        raise Refusal(f"this pipeline writes no {what}", f"Add {key} to the section output on the page Pipeline.")
    with contextlib.suppress(OSError):
        found = path.stat()
        if path.is_file():
            return str(path), [found.st_mtime_ns, found.st_size]
    raise Refusal(f"there is no {path.name} yet", "Run the pipeline on the page Run.")


LARGEST_RECORD = 8_000_000
"""Bytes of a run record that is read for this; one with the risk of a million records is not."""

LARGEST_HASHED = 200_000_000
"""Bytes of data that are hashed where their stamp alone does not suffice; more may be others, which is noted."""

SLACK = 2.0
"""Seconds between the end of a run and the last of its files."""


@dataclass(frozen=True)
class MadeWith:
    """What made a file.

    `is_current`: whether the pipeline was as it stands; None where no one knows, but the pipeline was written later.
    `other`: another pipeline that made it; '' where none is known to have. `has_its_data`: whether the data were as
    they stand; None where no one knows, but they were written later.
    """

    name: str
    time: str
    is_current: bool | None
    other: str
    has_its_data: bool | None


@dataclass(frozen=True)
class _Origin:
    """What is known of the run that made a file."""

    pipeline: str
    text: str
    has_its_data: bool | None


def made_with(session: Session, path: Path) -> MadeWith:
    """What made a file: by the run of this session that wrote it, else by the record of the run, else by its time."""
    pipeline = session.needed_pipeline()
    written = path.stat().st_mtime
    time = datetime.fromtimestamp(written).astimezone().strftime("%Y-%m-%d %H:%M")
    found = _by_a_run(session, path, written) or _by_the_record(session, path, written)
    if found is None:
        is_current = None if pipeline.path.stat().st_mtime > written else True
        return MadeWith(path.name, time, is_current, "", _unless_later(pipeline, written))
    is_current = found.text == fingerprint(pipeline.text)
    other = "" if is_current or found.pipeline == pipeline.path.name else found.pipeline
    return MadeWith(path.name, time, is_current, other, found.has_its_data)


def older(session: Session, key: str) -> MadeWith | None:
    """What made an output that is not that of the pipeline and the data as they stand."""
    path = output_of(session, key)
    try:
        if path is None or not path.is_file():
            return None
        made = made_with(session, path)
    except OSError:
        return None
    return None if made.is_current and made.has_its_data else made


def has_its_data(job: Job, pipeline: PipelineFile) -> bool | None:
    """Whether the data of a pipeline are those that a run of this session read.

    Files that are where they were with another time, such as restored copies, are recognised by their hash.
    """
    begun = {name: tuple(stamp) for name, *stamp in job.request["data"]}
    now = {name: tuple(stamp) for name, *stamp in stamps_of_data(pipeline)}
    if begun.keys() != now.keys():
        return False
    others = [Path(name) for name in now if now[name] != begun[name]]
    found = [_is_as_read(path, begun[str(path)][1], job.read) for path in others]
    return False if False in found else None if None in found else True


def _is_as_read(path: Path, size: int, read: list[dict[str, Any]]) -> bool | None:
    """Whether a file has the bytes that a run has read of it; None where it is too large for that."""
    known = [each for each in read if each["file"] == path.name]
    try:
        found = path.stat()
        if found.st_size != size or len(known) != 1 or found.st_size != known[0]["bytes"]:
            return False
        return None if found.st_size > LARGEST_HASHED else hash_of(path, version_of(found)) == known[0]["sha256"]
    except OSError:
        return False


def _by_a_run(session: Session, path: Path, written: float) -> _Origin | None:
    """The newest run of this session that wrote a file, where it is still that one."""
    pipeline = session.needed_pipeline()
    for job in reversed(session.jobs.all):
        if job.state == "done" and job.request["work"] == "run":
            files = (session.folder / each["file"] for each in job.result["files"])
            if path in {each.resolve() for each in files} and written <= job.ended + SLACK:
                made = Path(job.request["pipeline"])
                is_other = made != pipeline.path
                name = made.relative_to(session.folder).as_posix() if is_other else made.name
                return _Origin(name, str(job.request["seen"]), is_other or has_its_data(job, pipeline))
    return None


def _by_the_record(session: Session, path: Path, written: float) -> _Origin | None:
    """The run of the record beside a file."""
    record = output_of(session, "record")
    try:
        if record is None or record.stat().st_size > LARGEST_RECORD or record.stat().st_mtime + SLACK < written:
            return None
        found = json.loads(record.read_text("utf-8"))
        if all((record.parent / each["file"]).resolve() != path for each in found["outputs"].values()):
            return None
        made = next(each for each in found["inputs"] if each["role"] == "pipeline")
        read = [each for each in found["inputs"] if each["role"] == "data"]
        pipeline = session.needed_pipeline()
        return _Origin(str(made["file"]), str(made["sha256"]), _is_of_record(pipeline, read, record.stat().st_mtime))
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None


def _is_of_record(pipeline: PipelineFile, read: list[dict[str, Any]], ended: float) -> bool | None:
    """Whether the data are those of a record: by their times, and where these are later by size and hash."""
    by_time = _unless_later(pipeline, ended)
    files = {path.name: path for path in (Path(name) for name, *_ in stamps_of_data(pipeline))}
    if len(read) != 1 or read[0]["file"] not in files or not files[read[0]["file"]].is_file():
        return by_time
    path = files[read[0]["file"]]
    found = path.stat()
    if found.st_size != read[0]["bytes"]:
        return False
    if by_time or found.st_size > LARGEST_HASHED:
        return by_time
    return bool(hash_of(path, version_of(found)) == read[0]["sha256"])


def _unless_later(pipeline: PipelineFile, time: float) -> bool | None:
    """True where no file of the data was written after a time, else None."""
    # A file that is copied in keeps its own time; that of the change of its entry is the machine's.
    stats = [Path(name).stat() for name, *_ in stamps_of_data(pipeline) if Path(name).is_file()]
    return None if any(max(each.st_mtime, each.st_ctime) > time for each in stats) else True


def version_of(found: os.stat_result) -> tuple[int, ...]:
    """What distinguishes a file from another one that was put in its place with the same time and size."""
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


@functools.lru_cache(maxsize=32)
def hash_of(path: Path, _version: tuple[int, ...]) -> str:
    """SHA-256 of a version of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def risks_not_kept(text: str) -> list[str]:
    """Measures of risk of a pipeline, where none of them keeps the risk of single records."""
    try:
        entries = value_at(settings_of(text), ("measure",))
    except mw.InputError:
        return []
    found = []
    for entry in entries if isinstance(entries, list) else ():
        name = entry if isinstance(entry, str) else next(iter(entry), "") if isinstance(entry, dict) else ""
        params = entry.get(name) if isinstance(entry, dict) else None
        stated = params if isinstance(params, dict) else {}
        if stated.get("per_record") is True:
            return []
        if _is_of_risk(str(name)):
            found.append(str(stated.get("as", name)))
    return found


def _is_of_risk(name: str) -> bool:
    try:
        return mw.find_measure(name).kind == "risk"
    except mw.InputError:
        return False
