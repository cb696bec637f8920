"""How variables are recoded: bounds of bands, periods of dates, groups of categories, levels of hierarchies."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from maskwright import DependentVariables


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
