"""What is known of the rows of masked files: by the run that wrote them, where files and data are still its own."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright_studio.data_process import stamps_of_data
from maskwright_studio.output_files import hash_of, output_of, section_of, version_of
from maskwright_studio.session import inside
from maskwright_studio.worker import rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright_studio.session import Session

LARGEST_RECORD = 64_000_000
"""Bytes of a run record that is read for this: those of a run that keeps the risk of a million records."""


def masked_files(session: Session) -> dict[str, Path]:
    """Masked files of the pipeline, by the key of the output: one, or one of each level."""
    named = section_of(session, "output").get("data")
    several = {f"data.{level}": name for level, name in named.items()} if isinstance(named, dict) else {"data": named}
    folder = session.needed_pipeline().path.parent
    return {key: inside(session.folder, str(folder / name)) for key, name in several.items() if isinstance(name, str)}


def release_of(session: Session) -> dict[str, Any]:
    """The masked files as the data process takes them, with what is known of their rows."""
    files = masked_files(session)
    if not files or not all(path.is_file() for path in files.values()):
        return {"files": [], "stamps": [], "run": None, "why": "", "key_map": ""}
    run, why = _known(session, files)
    key_map = output_of(session, "key_map")
    is_of_it = run is not None and key_map is not None and _is_as_written(key_map, run["files"].get("key_map"))
    stats = [path.stat() for path in files.values()]
    return {
        "files": [str(path) for path in files.values()], "stamps": [[each.st_mtime_ns, each.st_size] for each in stats],
        "run": run, "why": why, "key_map": str(key_map) if is_of_it else "",
    }  # fmt: skip


NOT_KNOWN = "no run of this session wrote it, and there is no record of a run (output: record) that did"


def _known(session: Session, files: Mapping[str, Path]) -> tuple[dict[str, Any] | None, str]:
    """What the run says that wrote these very files from the data as they stand; or why nothing is known."""
    pipeline, why = session.needed_pipeline(), NOT_KNOWN
    runs = [
        job.result["rows"] for job in reversed(session.jobs.all)
        if job.state == "done" and job.request["work"] == "run" and job.request["pipeline"] == str(pipeline.path)
    ]  # fmt: skip
    record = output_of(session, "record")
    if record is not None and record.is_file() and record.stat().st_size <= LARGEST_RECORD:
        found = _recorded(record, version_of(record.stat()))
        if found is not None and found["pipeline"] == pipeline.path.name:
            runs.append(found)
    for each in runs:
        changed = next((path for key, path in files.items() if not _is_as_written(path, each["files"].get(key))), None)
        if changed is not None:
            why = f"{changed.name} is not as the last run that is known of wrote it"
        elif not _has_its_data(session, each):
            why = "the data were changed since the run that wrote it"
        else:
            return each, ""
    return None, why


def _has_its_data(session: Session, run: Mapping[str, Any]) -> bool:
    """Whether the data of the pipeline are, byte for byte, those that a run has read."""
    now = {Path(name).name: Path(name) for name, *_ in stamps_of_data(session.needed_pipeline())}
    return bool(run["inputs"]) and all(
        name in now and now[name].is_file() and now[name].stat().st_size == size and _is_as_written(now[name], sha256)
        for name, size, sha256 in run["inputs"]
    )


def _is_as_written(path: Path, sha256: str | None) -> bool:
    try:
        return sha256 is not None and path.is_file() and hash_of(path, version_of(path.stat())) == sha256
    except OSError:
        return False


@functools.lru_cache(maxsize=8)
def _recorded(path: Path, _version: tuple[int, ...]) -> dict[str, Any] | None:
    """What the record of a run says of its rows; None where it is no such record, or nothing was released."""
    try:
        found = json.loads(path.read_text("utf-8"))
        return rows_of(found) if found["ok"] else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
