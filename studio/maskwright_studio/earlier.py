"""Whether a file that the pipeline writes was made with its text as it stands, or with an earlier one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from maskwright_studio.proposals import fingerprint
from maskwright_studio.released import output_of

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright_studio.session import Session

LARGEST_RECORD = 8_000_000
"""Bytes of a run record that is read for this; one with the risk of a million records is not."""

SLACK = 2.0
"""Seconds between the end of a run and the last of its files."""


@dataclass(frozen=True)
class MadeWith:
    """What made a file.

    Attributes
    ----------
    name : str
        Of the file.
    time : str
        When, in local time.
    is_current : bool or None
        Whether the pipeline was as it stands; None where nobody knows, but the pipeline was written later.
    """

    name: str
    time: str
    is_current: bool | None


def made_with(session: Session, path: Path) -> MadeWith:
    """What made a file: by the run of this session that wrote it, else by the record of the run, else by its time.

    Parameters
    ----------
    session : Session
    path : Path
        That is there.
    """
    pipeline = session.needed_pipeline()
    written = path.stat().st_mtime
    time = datetime.fromtimestamp(written).astimezone().strftime("%Y-%m-%d %H:%M")
    seen = _seen_by_a_run(session, path, written) or _seen_by_the_record(session, path, written)
    if seen:
        return MadeWith(path.name, time, seen == fingerprint(pipeline.text))
    return MadeWith(path.name, time, None if pipeline.path.stat().st_mtime > written else True)


def older(session: Session, key: str) -> MadeWith | None:
    """What made an output that is not that of the pipeline as it stands; None where it is, or is not there.

    Parameters
    ----------
    session : Session
    key : str
        Of the section ``output:``.
    """
    path = output_of(session, key)
    try:
        if path is None or not path.is_file():
            return None
        made = made_with(session, path)
    except OSError:
        return None
    return None if made.is_current else made


def _seen_by_a_run(session: Session, path: Path, written: float) -> str:
    """Fingerprint of the text that the newest run of this session began with; '' where the file is not of it."""
    for job in reversed(session.jobs.all):
        if job.state == "done" and job.request["work"] == "run":
            files = (session.folder / each["file"] for each in job.result["files"])
            if path in {each.resolve() for each in files} and written <= job.ended + SLACK:
                return str(job.request["seen"])
    return ""


def _seen_by_the_record(session: Session, path: Path, written: float) -> str:
    record = output_of(session, "record")
    try:
        if record is None or record.stat().st_size > LARGEST_RECORD or record.stat().st_mtime + SLACK < written:
            return ""
        found = json.loads(record.read_text("utf-8"))
        if all((record.parent / each["file"]).resolve() != path for each in found["outputs"].values()):
            return ""
        return str(next(each["sha256"] for each in found["inputs"] if each["role"] == "pipeline"))
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return ""
