"""What this process has released so far, so that no ending can deny it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_released: list[str] = []
_unsettled: list[str] = []


def note_release(files: Iterable[Path | str]) -> None:
    """Remember files that are in place under their final names, in the same breath as they are put there."""
    _released.extend(str(file) for file in files)


def note_unsettled(files: Iterable[Path]) -> None:
    """Remember files that may be of two releases, because the disk refused both to go on and to go back."""
    _unsettled.extend(str(file) for file in files)


def forget_releases() -> None:
    """Begin anew: what is released from now on is what an ending tells of."""
    _released.clear()
    _unsettled.clear()


def was_released() -> bool:
    """Whether files were put in place."""
    return bool(_released)


def release_sentence() -> str:
    """What an ending has to say of the release: never that nothing was released when something was."""
    if _unsettled:
        return f"these files may be of two releases until the next run: {', '.join(_unsettled)}"
    if _released:
        return f"what was to be released is in place: {', '.join(_released)}"
    return "nothing was released"
