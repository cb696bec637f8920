"""Names of the files that pipelines write: two pipelines of a folder do not write over each other's."""

from __future__ import annotations

import itertools
import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import maskwright as mw
from maskwright_studio.folder import shown
from maskwright_studio.pipeline_text import set_value
from maskwright_studio.proposals import MARK, value_at

if TYPE_CHECKING:
    from collections.abc import Collection


def written_by(folder: Path, pipeline: str) -> dict[str, str]:
    """Files that a pipeline writes, as the page names them, by their keys; none where it cannot be read."""
    try:
        section = value_at(mw.read_settings((folder / pipeline).read_text("utf-8-sig")), ("output",))
    except (mw.InputError, OSError, UnicodeDecodeError):
        return {}
    beside = folder / PurePosixPath(pipeline).parent
    return {
        key: shown(folder, Path(os.path.normpath(beside / name)))
        for key, name in (section.items() if isinstance(section, dict) else ())
        if isinstance(name, str)
    }


def with_own_outputs(text: str, stem: str, beside: str, source: str, taken: Collection[str]) -> str:
    """Text of a new pipeline whose outputs are nobody else's: they begin with its own name where others are taken.

    `stem`: name of the pipeline without its ending: ``second`` makes ``second-masked.csv``. `beside`: folder of the
    pipeline, relative to that of the session; '.' for the same. `source`: name of the data without its ending, with
    which the names begin. `taken`: files that other pipelines write, relative to the folder of the session.
    """
    section = value_at(mw.read_settings(text.removeprefix(MARK)), ("output",))
    names = {key: name for key, name in section.items() if isinstance(name, str)} if isinstance(section, dict) else {}

    def is_free(found: dict[str, str]) -> bool:
        return all(os.path.normpath(PurePosixPath(beside) / name) not in taken for name in found.values())

    if is_free(names):
        return text
    own = (
        {key: f"{begin}-{name.removeprefix(f'{source}-')}" for key, name in names.items()}
        for begin in itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    )
    for key, name in next(found for found in own if is_free(found)).items():
        text = set_value(text, ("output", key), name)
    return text
