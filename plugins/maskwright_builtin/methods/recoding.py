"""Global recoding: numbers become bands, dates periods, and categories are joined, in all records alike."""

from __future__ import annotations

import difflib
import math
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from maskwright import (
    Band,
    Block,
    Claims,
    Gathering,
    InputError,
    Masked,
    Method,
    Problem,
    Variable,
    completed_years,
    first_of,
    read_dates,
    write_dates,
    year_month_day,
)
from maskwright_builtin.methods.recoding_parameters import AgeBands, FirstDay, Grain, Level, RecodingParams, on_level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.numerics.arrays import Floats, Integers


FORMS: dict[Grain, str] = {
    "year": "%Y", "quarter": "%Y-Q%q", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H",
}  # fmt: skip
HOUR = 3600
"""Seconds."""
FIRST_DAY = date(1970, 1, 1)


def protect(block: Block, params: RecodingParams, rng: np.random.Generator) -> Masked:  # noqa: ARG001 - the contract
    """Publish bands of numbers and groups of categories instead of the values.

    Bounds b1 < ... < bm make m + 1 bands: below b1, from b1 to under b2, ..., from bm on. The outer bands are open, so
    that neither the smallest nor the largest value is published. A date becomes its year (2020), quarter (2020-Q3) or
    month (2020-07), or a band; or it stays a date, the first day of the period. Bands and periods are ordinal
    categories; joined categories keep the type of the variable. The recoding is the same for every record.

    Returns
    -------
    Masked
        With `variables`. Missing cells stay missing.

    Raises
    ------
    InputError
        Bounds for categories, groups for numbers or dates, a category that the variable does not have, a new name that
        is that of a category that stays, or ordinal categories that are joined over another one.
    """
    values = np.full((block.n, block.p), np.nan)
    variables: list[Variable] = []
    for j, variable in enumerate(block.variables):
        how = params.recode.get(variable.name)
        present = ~block.missing[:, j]
        column = block.values[present, j]
        periods = None if block.gathered is None else block.gathered["periods"].get(variable.name)
        if isinstance(how, Level):
            values[present, j], recoded = on_level(variable, column, how.level)
        elif isinstance(how, FirstDay):
            values[present, j], recoded = beginnings(variable, column, how.grain), variable
        elif variable.is_numeric:
            if variable.is_date:
                made = recoded_dates(variable, column, params, periods)
            else:
                made = banded(variable, column, params, part=block.n < block.file_n)
            values[present, j] = made.codes
            recoded = replace(variable, type="ordinal", decimals=None, lower=None, upper=None, date_format=None,
                              categories=made.categories, bands=made.bands, hierarchy=None)  # fmt: skip
        else:
            if how is not None and not isinstance(how, dict):
                raise InputError(f"{variable.name} is {variable.type}: give groups of categories, not bounds")
            codes, categories = joined(variable, how or {})
            values[present, j] = codes[column.astype(np.int64)]
            bands = bands_of_groups(variable, codes)
            kept = variable.hierarchy if categories == variable.categories else None
            recoded = replace(variable, categories=categories, bands=bands, hierarchy=kept)
        variables.append(recoded)
    return Masked(values=values, missing=block.missing.copy(), variables=tuple(variables))


class Recoded(NamedTuple):
    """Code of each value among the new categories, and what each of those stands for."""

    codes: Integers
    categories: tuple[str, ...]
    bands: tuple[Band, ...]


def banded(variable: Variable, values: Floats, params: RecodingParams, *, part: bool = False) -> Recoded:
    """Band of each number; `part`: there are other values in the file."""
    how = params.recode.get(variable.name)
    if how is not None and not (isinstance(how, tuple) and isinstance(how[0], float)):
        raise InputError(f"{variable.name} is {variable.type}: give bounds between bands, [18, 30, 65]")
    if how is None and part:
        message = f"{variable.name} has no bounds, and those of equally large bands are found in the whole file"
        raise InputError(Problem(message, hint="Say how many bands: `bands: 5`."))
    bounds = rounded_quantiles(values, params.bands) if how is None else np.array(how)
    names = band_names([f"{bound:.12g}" for bound in bounds])
    return Recoded(np.searchsorted(bounds, values, side="right"), names, between(bounds.tolist()))


def beginnings(variable: Variable, values: Floats, grain: Grain) -> Floats:
    """First day, or first second, of the period that each date or moment is in."""
    if not variable.is_date or (grain == "hour" and variable.type == "date"):
        raise InputError(f"{variable.name} is {variable.type}: it has no {grain}")
    if grain == "hour":
        return np.floor(values / HOUR) * HOUR
    return first_of(np.floor(values / variable.day), grain) * variable.day


