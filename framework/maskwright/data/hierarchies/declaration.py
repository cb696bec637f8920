"""How a person declares the hierarchy of a variable: a file, a table, or a rule that makes the levels."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from maskwright.data.hierarchies.table import table_mistake

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
