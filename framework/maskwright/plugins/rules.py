"""Readers and writers of rules, and kinds of constraints that rules call by name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import EditError, InputError, Place, Problem
from maskwright.foundation.yaml_document import begins_yaml
from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.levels.linked_data import LevelDeclaration
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.languages.conversion.converted import Converted


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


@dataclass(frozen=True, kw_only=True)
class RulesFor:
    """What a rule file has to know of the data that its rules are about.

    Attributes
    ----------
    record : str, default "Record"
        Element that holds one record, for languages on XML.
    decimals : int or mapping of name to int or None, default 4
        Most decimals of the variables, for languages that calculate in binary numbers.
    dates : mapping of name to str
        Variables that are dates, and how they are written (``%Y-%m-%d``).
    empty : mapping of name to tuple of str
        Texts of cells that mean "no value", besides an empty cell.

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


@dataclass(frozen=True, kw_only=True)
class RuleWriter:
    r"""A language that edits are written in: for ``maskwright edits --to NAME``, and for ``output: {edits: FILE}``.

    Attributes
    ----------
    name : str
        ``yaml``, ``schematron``, ``validate``.
    write : callable
        ``(edits, about) -> Converted``, with an `EditSet` and a `RulesFor`. Raises EditError with every edit that the
        language cannot say, by name and with the reason: nothing is left out in silence.
    suffixes : tuple of str
        File name endings it claims for the published rules, lower case with the dot.
    summary : str

    Examples
    --------
    >>> from maskwright import Converted, EditSet, RulesFor, RuleWriter
    >>> def write_lines(edits: EditSet, about: RulesFor) -> Converted:
    ...     return Converted("".join(f"{edit.name}: {edit.text}\n" for edit in edits))
    >>> writer = RuleWriter(name="lines", write=write_lines, suffixes=(".lines",), summary="One rule a line.")
    >>> print(writer.write(EditSet.parse(["wages <= income"]), RulesFor()).text, end="")
    edit-1: wages <= income
    """

    name: str
    write: Callable[[EditSet, RulesFor], Converted]
    suffixes: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True, eq=False)
class MovableRows:
    """Rows that do not satisfy a constraint, and how they may be moved. Arrays are read-only.

    Attributes
    ----------
    values : ndarray of shape (m, q), float64
        A column for each variable of the constraint, as the rule lists them; no cell is missing.
    movable : ndarray of shape (q,), bool
        Columns that may change; the others are published as they are.
    low, high : ndarray of shape (q,), float64
        Between which the published values have to be, as other edits say; infinite where nothing does.
    step : ndarray of shape (q,), float64
        Published values are its multiples; 0 where they have no grid.
    scale : ndarray of shape (q,), float64
        What a move is counted in: the nearest point has the smallest sum of squares of moves over their scale.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import MovableRows
    >>> rows = MovableRows(values=np.array([[3.0, 8.0]]), movable=np.array([True, False]), low=np.array([0.0, 0.0]),
    ...                    high=np.array([5.0, 9.0]), step=np.array([1.0, 1.0]), scale=np.array([2.0, 4.0]))
    >>> np.where(rows.movable, rows.high, rows.values)
    array([[5., 8.]])
    """

    values: NDArray[np.float64]
    movable: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    step: NDArray[np.float64]
    scale: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ConstraintKind:
    """A kind of constraint: rules call it as a function, ``name(number, ..., variable, variable, ...)``.

    Attributes
    ----------
    name : str
        What rules call it.
    evaluate : callable
        ``(values, params) -> verdicts``: of an ndarray of shape (n, q), float64, NaN where a cell has no number, one
        verdict for each row, ndarray of shape (n,), int8: 1 where the constraint holds, 0 where it does not, -1 where
        missing cells leave it open. It has the last word, also on the file as it is read back. A pure function,
        defined at the top of a module.
    project : callable or None
        ``(rows, params) -> points``: for `MovableRows` the nearest points that satisfy the constraint, ndarray of shape
        (m, q), float64; a row of NaN where there is none. Only asked of constraints whose variables no other edit
        binds together. None: rows are looked for among the values of others, or the run is refused.
    params : type of pydantic.BaseModel
        Numbers that a rule gives first, in the order of the fields.
    fewest, most : int, int or None
        How many variables a rule may list; None: any number.
    summary : str
        One sentence for `maskwright plugins`.
    reference : str
        Paper, section.
    example : str
        A rule.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import ConstraintKind, NoParams
    >>> def rising(values: np.ndarray, params: NoParams) -> np.ndarray:
    ...     steps = np.diff(values, axis=1)
    ...     return np.where((steps < 0).any(axis=1), 0, np.where(np.isnan(steps).any(axis=1), -1, 1)).astype(np.int8)
    >>> kind = ConstraintKind(name="rising", evaluate=rising, fewest=2, summary="No value is below the one before it.")
    >>> kind.evaluate(np.array([[1.0, 2.0], [2.0, 1.0], [np.nan, 1.0]]), NoParams())
    array([ 1,  0, -1], dtype=int8)
    """

    name: str
    evaluate: Callable[[NDArray[np.float64], Any], NDArray[np.int8]]
    project: Callable[[MovableRows, Any], NDArray[np.float64]] | None = None
    params: type[BaseModel] = NoParams
    fewest: int = 1
    most: int | None = None
    summary: str = ""
    reference: str = ""
    example: str = ""
