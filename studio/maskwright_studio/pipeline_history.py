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

    Attributes
    ----------
    versions : tuple of str
        The oldest first.
    at : int
        Which of them is on disk.
    draft : str
        A text that is not saved; '' for none.
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

    Parameters
    ----------
    path : Path
        Of the pipeline.

    Attributes
    ----------
    problem : str
        Why nothing could be kept at last; '' where all is well.
    """

    def __init__(self, path: Path) -> None:
        self.folder = state_folder()
        self.file = self.folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.json"
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

        Returns
        -------
        Kept
            What is kept now. Where it cannot be written, `problem` says why, and this session goes on without.
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
        told = json.dumps({"versions": kept.versions, "at": kept.at, "draft": kept.draft})
        handle, name = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(told)
            Path(name).replace(self.file)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise


def state_folder() -> Path:
    """Folder of what the studio keeps for this user: by ``XDG_STATE_HOME``, or under the home."""
    named = os.environ.get("XDG_STATE_HOME", "")
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "state"
    return base / "maskwright" / "studio"
