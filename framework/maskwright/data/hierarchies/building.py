"""From what is declared of a hierarchy and the values of a column to its levels."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskwright.data.date_texts import write_dates
from maskwright.data.dates import days_of, first_of, year_month_day
from maskwright.data.hierarchies.hierarchy import (
    ANY,
    CategoryHierarchy,
    CategoryLevel,
    IntervalHierarchy,
    IntervalLevel,
)
from maskwright.data.number_columns import first_record, first_records
from maskwright.data.number_text import read_numbers
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column
    from maskwright.data.hierarchies.declaration import HierarchyDeclaration, Period
    from maskwright.data.variable import Variable

MOST_BANDS = 100_000
NUMERIC_FORMS = ("bands", "widths")
PERIOD_FORMATS: dict[str, str] = {"month": "%Y-%m", "quarter": "%Y-Q%q", "year": "%Y"}
MONDAY = 4
"""1970-01-05 was a Monday."""


def with_hierarchy(column: Column, declared: HierarchyDeclaration | None) -> Column:
    """Column whose variable has the hierarchy that is declared of it."""
    if declared is None:
        return column
    variable, present = column.variable, ~column.missing
    try:
        found = hierarchy_of(variable, column.values[present], declared)
    except ValueError as error:
        raise DataError(Problem(f"variable {variable.name!r}: {error}", variable=variable.name)) from None
    outside = np.zeros(len(column), dtype=np.bool_)
    values = column.values[present]
    outside[present] = (
        found.places(variable, values)[1] if isinstance(found, CategoryHierarchy) else found.outside(values)
    )
    if outside.any():
        message = (
            f"variable {variable.name!r}: {np.count_nonzero(outside)} of {len(column)} cells are not in its hierarchy "
            f"({first_records(outside)})"
        )
        hint = f"Add what is missing to the hierarchy, or list it under `missing` of {variable.name} if it is no value."
        raise DataError(Problem(message, hint=hint, variable=variable.name, record=first_record(outside)))
    return replace(column, variable=replace(variable, hierarchy=found))


def hierarchy_of(
    variable: Variable, values: NDArray[np.float64], declared: HierarchyDeclaration
) -> CategoryHierarchy | IntervalHierarchy:
    """Hierarchy of a variable with these values, none missing, whether or not it holds them all."""
    form = declared.form
    if form == "file":
        raise ValueError(f"the hierarchy file {declared.file!r} was not read")
    if form == "dates" and variable.type != "date":
        raise ValueError(f"it is {variable.type}, and a hierarchy of dates is for dates: declare `type: date`")
    if form in NUMERIC_FORMS and (not variable.is_numeric or variable.is_date):
        raise ValueError(f"it is {variable.type}, and a hierarchy of {form} is for numbers")
    if variable.is_date:
        if form != "dates":
            raise ValueError("the hierarchy of a date is one of periods: {dates: [month, year]}")
        return _of_dates(values, variable, declared.dates or ())
    if form == "bands":
        return _of_bands(variable, declared.bands or ())
    if form == "widths":
        return _of_widths(variable, values, declared.widths or ())
    if form == "prefix" and variable.is_numeric:
        raise ValueError(f"it is {variable.type}, and a hierarchy of prefixes is for codes: declare `type: nominal`")
    return _of_categories(variable, values, declared)


def _of_categories(
    variable: Variable, values: NDArray[np.float64], declared: HierarchyDeclaration
) -> CategoryHierarchy:
    if declared.table is not None:
        # Missing cells stay missing on every level: a row that says what becomes of them says nothing.
        rows = [row for row in declared.table if row[0]]
        paths = {row[0]: row[1:] for row in rows}
    elif declared.prefix is not None:
        paths = {each: (*(each[:length] for length in declared.prefix), ANY) for each in variable.categories}
    else:
        paths = _grouped(variable, values, declared.groups or ())
    items = _ordered(variable, paths)
    chosen = [paths[text] for text in items.values()]
    levels = tuple(_level([path[level] for path in chosen]) for level in range(len(chosen[0])))
    if variable.is_numeric or variable.type == "ordinal":
        for number, level in enumerate(levels, 1):
            if any(after < before for before, after in zip(level.of[:-1], level.of[1:], strict=True)):
                hint = "; declare `type: nominal` if it is a code" if variable.is_numeric else ""
                what = "numbers" if variable.is_numeric else "categories of an ordinal variable"
                raise ValueError(f"level {number} of its hierarchy joins {what} that are no neighbours{hint}")
    return CategoryHierarchy(tuple(items), levels)


def _ordered(variable: Variable, paths: Iterable[str]) -> dict[str | float, str]:
    """Leaves, with their texts, in the order of the variable, or of the table where it has none."""
    if variable.is_numeric:
        return dict(sorted(_number_texts(paths).items()))
    if variable.type == "nominal":
        return {each: each for each in paths}
    known = set(paths)
    placed = [category for category in variable.categories if category in known]
    return {each: each for each in dict.fromkeys((*placed, *paths))}


def _number_texts(paths: Iterable[str]) -> dict[float, str]:
    """Texts of the leaves of a variable that is a number, by the number that they say."""
    texts = list(paths)
    parsed = read_numbers(pa.array(texts, pa.string()))
    if not np.all(parsed.is_number):
        count = int(np.count_nonzero(~parsed.is_number))
        raise ValueError(f"it is a number, and {count} of {len(texts)} values of its hierarchy are none")
    numbers = dict(zip(parsed.values.tolist(), texts, strict=True))
    if len(numbers) < len(texts):
        raise ValueError("two values of its hierarchy are the same number")
    return numbers


def _level(categories: Sequence[str]) -> CategoryLevel:
    """Level of which each leaf's category is given; nodes are in the order of their first leaves."""
    places = {label: place for place, label in enumerate(dict.fromkeys(categories))}
    return CategoryLevel(tuple(places), tuple(places[label] for label in categories))


