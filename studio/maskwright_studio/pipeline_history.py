"""The versions of a pipeline, kept for the user alone, never beside the data, also when the studio is killed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_VERSIONS = 200
MOST_CHARACTERS = 8_000_000


@dataclass(frozen=True)
class Kept:
    """What is kept of one pipeline.

    `at`: which of them is on disk. `draft`: a text that is not saved; '' for none.
    """

    versions: tuple[str, ...] = ()
    at: int = 0
    draft: str = ""

    def bounded(self) -> Kept:
        """Without the oldest, where there are too many or too large ones."""
        kept = self
        while kept.at and (len(kept.versions) > MOST_VERSIONS or sum(map(len, kept.versions)) > MOST_CHARACTERS):
            kept = replace(kept, versions=kept.versions[1:], at=kept.at - 1)
        return kept


class History:
    """Where the versions of one pipeline are kept.

    `problem`: why nothing could be kept at last; '' where all is well.
    """

    def __init__(self, path: Path) -> None:
        self.folder = state_folder()
        self.file = _file_of(path, "json")
        self.problem = ""
        self._seen = Kept()

    def recall(self) -> Kept:
        """What was kept; nothing where there is nothing, or nothing that can be read."""
        try:
            found = json.loads(self.file.read_text(encoding="utf-8"))
            kept = Kept(tuple(map(str, found["versions"])), int(found["at"]), str(found["draft"]))
        except (OSError, ValueError, KeyError, TypeError):
            return Kept()
        if not 0 <= kept.at < len(kept.versions):
            return Kept()
        self._seen = kept
        return kept

    def remember(self, kept: Kept) -> Kept:
        """Keep versions; those that another studio has kept meanwhile come before them.

        Returns what is kept now. Where it cannot be written, `problem` says why, and this session goes on without.
        """
        try:
            with self._alone():
                before = self._seen
                stored = self.recall()
                if stored != before:
                    others = tuple(each for each in stored.versions if each not in kept.versions)
                    kept = replace(kept, versions=(*others, *kept.versions), at=kept.at + len(others))
                kept = kept.bounded()
                self._write(kept)
        except OSError as error:
            self.problem = f"the history of changes could not be kept ({error.strerror}): it ends with this session"
        else:
            self.problem = ""
            self._seen = kept
        return kept

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _write(self, kept: Kept) -> None:
        _write_whole(self.file, {"versions": kept.versions, "at": kept.at, "draft": kept.draft})


def kept_waivers(path: Path) -> dict[str, list[str]]:
    """Which doubts each waiver of a pipeline covered when it was given, by names; empty where not known."""
    try:
        found = json.loads(_file_of(path, "waivers.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): [str(each) for each in told] for key, told in found.items()} if isinstance(found, dict) else {}


def keep_waivers(path: Path, given: dict[str, list[str]]) -> None:
    """Keep what waivers cover, those that were given last where there are too many."""
    state_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_whole(_file_of(path, "waivers.json"), dict(list(given.items())[-MOST_VERSIONS:]))


def _file_of(path: Path, ending: str) -> Path:
    return state_folder() / f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.{ending}"


def _write_whole(path: Path, told: object) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(told))
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def state_folder() -> Path:
    """Folder of what the studio keeps for this user: by ``XDG_STATE_HOME``, or under the home."""
    named = os.environ.get("XDG_STATE_HOME", "")
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "state"
    return base / "maskwright" / "studio"