def recoded_dates(
    variable: Variable, values: Floats, params: RecodingParams, periods: Sequence[str] | None = None
) -> Recoded:
    """Period or band of each date.

    `values`: days, or seconds of a datetime, since 1970-01-01; shape (n,).
    """
    how = params.recode.get(variable.name, params.grain)
    days = np.floor(values / variable.day)
    if isinstance(how, AgeBands):
        ages = completed_years(days.astype(np.int64), np.array([(how.age_at - FIRST_DAY).days]))
        names = band_names([f"{age:g}" for age in how.bands])
        return Recoded(np.searchsorted(np.array(how.bands), ages, side="right"), names, bands_of_ages(how, variable))
    if isinstance(how, str):
        found = _texts_of_periods(variable, values, how).dictionary_encode()
        own = found.dictionary.to_pylist()
        # Texts of periods are in the order of time.
        shown = sorted(own) if periods is None else list(periods)
        place = {text: code for code, text in enumerate(shown)}
        codes = np.array([place[text] for text in own], dtype=np.int64)[np.array(found.indices, dtype=np.int64)]
        return Recoded(codes, tuple(shown), bands_of_periods(shown, how, variable))
    if isinstance(how, tuple) and isinstance(how[0], date):
        starts = [bound for bound in how if isinstance(bound, date)]
        bounds = np.array([(bound - FIRST_DAY).days for bound in starts])
        names = band_names([bound.isoformat() for bound in starts])
        return Recoded(np.searchsorted(bounds, days, side="right"), names, between((bounds * variable.day).tolist()))
    hint = "year, quarter, month, day or hour, the dates between bands, or {age_at: 2020-12-31, bands: [18, 65]}"
    raise InputError(f"{variable.name} is a {variable.type}: give {hint}")


def _texts_of_periods(variable: Variable, values: Floats, grain: Grain) -> pa.StringArray:
    """Name of the period that each date or moment is in."""
    begins = beginnings(variable, values, grain) if grain == "hour" else np.floor(values / variable.day)
    return write_dates(begins, np.zeros(len(begins), dtype=np.bool_), FORMS[grain])


def occurring_periods(block: Block, params: RecodingParams) -> dict[str, Any]:
    """Periods that occur among some records, of each date of which periods are published."""
    found: dict[str, list[str]] = {}
    for j, variable in enumerate(block.variables):
        how = params.recode.get(variable.name, params.grain)
        if variable.is_date and isinstance(how, str):
            texts = _texts_of_periods(variable, block.values[~block.missing[:, j], j], how)
            found[variable.name] = sorted(texts.unique().to_pylist())
        elif variable.is_numeric and not variable.is_date and variable.name not in params.recode:
            # Refused here, before anything is masked.
            banded(variable, np.zeros(0), params, part=block.n < block.file_n)
    return {"periods": found}


def all_periods(facts: Sequence[Mapping[str, Any]], params: RecodingParams) -> dict[str, Any]:  # noqa: ARG001 - the contract
    """Periods that occur in the file."""
    names = dict.fromkeys(name for each in facts for name in each["periods"])
    return {"periods": {name: sorted(set().union(*(each["periods"][name] for each in facts))) for name in names}}


def between(borders: Sequence[float]) -> tuple[Band, ...]:
    """Bands below the first border, between each two, and from the last one on; one of all numbers without borders."""
    return tuple(Band(lower=low, upper=high) for low, high in pairwise((-math.inf, *borders, math.inf)))


def bands_of_ages(how: AgeBands, variable: Variable) -> tuple[Band, ...]:
    """Days of birth of each band of ages, in the unit of the variable."""
    reference = np.array([(how.age_at - FIRST_DAY).days])
    latest: list[float] = []
    for age in how.bands:
        near = float(reference[0]) - np.ceil(age) * 365.2425
        born = np.arange(np.floor(near) - 3, np.ceil(near) + 4).astype(np.int64)
        latest.append(float(born[completed_years(born, reference) >= age].max()))
    ends = (math.inf, *((day + 1) * variable.day for day in latest), -math.inf)
    return tuple(Band(lower=low, upper=high) for high, low in pairwise(ends))


def bands_of_periods(names: Sequence[str], grain: Grain, variable: Variable) -> tuple[Band, ...]:
    """Days, or seconds of a datetime, of each period."""
    first = read_dates(pa.array(names, pa.string()), FORMS[grain]).values
    if grain == "hour":
        return tuple(Band(lower=low, upper=low + HOUR) for low in first.tolist())
    if grain == "day":
        after = first + 1
    else:
        months = {"year": 12, "quarter": 3, "month": 1}[grain]
        start = year_month_day(first.astype(np.int64))
        ends = [f"{year + (month + months - 1) // 12:04}-{(month + months - 1) % 12 + 1:02}"
                for year, month in zip(start.year.tolist(), start.month.tolist(), strict=True)]  # fmt: skip
        after = np.nan_to_num(read_dates(pa.array(ends, pa.string()), FORMS["month"]).values, nan=np.inf)
    pairs = zip((first * variable.day).tolist(), (after * variable.day).tolist(), strict=True)
    return tuple(Band(lower=low, upper=high) for low, high in pairs)


