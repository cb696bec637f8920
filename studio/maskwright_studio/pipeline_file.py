"""The pipeline as text: what is on disk is the truth, and each change is a version that can be undone."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from maskwright_studio.change_in_words import change_in_words
from maskwright_studio.pipeline_history import History, Kept
from maskwright_studio.refusal import Refusal, changed_outside


@dataclass(eq=False)
class PipelineFile:
    """One pipeline that is open.

    Line ends, byte order mark and comments are the file's: text is read and written as it stands.

    `versions`: texts since it was opened, the oldest first. `at`: which of them is on disk. `draft`: a text that is not
    saved: what was typed last, or what was kept when the file was changed outside; '' for none. `history`: where all of
    this is kept beyond the end of the studio.
    """

    path: Path
    versions: list[str] = field(default_factory=list)
    at: int = 0
    draft: str = ""
    history: History = field(init=False)

    def __post_init__(self) -> None:
        """Read it, and what is known of its past."""
        text = self._on_disk()
        self.history = History(self.path)
        kept = self.history.recall()
        self.versions, self.at, self.draft = list(kept.versions), kept.at, kept.draft
        if not self.versions:
            self.versions = [text]
        elif text != self.text:
            self._keep(text)

    @property
    def text(self) -> str:
        """As it was last read or written here."""
        return self.versions[self.at]

    @property
    def undoes(self) -> str:
        """Which change undo takes back, in words; '' where there is no older version."""
        return change_in_words(self.versions[self.at - 1], self.text) if self.at else ""

    @property
    def redoes(self) -> str:
        """Which change redo makes again, in words; '' where nothing was undone."""
        return change_in_words(self.text, self.versions[self.at + 1]) if self.at + 1 < len(self.versions) else ""

    def changed_outside(self) -> bool:
        """Whether the file is not what was last read or written here, or is no longer there."""
        try:
            return self._on_disk() != self.text
        except Refusal:
            return True

    def read_again(self) -> None:
        """Take the text that is on disk as the newest version."""
        self._keep(self._on_disk())

    def save(self, text: str, seen: str) -> None:
        """Write a new text, whole or not at all.

        `seen`: the text that the change was made from.
        """
        if seen != self.text or self.changed_outside():
            raise changed_outside(self.path.name)
        write_whole(self.path, text)
        if self.draft == text:
            self.draft = ""
        self._keep(text)

    def keep_draft(self, text: str) -> None:
        """Keep a text that is not saved; '' forgets it."""
        self.draft = "" if text == self.text else text
        self._remember()

    def keep_mine(self) -> None:
        """Take the text that is on disk, and keep the one that was here as a draft."""
        mine = self.draft or self.text
        self.read_again()
        self.keep_draft(mine)

    def undo(self) -> None:
        """Go back to the version before."""
        self._step(-1)

    def redo(self) -> None:
        """Go to the version that was undone."""
        self._step(1)

    def difference(self, text: str) -> list[str]:
        """Lines of a unified difference between the file and a text."""
        name = self.path.name
        lines = difflib.unified_diff(self.text.splitlines(), text.splitlines(), name, f"{name} (new)", lineterm="", n=2)
        return list(lines)

    def _step(self, by: int) -> None:
        to = self.at + by
        if not 0 <= to < len(self.versions):
            raise Refusal("there is nothing to undo" if by < 0 else "there is nothing to redo")
        if self.changed_outside():
            raise changed_outside(self.path.name)
        write_whole(self.path, self.versions[to])
        self.at = to
        self._remember()

    def _keep(self, text: str) -> None:
        if text != self.text:
            self.versions[self.at + 1 :] = [text]
            self.at += 1
        self._remember()

    def _remember(self) -> None:
        kept = self.history.remember(Kept(tuple(self.versions), self.at, self.draft))
        self.versions, self.at = list(kept.versions), kept.at

    def _on_disk(self) -> str:
        try:
            return self.path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise Refusal(f"{self.path.name} is not text in UTF-8", "Save it as UTF-8 in an editor.") from None
        except OSError as error:
            raise Refusal(f"{self.path.name} cannot be read: {error.strerror}") from None


def write_whole(path: Path, text: str) -> None:
    """Write a file, whole or not at all; one that is replaced keeps who may read it."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".maskwright-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(OSError):
                Path(name).chmod(path.stat().st_mode & 0o777)
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise Refusal(f"{path.name} could not be written: {error.strerror}; it is as it was") from None
