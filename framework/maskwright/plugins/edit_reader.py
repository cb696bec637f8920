"""What an edit reader is: a rule file in, edits out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pydantic import BaseModel

    from maskwright.edits.edit_set import EditSet


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
        ``(path) -> EditSet``, or ``(path, params=None) -> EditSet`` where there are `params`. Raises EditError with
        every mistake, each with its place.
    summary : str
    params : type of pydantic.BaseModel or None
        Options of the language: keys beside ``file`` in the pipeline, and ``--option`` on the command line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from maskwright import EditReader, EditSet
    >>> def read_lines(path: Path) -> EditSet:
    ...     return EditSet.parse(path.read_text(encoding="utf-8").splitlines())
    >>> reader = EditReader("lines", (".rules",), read_lines, "One rule a line.")
    >>> _ = Path("age.rules").write_text("age in [0, 120]", encoding="utf-8")
    >>> len(reader.read(Path("age.rules")))
    1
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., EditSet]
    summary: str = ""
    params: type[BaseModel] | None = None

    def read_with(self, path: Path, params: BaseModel | None) -> EditSet:
        """Edits of a file, read with options; None: without."""
        return self.read(path) if params is None else self.read(path, params)
