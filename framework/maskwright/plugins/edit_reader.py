"""What an edit reader is: a rule file in, edits out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import EditError, InputError, Place, Problem
from maskwright.foundation.yaml_document import begins_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from maskwright.data.levels.declaration import LevelDeclaration
    from maskwright.edits.edit_set import EditSet

RULE = re.compile(r"[<>=]|\bin\b|\bedits?\b|%in%", re.IGNORECASE)
SCHEMATRON = re.compile(r"(?:<\?[^>]*\?>|<!--.*?-->|<![^>]*>|\s)*<(?:\w+:)?(?:schema|pattern|library)\b", re.DOTALL)
COMMENTS = ("#", "*", "/*", "//")
YAML_ENDINGS = (".yaml", ".yml")
LOOKED_AT = 1 << 16


@dataclass(frozen=True, kw_only=True)
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
    read_leveled : callable or None
        ``(path, params, levels) -> EditSet``, of a language whose rules depend on which records are inside which;
        `levels` is a mapping of level name to `LevelDeclaration`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from maskwright import EditReader, EditSet
    >>> def read_lines(path: Path) -> EditSet:
    ...     return EditSet.parse(path.read_text(encoding="utf-8").splitlines())
    >>> reader = EditReader(name="lines", suffixes=(".rules",), read=read_lines, summary="One rule a line.")
    >>> _ = Path("age.rules").write_text("age in [0, 120]", encoding="utf-8")
    >>> len(reader.read(Path("age.rules")))
    1
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., EditSet]
    summary: str = ""
    params: type[BaseModel] | None = None
    read_leveled: Callable[[Path, Any, Mapping[str, LevelDeclaration]], EditSet] | None = None

    def read_with(
        self, path: Path, params: BaseModel | None, levels: Mapping[str, LevelDeclaration] | None = None
    ) -> EditSet:
        """Edits of a file, read with options, None: without, and about data of these levels.

        Raises
        ------
        InputError
            With every mistake. Where the file does not look like rules, and may be data, nothing of it is quoted.
        """
        try:
            if levels is not None and self.read_leveled is not None:
                return self.read_leveled(path, params, levels)
            return self.read(path) if params is None else self.read(path, params)
        except InputError as error:
            places = [problem.place for problem in error.problems if problem.place is not None and problem.place.line]
            if places and not self._looks_like_rules(path):
                raise self._no_rules(path, places[0]) from None
            raise

    def _looks_like_rules(self, path: Path) -> bool:
        """Whether a file was probably written as rules, so that its text may be quoted in messages.

        XML is taken for rules when its first element is one of Schematron. Otherwise the first line that is no comment
        has to begin a YAML list or mapping, to hold a comparison, or to head a table of edits; any text will do in a
        file whose ending is only that of this language.
        """
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(LOOKED_AT).removeprefix("\ufeff").lstrip()
        except OSError:
            return False
        if text.startswith("<"):
            return SCHEMATRON.match(text) is not None
        if path.suffix.lower() in self.suffixes and path.suffix.lower() not in YAML_ENDINGS:
            return True
        lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(COMMENTS))
        return begins_yaml(text) or RULE.search(next(lines, "")) is not None

    def _no_rules(self, path: Path, place: Place) -> EditError:
        hint = "Nothing of it is shown, since it may be data: name a rule file."
        message = f"this does not look like a file of rules, and is no {self.name} file"
        return EditError(Problem(message, Place(str(path), place.line, place.column), hint))
