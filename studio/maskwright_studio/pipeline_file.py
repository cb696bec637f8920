"""The pipeline file: its text on disk, its version history, and a summary of each change."""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import functools
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.pipeline_text.layout import same, settings_of
from maskwright_studio.proposals import method_of
from maskwright_studio.refusal import Refusal, changed_outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


LISTS = {"protect": "step", "edits": "rule", "measure": "measure", "waive": "waiver"}
"""Sections that are lists, and what an entry of each is called."""

MOST_LETTERS = 60


OF_MANY = ("roles", "types")
"""Keys of the data section that a change is named by: what they say of many variables."""


@functools.lru_cache(maxsize=32)
def change_in_words(old: str, new: str) -> str:
    """What became of a text: ``step 2 replaced``, ``rule 3 removed``, ``age changed``."""
    try:
        before, after = (settings_of(text) for text in (old, new))
    except mw.InputError:
        return "text changed"
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return "text changed"
    found = [change for key in dict.fromkeys([*before, *after]) for change in _of_section(key, before, after)]
    if not found:
        return "comments or layout changed"
    change = f"{found[0]} and {len(found) - 1} more" if len(found) > 2 else ", ".join(found)
    return change if len(change) <= MOST_LETTERS else f"{change[: MOST_LETTERS - 1]}…"


def _of_section(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old, new = before.get(key), after.get(key)
    if same(old, new):
        return
    if key in LISTS and all(isinstance(each, (list, type(None))) for each in (old, new)):
        yield from _of_list(LISTS[key], old or [], new or [])
    elif key == "data" and isinstance(old, dict) and isinstance(new, dict):
        one, other = (_variables(each) for each in (old, new))
        names = dict.fromkeys([*one, *other])
        yield from (f"{name} changed" for name in names if not same(one.get(name), other.get(name)))
        others = {name for name in {*old, *new} - {"variables"} if not same(old.get(name), new.get(name))}
        yield from (f"{name} changed" for name in OF_MANY if name in others)
        if others - {*OF_MANY}:
            yield "data changed"
    else:
        yield f"{key} {'added' if key not in before else 'removed' if key not in after else 'changed'}"


def _variables(data: Mapping[str, Any]) -> dict[str, Any]:
    found = data.get("variables")
    return found if isinstance(found, dict) else {}


def _of_list(noun: str, old: list[Any], new: list[Any]) -> Iterator[str]:
    """Entries by their number, as the page counts them: of what is gone, the number that it had."""
    one, other = ([repr(each) for each in entries] for entries in (old, new))
    if sorted(one) == sorted(other):
        at = next(at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right)
        yield f"{noun} {at + 1} moved"
        return
    for kind, start, end, first, last in SequenceMatcher(a=one, b=other, autojunk=False).get_opcodes():
        both = min(end - start, last - first) if kind == "replace" else 0
        for at in range(both):
            is_other = noun == "step" and method_of(old[start + at]) != method_of(new[first + at])
            yield f"{noun} {start + at + 1} {'replaced' if is_other else 'changed'}"
        if kind != "equal":
            yield from (f"{noun} {at + 1} removed" for at in range(start + both, end))
            yield from (f"{noun} {at + 1} added" for at in range(first + both, last))


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
        """Keep versions; those that another studio has kept meanwhile come before them."""
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


def stored_waivers(path: Path) -> dict[str, list[str]]:
    """Which doubts each waiver of a pipeline covered when it was given, by names; empty where not known."""
    try:
        found = json.loads(_file_of(path, "waivers.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): [str(each) for each in value] for key, value in found.items()} if isinstance(found, dict) else {}


def store_waivers(path: Path, given: dict[str, list[str]]) -> None:
    """Keep what waivers cover, those that were given last where there are too many."""
    state_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_whole(_file_of(path, "waivers.json"), dict(list(given.items())[-MOST_VERSIONS:]))


def _file_of(path: Path, ending: str) -> Path:
    return state_folder() / f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.{ending}"


def _write_whole(path: Path, value: object) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(value))
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
        """Write a new text, whole or not at all."""
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
