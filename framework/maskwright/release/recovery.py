"""What dead runs left behind: removed when nothing of it was decided, else the set it belongs to is made whole."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem
from maskwright.release.staging import Staging, hold, others, refuse_live
from maskwright.release.swap import end_journal, read_journal, settle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.release.swap import Entry


def sweep(own: Staging, names: set[str]) -> tuple[str, ...]:
    """Refuse to work beside a live run on the same files, and end what dead ones left.

    `own`: of this run, its files made already. `names`: files that it is to release in this folder. Returns what was
    done, as notices.
    """
    notices: list[str] = []
    for path in others(own):
        found = hold(path)
        if found is not None:
            notices.extend(_end(found))
        elif path.exists():
            refuse_live(path, names)
    return tuple(notices)


def _end(dead: Staging) -> tuple[str, ...]:
    """End what a dead run left, here and in the other folders of its set."""
    with contextlib.ExitStack() as locks:
        locks.callback(dead.let_go)
        held = [dead]
        home, entries = _decided(dead.path)
        for path in dict.fromkeys((home, *(entry.staging for entry in entries))):
            if path != dead.path and path.exists():
                held.append(_held(path, entries))
                locks.callback(held[-1].let_go)
        # What was read before it was locked may have been ended by another run meanwhile.
        home, entries = _decided(dead.path)
        try:
            completed = settle(entries)
            end_journal(home)
        except OSError as error:
            raise _cut_off(dead.path, error.strerror or type(error).__name__, entries) from error
        locks.pop_all()
    for staging in held:
        staging.remove()
    if not entries:
        return ()
    done = "they are all in place now" if completed else "those they were to replace are back"
    names = ", ".join(str(entry.target) for entry in entries)
    return (f"an earlier run was cut off while it put its files in place; {done}: {names}",)


def _held(path: Path, entries: Sequence[Entry]) -> Staging:
    found = hold(path)
    if found is None:
        raise _cut_off(path, "another run is just looking after them", entries)
    return found


def _decided(staging: Path) -> tuple[Path, tuple[Entry, ...]]:
    """Where the journal is and the files of the set; none when no release was decided."""
    try:
        return read_journal(staging) or (staging, ())
    except OSError as error:
        raise _cut_off(staging, f"its journal: {error.strerror}", ()) from error
    except (ValueError, KeyError, TypeError) as error:
        raise _cut_off(staging, "its journal is damaged", ()) from error


def _cut_off(staging: Path, reason: str, entries: Sequence[Entry]) -> InputError:
    files = ", ".join(str(entry.target) for entry in entries) or f"files in {staging.parent}"
    return InputError(
        Problem(
            f"an earlier run was cut off while it put its files in place, and that cannot be ended ({reason}): {files} "
            "may be of two releases",
            hint=f"Try again; if it stays so, look after these files yourself, and remove {staging}.",
        )
    )
