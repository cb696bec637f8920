"""What an edit reader is: a rule file in, edits out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from maskwright.edits.edit import EditSet


@dataclass(frozen=True)
class EditReader:
    """A language for rules.

    Attributes
    ----------
    name : str
        ``schematron``, ``yaml``: the key in the pipeline's ``edits:`` list.
    suffixes : tuple of str
        File name endings it claims, lower case with the dot.
    read : callable
        ``(path) -> EditSet``. Raises EditError with every mistake, each with its place.
    summary : str
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], EditSet]
    summary: str = ""
