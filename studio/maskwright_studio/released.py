"""Files that the pipeline writes: which they are, and whether they are those of its data."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import yaml

from maskwright_studio.folder import inside
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright_studio.session import Session


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
    """Path of a file that the pipeline has written, and what tells its versions apart.

    `what`: for the sentence that says that it is not there.
    """
    path = output_of(session, key)
    if path is None:
        raise Refusal(f"this pipeline writes no {what}", f"Add {key} to the section output on the page Pipeline.")
    with contextlib.suppress(OSError):
        found = path.stat()
        if path.is_file():
            return str(path), [found.st_mtime_ns, found.st_size]
    raise Refusal(f"there is no {path.name} yet", "Run the pipeline on the page Run.")
