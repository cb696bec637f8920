"""Counts in sentences: ``1 cell``, ``1,080 records``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def count(number: int | None) -> str:
    """``1,080``: a whole number with thousands apart; ``?`` when it is not known."""
    if number is None:
        return "?"
    return f"{number:,}"


def plural(number: int | None, one: str, more: str | None = None) -> str:
    """Return a number and the words that it counts.

    Parameters
    ----------
    number : int or None
        How many; None, where it is not known, is written ``?``.
    one : str
        What follows a 1: a noun, or a noun with its verb.
    more : str, optional
        What follows any other number; `one` and an s by default.

    Returns
    -------
    str
        Both, with thousands apart.

    Examples
    --------
    >>> from maskwright import plural
    >>> plural(1, "record"), plural(1080, "record"), plural(2, "household has", "households have")
    ('1 record', '1,080 records', '2 households have')
    """
    return f"{count(number)} {one if number == 1 else more or f'{one}s'}"


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
