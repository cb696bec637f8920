"""How a hierarchy is declared: a file, a table, or a rule that makes the levels."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from maskwright.data.number_text import WHITE_SPACE
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def read_hierarchy_file(path: Path) -> tuple[tuple[str, ...], ...]:
    """Rows of a file with semicolons between fields and no header: a value, then its category on each level."""
    content = read_bounded(path, "hierarchy")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeError:
        raise InputError(Problem("the hierarchy is not UTF-8 text", Place(str(path)), "Save it as UTF-8.")) from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True)
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if row:
                rows.append(tuple(field.strip(WHITE_SPACE) for field in row))
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(Problem(f"the hierarchy is no table: {error}", Place(str(path), reader.line_num))) from None
    found = _mistake(rows)
    if found is not None:
        row_number, mistake = found
        line = lines[row_number] if row_number < len(lines) else None
        raise InputError(Problem(f"the hierarchy: {mistake}", Place(str(path), line)))
    return tuple(rows)


def table_mistake(rows: Sequence[Sequence[str]]) -> str | None:
    """What is wrong with the rows of a hierarchy, in one sentence; None: nothing."""
    found = _mistake(rows)
    return None if found is None else f"row {found[0] + 1}: {found[1]}" if rows else found[1]


def _mistake(rows: Sequence[Sequence[str]]) -> tuple[int, str] | None:
    """Row and mistake of a table; None: it is a hierarchy."""
    if not rows:
        return 0, "there are no rows"
    if len(rows[0]) < 2:
        return 0, "expected a value and its category on each level, with semicolons between them"
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            return number, f"it has {len(row)} fields, and the first row has {len(rows[0])}"
        if not all(row[1:]):
            return number, f"its category on level {row.index('', 1)} is empty"
    found = [_twice(rows), _same_spelling(rows), _no_function(rows)]
    return min(filter(None, found), default=None)


def _twice(rows: Sequence[Sequence[str]]) -> tuple[int, str] | None:
    """Row of a value that stood in one before."""
    seen: set[str] = set()
    for number, row in enumerate(rows):
        if row[0] in seen:
            return number, f"the value {row[0]!r} stands there twice"
        seen.add(row[0])
    return None


def _same_spelling(rows: Sequence[Sequence[str]]) -> tuple[int, str] | None:
    """Row of a category that another one of its level differs from in blanks or case only."""
    seen: dict[tuple[int, str], str] = {}
    for number, row in enumerate(rows):
        for level, category in enumerate(row[1:], 1):
            other = seen.setdefault((level, " ".join(category.split()).casefold()), category)
            if other != category:
                return number, f"{category!r} and {other!r} of level {level} differ in blanks or case only"
    return None


def _no_function(rows: Sequence[Sequence[str]]) -> tuple[int, str] | None:
    """Row in which a category of one level has another one above it than in a row before."""
    above: dict[tuple[int, str], str] = {}
    for number, row in enumerate(rows):
        for level, (own, higher) in enumerate(pairwise(row[1:]), 1):
            other = above.setdefault((level, own), higher)
            if other != higher:
                wrong = f"level {level + 1} is no function of level {level}"
                return number, f"{wrong}: {own!r} is in {other!r} and in {higher!r}"
    return None


Period = Literal["week", "month", "quarter", "year", "decade"]
PERIODS: tuple[Period, ...] = ("month", "quarter", "year", "decade")
"""Periods that nest, from fine to coarse; a week nests in none of them."""

Number = Annotated[float, Field(allow_inf_nan=False)]
Rows = tuple[tuple[str, ...], ...]
Groups = tuple[dict[str, Annotated[tuple[str, ...], Field(min_length=1)]], ...]


class HierarchyDeclaration(BaseModel, extra="forbid", frozen=True):
    """Hierarchy of one variable, in one of the forms that there are; a text is the name of a file.

    Examples
    --------
    >>> from maskwright import HierarchyDeclaration
    >>> HierarchyDeclaration(widths=(5, 10, 20)).form
    'widths'
    """

    file: str | None = Field(
        default=None,
        min_length=1,
        description="File of the hierarchy, relative to the pipeline file, as ARX writes it: semicolons between "
        "fields, no header; first a value as it stands in the data, then its category on each level.",
    )
    table: Rows | None = Field(
        default=None, min_length=1, description="The rows of such a file: [[A, north, '*'], [B, north, '*']]."
    )
    bands: tuple[tuple[Number, ...], ...] | None = Field(
        default=None,
        min_length=1,
        description="Of a number, the rising borders of each level: [[0, 15, 25, 65, 120], [0, 25, 120]]. A band is "
        "from a border to under the next one; the last border belongs to the last band. A level keeps borders of the "
        "one below it.",
    )
    widths: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] | None = Field(
        default=None,
        min_length=1,
        description="Of a number, the width of the bands of each level, which begin at multiples of it: [5, 10, 20]. "
        "Each is a multiple of the one before.",
    )
    dates: tuple[Period, ...] | None = Field(
        default=None,
        min_length=1,
        description="Of a date, the period of each level: [month, quarter, year, decade], or [week], which nests in "
        "none of them.",
    )
    prefix: tuple[Annotated[int, Field(ge=1)], ...] | None = Field(
        default=None,
        min_length=1,
        description="Of a code, how many of its first characters stay on each level, falling: [3, 2, 1].",
    )
    groups: Groups | None = Field(
        default=None,
        min_length=1,
        description="Of categories, the groups of each level, made of categories of the level below: [{north: [A, B], "
        "south: [C, D]}, {coast: [north, south]}]. What is not listed stays.",
    )

    @property
    def form(self) -> str:
        """Name of the form that is given; a file that was read is a `table`."""
        forms = [name for name in FORMS if getattr(self, name) is not None]
        return forms[-1]

    @model_validator(mode="after")
    def _is_one_form(self) -> HierarchyDeclaration:
        given = [name for name in FORMS if getattr(self, name) is not None]
        if len(given) != 1 and given != ["file", "table"]:
            found = " and ".join(given) if given else "none"
            raise ValueError(f"give one of {', '.join(FORMS[:-1])} or {FORMS[-1]}; there is {found}")
        mistake = _MISTAKES[self.form](self)
        if mistake is not None:
            raise ValueError(f"{self.form}: {mistake}")
        return self


FORMS = ("file", "table", "bands", "widths", "dates", "prefix", "groups")
"""Forms of a hierarchy, by key."""


def hierarchy_form(value: Any) -> Any:
    """A declared hierarchy as a mapping: a text is the name of its file."""
    return {"file": value} if isinstance(value, str) else _with_tuples(value)


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_tuples(each) for key, each in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, (list, tuple)) else value


DeclaredHierarchy = Annotated[
    HierarchyDeclaration, BeforeValidator(hierarchy_form, json_schema_input_type=str | HierarchyDeclaration)
]


def _bands_mistake(declared: HierarchyDeclaration) -> str | None:
    levels = declared.bands or ()
    for borders in levels:
        if len(borders) < 2:
            return "a level has two borders at least"
        if any(high <= low for low, high in pairwise(borders)):
            return "the borders of a level must rise: [0, 15, 25, 65, 120]"
    for number, (below, above) in enumerate(pairwise(levels), 2):
        if (below[0], below[-1]) != (above[0], above[-1]):
            return f"level {number} must begin and end where the one below does"
        if not set(above) < set(below):
            return f"level {number} must join whole bands of the one below: its borders are some of those, and fewer"
    return None


def _widths_mistake(declared: HierarchyDeclaration) -> str | None:
    for number, (below, above) in enumerate(pairwise(declared.widths or ()), 2):
        times = above / below
        if times < 1.5 or abs(times - round(times)) > 1e-9 * times:
            return f"the width of level {number} must be a multiple of that of the level below"
    return None


def _dates_mistake(declared: HierarchyDeclaration) -> str | None:
    periods = declared.dates or ()
    if "week" in periods:
        return (
            None if len(periods) == 1 else "weeks do not nest in months, quarters, years or decades: give [week] alone"
        )
    places = [PERIODS.index(period) for period in periods]
    if any(above <= below for below, above in pairwise(places)):
        return f"the periods go from fine to coarse: {', '.join(PERIODS)}"
    return None


def _prefix_mistake(declared: HierarchyDeclaration) -> str | None:
    if any(above >= below for below, above in pairwise(declared.prefix or ())):
        return "the numbers of characters must fall: [3, 2, 1]"
    return None


def _groups_mistake(declared: HierarchyDeclaration) -> str | None:
    for number, level in enumerate(declared.groups or (), 1):
        members = [member for group in level.values() for member in group]
        if len(set(members)) < len(members):
            return f"a category is listed twice on level {number}"
    return None


_MISTAKES = {
    "file": lambda _: None,
    "table": lambda declared: table_mistake(declared.table or ()),
    "bands": _bands_mistake,
    "widths": _widths_mistake,
    "dates": _dates_mistake,
    "prefix": _prefix_mistake,
    "groups": _groups_mistake,
}