def _grouped(
    variable: Variable, values: NDArray[np.float64], groups: Sequence[dict[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    """Path of each category through nested groups; of a number, the numbers that the first level lists."""
    listed = [member for group in groups[0].values() for member in group]
    if variable.is_numeric:
        seen = [f"{value:.15g}" for value in np.unique(values)]
        numbers = set(_number_texts(listed))
        leaves = [*listed, *(each for each in seen if float(each) not in numbers)]
    else:
        leaves = list(dict.fromkeys((*variable.categories, *listed)))
    paths: dict[str, tuple[str, ...]] = dict.fromkeys(leaves, ())
    current = {leaf: leaf for leaf in leaves}
    for number, level in enumerate(groups, 1):
        name_of = {member: name for name, members in level.items() for member in members}
        below = set(current.values())
        strangers = sum(member not in below for member in name_of)
        if strangers:
            raise ValueError(f"{strangers} categories in the groups of level {number} are none of the level below")
        clash = next((name for name in level if name in below and name_of.get(name) != name), None)
        if clash is not None and any(current[leaf] == clash and clash not in name_of for leaf in leaves):
            raise ValueError(f"{clash!r} is a group of level {number}, and a category that stays: give another name")
        current = {leaf: name_of.get(node, node) for leaf, node in current.items()}
        paths = {leaf: (*path, current[leaf]) for leaf, path in paths.items()}
    return _with_top(paths)


def _with_top(paths: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    if len({path[-1] for path in paths.values()}) == 1:
        return paths
    return {leaf: (*path, ANY) for leaf, path in paths.items()}


def _of_bands(variable: Variable, bands: Sequence[Sequence[float]]) -> IntervalHierarchy:
    levels = [IntervalLevel(tuple(borders), _labels(borders, closed=True)) for borders in bands]
    first, last = bands[0][0], bands[0][-1]
    if len(bands[-1]) > 2:
        levels.append(IntervalLevel((first, last), (ANY,)))
    return IntervalHierarchy(first, last, tuple(levels), whole=variable.type == "integer", closed=True)


def _of_widths(variable: Variable, values: NDArray[np.float64], widths: Sequence[float]) -> IntervalHierarchy:
    lower, upper = _range(variable, values)
    levels = []
    for width in widths:
        first, last = np.floor(lower / width), np.floor(upper / width) + 1
        if last - first > MOST_BANDS:
            raise ValueError(f"bands of width {width:.12g} are more than {MOST_BANDS}: choose wider ones")
        borders = tuple((np.arange(first, last + 1) * width).tolist())
        levels.append(IntervalLevel(borders, _labels(borders)))
    levels.append(IntervalLevel((-np.inf, np.inf), (ANY,)))
    return IntervalHierarchy(lower, upper, tuple(levels), whole=variable.type == "integer")


def _range(variable: Variable, values: NDArray[np.float64]) -> tuple[float, float]:
    """Smallest and largest possible value: as declared, else as seen."""
    lower = float(values.min()) if len(values) else 0.0
    upper = float(values.max()) if len(values) else 0.0
    lower = lower if variable.lower is None else min(variable.lower, lower)
    return lower, max(upper if variable.upper is None else max(variable.upper, upper), lower)


def _labels(borders: Sequence[float], *, closed: bool = False) -> tuple[str, ...]:
    shown = [f"{border:.12g}" for border in borders]
    names = [f"{low} to below {high}" for low, high in itertools.pairwise(shown)]
    if closed:
        names[-1] = f"{shown[-2]} to {shown[-1]}"
    return tuple(names)


def _of_dates(days: NDArray[np.float64], variable: Variable, periods: Sequence[Period]) -> IntervalHierarchy:
    lower, upper = _range(variable, days)
    levels = []
    for period in periods:
        starts, labels = _periods(lower, upper, period)
        if len(labels) > MOST_BANDS:
            raise ValueError(f"there are more than {MOST_BANDS} periods of a {period}")
        levels.append(IntervalLevel(tuple(starts), labels))
    levels.append(IntervalLevel((-np.inf, np.inf), (ANY,)))
    return IntervalHierarchy(lower, upper, tuple(levels), whole=True)


def _periods(lower: float, upper: float, period: Period) -> tuple[list[float], tuple[str, ...]]:
    """First days of the periods from that of `lower` to the one after that of `upper`, and what they are called."""
    if period == "week":
        first = lower - (lower - MONDAY) % 7
        starts = np.arange(first, upper - (upper - MONDAY) % 7 + 8, 7)
        epoch = dt.date(1970, 1, 1)
        weeks = [(epoch + dt.timedelta(days=float(day))).isocalendar() for day in starts[:-1]]
        return starts.tolist(), tuple(f"{week.year}-W{week.week:02}" for week in weeks)
    ends = year_month_day(np.array([lower, upper]).astype(np.int64)).year
    years = np.arange(ends[0], ends[1] + 1)
    if period == "decade":
        tens = np.arange(ends[0] // 10, ends[1] // 10 + 2) * 10
        return [float(days_of(year, 1, 1)) for year in tens.tolist()], tuple(f"{year}s" for year in tens[:-1].tolist())
    months = {"month": range(1, 13), "quarter": (1, 4, 7, 10), "year": (1,)}[period]
    starts = np.array([days_of(year, month, 1) for year in years.tolist() for month in months], dtype=np.float64)
    after = float(days_of(int(ends[1]) + 1, 1, 1))
    first_period, last_period = first_of(np.array([lower, upper]), period)
    kept = starts[(starts >= first_period) & (starts <= last_period)]
    later = starts[starts > last_period]
    names = write_dates(kept, np.zeros(len(kept), dtype=np.bool_), PERIOD_FORMATS[period]).to_pylist()
    return [*kept.tolist(), float(later[0]) if len(later) else after], tuple(names)
