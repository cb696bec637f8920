"""What a rule language is: a file of rules in, edits out, and the other way round."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import EditError, InputError, Place, Problem
from maskwright.foundation.yaml_document import begins_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from maskwright.data.dataset import Layout
    from maskwright.data.levels.linked_data import LevelDeclaration
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.languages.conversion.converted import Converted


RULE = re.compile(r"[<>=]|\bin\b|\bedits?\b|%in%", re.IGNORECASE)
SCHEMATRON = re.compile(r"(?:<\?[^>]*\?>|<!--.*?-->|<![^>]*>|\s)*<(?:\w+:)?(?:schema|pattern|library)\b", re.DOTALL)
COMMENTS = ("#", "*", "/*", "//")
YAML_ENDINGS = (".yaml", ".yml")
LOOKED_AT = 1 << 16


@dataclass(frozen=True, kw_only=True)
class RulesFor:
    """What a rule file has to know of the data that its rules are about.

    Attributes
    ----------
    record : str, default "Record"
        Element that holds one record, for languages on XML; with its namespace, where it has one: ``{urn:office}firm``.
    decimals : int or mapping of name to int or None, default 4
        Most decimals of the variables, for languages that calculate in binary numbers.
    dates : mapping of name to str
        Variables that are dates, and how they are written (``%Y-%m-%d``).
    empty : mapping of name to tuple of str
        Texts of cells that mean "no value", besides an empty cell.
    elements : mapping of name to str
        Variables of XML data, and what element or attribute each is: ``{urn:office}wages``, ``wages/@unit``. Those that
        are not there are elements of their name, in no namespace.
    namespaces : mapping of str to str
        Prefixes that the data have, and their URIs.

    Examples
    --------
    >>> from maskwright import RulesFor
    >>> RulesFor(decimals={"income": 2}).record
    'Record'
    """

    record: str = "Record"
    decimals: int | Mapping[str, int | None] = 4
    dates: Mapping[str, str] = field(default_factory=dict)
    empty: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    elements: Mapping[str, str] = field(default_factory=dict)
    namespaces: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, variables: Iterable[Variable], layout: Layout | None = None, record: str | None = None) -> RulesFor:
        """What is to be known of variables, written as the layout of their file says; `record`: if it says nothing."""
        known = tuple(variables)
        details = {} if layout is None else layout.details
        path = details.get("expanded_path")
        return cls(
            record=path[-1] if path else record or cls.record,
            decimals={each.name: each.decimals for each in known if each.is_numeric},
            dates={each.name: each.date_text for each in known if each.is_date},
            empty={each.name: each.empty_texts for each in known},
            elements={each.name: name for each in known if (name := details.get("expanded", {}).get(each.name))},
            namespaces=details.get("namespaces", {}),
        )


@dataclass(frozen=True, kw_only=True)
class RuleLanguage:
    r"""A language that edits are read from and written in.

    Attributes
    ----------
    name : str
        ``schematron``, ``yaml``: the key in the pipeline's ``edits:`` list, and ``maskwright edits --to NAME``.
    read : callable or None
        ``(path) -> EditSet``, or ``(path, params=None) -> EditSet`` where there are `params`. Raises EditError with
        every mistake, each with its place. None: of a language that is only written.
    write : callable or None
        ``(edits, about) -> Converted``, with an `EditSet` and a `RulesFor`. Raises EditError with every edit that the
        language cannot say, by name and with the reason: nothing is left out in silence. None: of a language that is
        only read.
    suffixes : tuple of str
        File name endings of files of rules, lower case with the dot.
    written_suffixes : tuple of str
        File name endings for the published rules, ``output: {edits: FILE}``.
    params : type of pydantic.BaseModel or None
        Options for reading: keys beside ``file`` in the pipeline, and ``--option`` on the command line.
    read_leveled : callable or None
        ``(path, params, levels) -> EditSet``, of a language whose rules depend on which records are inside which;
        `levels` is a mapping of level name to `LevelDeclaration`.
    summary : str

    Examples
    --------
    >>> from pathlib import Path
    >>> from maskwright import Converted, EditSet, RuleLanguage, RulesFor
    >>> def read_lines(path: Path) -> EditSet:
    ...     return EditSet.parse(path.read_text(encoding="utf-8").splitlines())
    >>> def write_lines(edits: EditSet, about: RulesFor) -> Converted:
    ...     return Converted("".join(f"{edit.text}\n" for edit in edits))
    >>> lines = RuleLanguage(name="lines", suffixes=(".rules",), read=read_lines, write=write_lines)
    >>> _ = Path("age.rules").write_text("age in [0, 120]", encoding="utf-8")
    >>> print(lines.write(lines.read(Path("age.rules")), RulesFor()).text, end="")
    age in [0, 120]
    """

    name: str
    read: Callable[..., EditSet] | None = None
    write: Callable[[EditSet, RulesFor], Converted] | None = None
    suffixes: tuple[str, ...] = ()
    written_suffixes: tuple[str, ...] = ()
    params: type[BaseModel] | None = None
    read_leveled: Callable[[Path, Any, Mapping[str, LevelDeclaration]], EditSet] | None = None
    summary: str = ""

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
            assert self.read is not None
            return self.read(path) if params is None else self.read(path, params)
        except InputError as error:
            places = [problem.place for problem in error.problems if problem.place is not None and problem.place.line]
            if places and not self._is_probably_rules(path):
                raise self._no_rules(path, places[0]) from None
            raise

    def _is_probably_rules(self, path: Path) -> bool:
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
