"""Parameters of recoding, and variables published on a level of their hierarchies."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from maskwright import Band, DependentVariables, InputError

if TYPE_CHECKING:
    from maskwright import Hierarchy, Variable
    from maskwright_builtin.numerics.arrays import Floats, Integers


def _rising(bounds: tuple[float | date, ...]) -> tuple[float | date, ...]:
    found = [each.toordinal() if isinstance(each, date) else each for each in bounds]
    if len({isinstance(each, date) for each in bounds}) > 1:
        raise ValueError("bounds of bands are numbers, or dates: [18, 30, 65], [1950-01-01, 1980-01-01]")
    if any(high <= low for low, high in pairwise(found)):
        raise ValueError("bounds of bands must rise: [18, 30, 65]")
    return bounds


def _apart(joined: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    members = [member for group in joined.values() for member in group]
    twice = next((member for member in members if members.count(member) > 1), None)
    if twice is not None:
        raise ValueError("a category is listed in two groups")
    return joined


Number = Annotated[float, Field(allow_inf_nan=False)]
Bounds = Annotated[tuple[Number | date, ...], Field(min_length=1), AfterValidator(_rising)]
Ages = Annotated[tuple[Number, ...], Field(min_length=1), AfterValidator(_rising)]
Grain = Literal["year", "quarter", "month", "day", "hour"]


class AgeBands(BaseModel, extra="forbid", frozen=True):
    """Bands of the years that are completed on a day, of a date of birth."""

    age_at: date = Field(description="The day: 2020-12-31.")
    bands: Ages = Field(description="Bounds between bands of age: [18, 30, 65].")


class FirstDay(BaseModel, extra="forbid", frozen=True):
    """A period as the date or the moment that it begins with."""

    grain: Grain = Field(description="year, quarter, month, day or hour.")
    as_: Literal["date"] = Field(alias="as", description="date: the variable keeps its type and its format.")


class Level(BaseModel, extra="forbid", frozen=True):
    """A level of the hierarchy that is declared of a variable."""

    level: int = Field(ge=1, strict=True, description="The level: 1 is the one above the values.")


Joined = Annotated[
    dict[str, Annotated[tuple[str, ...], Field(min_length=1)]], Field(min_length=1), AfterValidator(_apart)
]


class RecodingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of global recoding."""

    recode: Annotated[dict[str, Bounds | Grain | AgeBands | FirstDay | Level | Joined], DependentVariables()] = Field(
        default_factory=dict,
        description="Variables and how: of numbers the bounds between bands, {age: [18, 30, 65]}; of dates the "
        "same, {birth: [1950-01-01, 1980-01-01]}, or their 'year', 'quarter', 'month', 'day' or 'hour', "
        "{birth: quarter}, or the day on which that begins, {birth: {grain: month, as: date}}, or bands of the age on "
        "a day, {birth: {age_at: 2020-12-31, bands: [18, 65]}}; of categories the "
        "groups that are joined, {region: {north: [A, B], south: [C, D]}}, where those not listed stay; of any "
        "variable with a hierarchy its level, {town: {level: 1}}. Left out: the variables of the step, with 'bands' or "
        "'grain'.",
    )
    bands: int = Field(
        default=5,
        ge=1,
        le=1000,
        strict=True,
        description="Of a number without bounds of its own: so many bands with about as many records each. Their "
        "bounds are rounded to two significant digits of the spread, so that none is the value of a record by itself.",
    )
    grain: Grain = Field(
        default="year", description="Of a date without one of its own: year, quarter, month, day or hour."
    )


def hierarchy_of(variable: Variable) -> Hierarchy:
    """Hierarchy that is declared of a variable."""
    if variable.hierarchy is None:
        name = variable.name
        raise InputError(
            f"{name} has no hierarchy: declare one, `{name}: {{hierarchy: ...}}` (maskwright explain hierarchies)"
        )
    return variable.hierarchy


def on_level(variable: Variable, values: Floats, level: int) -> tuple[Integers, Variable]:
    """Node of each value on a level of the variable's hierarchy, and the variable as it is published then.

    `values`: without missing cells: codes into its categories, numbers, or days; shape (n,).
    """
    hierarchy = hierarchy_of(variable)
    codes = hierarchy.codes(variable, values, level)
    bands = hierarchy.bands(level)
    if variable.bands:
        of_category = dict(zip(variable.categories, variable.bands, strict=True))
        bands = _flattened(bands, of_category)
    published = replace(variable, type="ordinal" if variable.is_numeric else variable.type, decimals=None, lower=None,
                        upper=None, date_format=None, categories=hierarchy.labels(level),
                        hierarchy=hierarchy.above(level), bands=bands)  # fmt: skip
    return codes, published


def _flattened(bands: tuple[Band, ...], of_category: dict[str, Band]) -> tuple[Band, ...]:
    """Bands of categories that are bands themselves, as what the original values were; empty where unknown."""
    if any(member not in of_category for band in bands for member in band.members or ()):
        return ()
    found = [Band.joined([of_category[str(member)] for member in band.members or ()]) for band in bands]
    known = [band for band in found if band is not None]
    return tuple(known) if len(known) == len(found) else ()
