"""The end of a run over parts: all of them are put in place as one folder, with a manifest, or none is."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.finishing import PUBLISHED
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.whole_files import PUBLIC, masked_mode, sync_file, sync_folder
from maskwright.release.facts import file_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.parts.model import Parts

MANIFEST = "manifest.json"
MADE_BY = "maskwright"


def refuse_folder(target: Path) -> None:
    """Refuse a folder for masked parts that holds anything but an earlier release.

    Raises
    ------
    InputError
    """
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError(f"output data: {target} is a file, and masked parts need a folder")
    if any(target.iterdir()) and not _is_ours(target / MANIFEST):
        raise InputError(
            Problem(
                f"output data: the folder {target} holds files that are no release of Maskwright",
                hint="name another folder, or empty it",
            )
        )


def _is_ours(manifest: Path) -> bool:
    try:
        said = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and said.get("made_by") == MADE_BY


class StagedParts:
    """Finished parts in a folder of their own beside the one that they will be.

    Parameters
    ----------
    target : Path
        Folder, or for a dataset of one file that file.
    parts : Parts
    is_folder : bool
    """

    def __init__(self, target: Path, parts: Parts, *, is_folder: bool) -> None:
        self._target, self._parts, self._is_folder = target, parts, is_folder
        self._staged = target.parent / f".{target.name}.{secrets.token_hex(4)}"
        self.facts: dict[str, Any] = {}

    def gather(self, folders: Sequence[Path]) -> None:
        """Move the files of finished tasks here, and take their hashes."""
        self._staged.mkdir(mode=0o700)
        entries = []
        for part, folder in zip(self._parts, folders, strict=True):
            (file,) = (folder / PUBLISHED).iterdir()
            to = self._staged / part.name
            to.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.move(file, to)
            os.chmod(to, masked_mode(PUBLIC))  # noqa: PTH101 - as it will be published
            sync_file(to)
            entries.append({"name": part.name, "records": part.records, **file_facts(to)})
        manifest = self._staged / MANIFEST
        said = {"made_by": MADE_BY, "records": self._parts.records, "parts": entries}
        manifest.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        os.chmod(manifest, masked_mode(PUBLIC))  # noqa: PTH101
        sync_file(manifest)
        self.facts = dict(file_facts(manifest)) if self._is_folder else {k: entries[0][k] for k in ("sha256", "bytes")}

    def publish(self) -> None:
        """Put everything in place."""
        if not self._is_folder:
            (part,) = self._parts
            os.replace(self._staged / part.name, self._target)
            return
        earlier = None
        if self._target.exists():
            earlier = self._target.parent / f".{self._target.name}.{secrets.token_hex(4)}.old"
            os.rename(self._target, earlier)
        os.chmod(self._staged, 0o777 & ~_umask())
        os.rename(self._staged, self._target)
        sync_folder(self._target.parent)
        if earlier is not None:
            shutil.rmtree(earlier)

    def remove(self) -> None:
        """Remove what was not published."""
        shutil.rmtree(self._staged, ignore_errors=True)


def _umask() -> int:
    held = os.umask(0)
    os.umask(held)
    return held