def bands_of_groups(variable: Variable, codes: Integers) -> tuple[Band, ...]:
    """What each group of categories stands for, by the group of each category; empty where that is not known."""
    own = variable.bands or tuple(Band(members=(category,)) for category in variable.categories)
    groups: dict[int, list[Band]] = {}
    for code, band in zip(codes.tolist(), own, strict=True):
        groups.setdefault(code, []).append(band)
    found = [Band.joined(groups[code]) for code in sorted(groups)]
    known = [band for band in found if band is not None]
    return tuple(known) if len(known) == len(found) else ()


def rounded_quantiles(values: Floats, bands: int) -> Floats:
    """Bounds of about equally large bands, rounded to two significant digits of the spread; rising."""
    if not len(values):
        return np.zeros(0)
    bounds = np.quantile(values, np.arange(1, bands) / bands)
    spread = float(np.max(values) - np.min(values))
    if spread > 0:
        step = 10.0 ** (math.floor(math.log10(spread)) - 1)
        bounds = np.round(bounds / step) * step
    return np.unique(bounds)


def band_names(shown: Sequence[str]) -> tuple[str, ...]:
    """Names of the bands between bounds, given as texts."""
    if not shown:
        return ("any",)
    return (
        f"below {shown[0]}",
        *(f"{low} to below {high}" for low, high in pairwise(shown)),
        f"{shown[-1]} and above",
    )


def joined(variable: Variable, groups: Mapping[str, Sequence[str]]) -> tuple[Integers, tuple[str, ...]]:
    """Code of each old category among the new ones, and the new categories in the order of their first members."""
    unknown = {member for members in groups.values() for member in members} - set(variable.categories)
    if unknown:
        raise InputError([_unknown_category(variable, each) for each in sorted(unknown)])
    new_name = {member: name for name, members in groups.items() for member in members}
    clash = [name for name in groups if name in variable.categories and new_name.get(name) != name]
    if clash:
        raise InputError(f"{variable.name}: {clash[0]!r} is a category that stays; give the group another name")
    names = [new_name.get(category, category) for category in variable.categories]
    categories = tuple(dict.fromkeys(names))
    codes = np.array([categories.index(name) for name in names], dtype=np.int64)
    if variable.type == "ordinal" and np.any(np.diff(codes) < 0):
        raise InputError(f"{variable.name} is ordinal: only neighbouring categories can be joined")
    return codes, categories


def _unknown_category(variable: Variable, member: str) -> Problem:
    """What is wrong, with the nearest of the categories that are declared: others are values of records."""
    of_order = variable.categories if variable.type == "ordinal" and not variable.bands else ()
    declared = [name for name in variable.categories if name in of_order or name in dict(variable.labels)]
    near = difflib.get_close_matches(member, declared, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else f" (it has {len(variable.categories)})"
    hint = None if near else "`maskwright describe DATA --show-values` lists the most frequent ones: confidential."
    return Problem(f"{variable.name} has no category called {member!r}{meant}", hint=hint)


def _variant(params: RecodingParams) -> Method:
    """With bounds and groups that are given, each record is recoded by itself.

    With the periods of dates it has to know which occur; levels of hierarchies and equally large bands are made of all
    values.
    """
    of_bands = not params.recode or "bands" in params.model_fields_set
    if of_bands or any(isinstance(how, Level) for how in params.recode.values()):
        return RECODING.claiming(gathering=None)
    given = bool(params.recode) and not any(isinstance(how, str) for how in params.recode.values())
    return RECODING.claiming(cut="any", gathering=None) if given else RECODING


def publishes(params: RecodingParams, variable: Variable) -> Variable | None:
    """Variable as it is published, where bounds, groups or a level say it without data."""
    how = params.recode.get(variable.name)
    if how is None or isinstance(how, str) or (isinstance(how, dict) and not variable.categories):
        return None
    if isinstance(how, Level) and variable.hierarchy is None:
        return None
    empty = np.zeros((0, 1))
    block = Block(empty, np.zeros((0, 1), dtype=np.bool_), (variable,))
    found = protect(block, params, np.random.default_rng(0)).variables
    return None if found is None else found[0]


RECODING = Method(
    name="recoding",
    protect=protect,
    params=RecodingParams,
    scope="variable",
    claims=Claims(
        cut="none",
        within_strata=False,
        variable_types={"continuous", "integer", "date", "datetime", "ordinal", "nominal"},
        handles_missing=True,
        preserves={"equals"},
        removes={"detail"},
        deterministic=True,
        publishes=publishes,
        gathering=Gathering(
            partial=occurring_periods, merged=all_periods, not_with="levels of hierarchies, or `bands`"
        ),
        changes_few=True,
    ),
    variant=_variant,
    reference="Hundepool et al. (2012), Statistical Disclosure Control, section 3.4.2; Willenborg and de Waal (2001), "
    "Elements of Statistical Disclosure Control, section 1.3",
    summary="Publishes bands instead of numbers, periods instead of dates, and joins categories, in all records alike "
    "(global recoding).",
    example="method: recoding\nparams: {bands: 5}\n",
)
