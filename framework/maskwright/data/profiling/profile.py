"""Profiling the columns of a file: what each probably is, and which probably identifies the household."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from maskwright.data import notations
from maskwright.data.column_doubts import DATE, LEADING_ZERO, codes_apart
from maskwright.data.date_columns import compact_form
from maskwright.data.date_texts import read_dates
from maskwright.data.notations import FEWEST_CELLS, fitting_formats
from maskwright.data.profiling.column_profile import CellKinds, ColumnProfile, Facts, LikelyType, Unsure, meaning_of
from maskwright.data.profiling.likely_roles import Guess, household_key, likely_role
from maskwright.foundation.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.profiling.column_profile import Meaning
    from maskwright.data.variable import VariableType


FEW = 20
"""Different whole numbers up to which they may be codes."""

LARGEST_CODE = 999
"""Largest whole number that is probably a code."""
FEWEST_CELLS_OF_A_KEY = 20
"""Cells from which on it means something that all of them differ."""
LONGEST_IDENTIFIER = 40
"""Characters up to which different texts are probably identifiers, and beyond four times that free text."""
NEARLY_ALL = 0.95
"""Share of the texts from which on all are taken to be dates, or to have a blank in them."""
NINE = 9.0
"""Code that says 'no value' in many lists of codes."""
MOST_CATEGORIES_SHOWN = 20

NO_CODES: Mapping[str, Collection[str]] = {}
NOT_MIXED: Mapping[str, CellKinds] = {}


@dataclass(frozen=True)
class FileProfile:
    """What was seen of all variables, and which of them probably names the household (None: no variable does)."""

    variables: tuple[ColumnProfile, ...]
    household: str | None


def profile_columns(
    data: Dataset,
    codes: Mapping[str, Collection[str]] = NO_CODES,
    progress: Progress = silent,
    *,
    household: str | None = None,
    show_values: bool = False,
    mixed: Mapping[str, CellKinds] = NOT_MIXED,
) -> FileProfile:
    """Look at every variable; `mixed`: those of which some cells are numbers and some are not."""
    facts: list[Facts] = []
    for position, column in enumerate(data):
        facts.append(facts_of(column, codes.get(column.name, ()), mixed.get(column.name)))
        progress(0.8 * (position + 1) / len(data.columns))
    meanings: dict[str, Meaning | None] = {column.name: meaning_of(column.name) for column in data}
    guesses = {each.column.name: likely_role(each, meanings[each.column.name]) for each in facts}
    key = household
    if key is None:
        key, why, unsure = household_key(data, facts, meanings)
        if key is not None:
            guesses[key] = Guess("identifier", why, unsure)
    looks = [_profile(each, guesses[each.column.name], show_values=show_values) for each in facts]
    progress(1.0)
    return FileProfile(tuple(replace(each, meaning=meanings[each.name]) for each in looks), key)


def facts_of(column: Column, codes: Collection[str], kinds: CellKinds | None = None) -> Facts:
    """Counts of a column."""
    present = column.values[~column.missing].astype(np.float64, copy=False)
    found, unsure = _written_codes(column), list[Unsure]()
    if column.variable.is_numeric:
        apart = {code: count for code, count in codes_apart(column).items() if count >= FEWEST_CELLS}
        if apart:
            present = present[~np.isin(present, list(apart))]
            found |= {f"{code:.0f}": count for code, count in apart.items()}
            unsure.append(_taken_for_missing(apart, "far from all others"))
    for word in codes:
        count = found.get(word, 0)
        meant = f"{word!r}: taken to mean 'no value'"
        unsure.append(
            Unsure(f"{count} {'cell says' if count == 1 else 'cells say'} {meant}", f"some cells say {meant}")
        )
    distinct = np.unique(present)
    looks_like = _likely_type(column, present, distinct)
    if kinds is not None:
        looks_like = "number" if _are_nearly_numbers(column, kinds) else looks_like
        way = "declare `missing: [...]`, or correct"
        mixed = f"{kinds.mixture}: {way} {'it' if kinds.odd == 1 else 'them'}"
        unsure.append(Unsure(mixed, f"most cells are numbers and some are not: {way} them"))
    if looks_like == "category":
        below = _below_zero(column, present)
        if below:
            unsure.append(_taken_for_missing(below, "below zero among codes"))
            found |= below
            present = present[~np.isin(present, [column.variable.categories.index(code) for code in below])]
            distinct = np.unique(present)
    if looks_like == "code":
        apart, present, distinct = _apart_from_codes(present, distinct)
        found |= {f"{code:.0f}": count for code, count in apart.items()}
        if apart:
            unsure.append(_taken_for_missing(apart, "below zero among codes"))
        if len(distinct) > 2 and distinct[-1] == NINE and distinct[-2] <= NINE / 2 + 1:
            unsure.append(Unsure("9 stands apart from the other codes: perhaps 'no value' (declare `missing: [9]`)"))
    cells = len(present)
    return Facts(column, looks_like, cells, len(column) - cells, len(distinct), found, present, tuple(unsure))


def _taken_for_missing(codes: Mapping[str, int] | Mapping[float, int], where: str) -> Unsure:
    meant = f"{where}: taken to mean 'no value'"
    plain = {code if isinstance(code, str) else f"{code:.0f}": count for code, count in codes.items()}
    counted = " and ".join(f"{code} ({count} cells)" for code, count in plain.items())
    return Unsure(f"{counted}, {meant}", f"{' and '.join(plain)}, {meant}")


def _are_nearly_numbers(column: Column, kinds: CellKinds) -> bool:
    """Whether reading takes a column of texts for numbers, and few cells for mistakes; codes have leading zeros."""
    zeros = pc.any(pc.match_substring_regex(column.variable.category_texts, LEADING_ZERO)).as_py()
    return not zeros and kinds.numbers >= notations.NEARLY_ALL * (kinds.numbers + kinds.odd)


def _written_codes(column: Column) -> dict[str, int]:
    """Missing codes in the cells, and in how many."""
    if column.blank is None:
        return {}
    places = column.blank.codes[column.blank.codes >= 0]
    counts = np.bincount(places, minlength=len(column.blank.texts)).tolist()
    found: dict[str, int] = {}
    for text, count in zip(column.blank.texts, counts, strict=True):
        if text.strip():
            found[text.strip()] = found.get(text.strip(), 0) + count
    return found


def _below_zero(column: Column, present: NDArray[np.float64]) -> dict[str, int]:
    """Whole numbers below zero among codes of digits, and in how many cells each stands."""
    counts = np.bincount(present.astype(np.int64), minlength=len(column.variable.categories))
    held = {text: int(n) for text, n in zip(column.variable.categories, counts, strict=True) if n}
    below = {text: count for text, count in held.items() if re.fullmatch("-[1-9][0-9]?", text)}
    others = held.keys() - below.keys()
    return below if len(others) > 1 and all(text.isdecimal() for text in others) else {}


def _apart_from_codes(
    present: NDArray[np.float64], distinct: NDArray[np.float64]
) -> tuple[dict[float, int], NDArray[np.float64], NDArray[np.float64]]:
    below = distinct < 0
    if not np.any(below) or np.count_nonzero(~below) < 2:
        return {}, present, distinct
    counts = {float(code): int(np.count_nonzero(present == code)) for code in distinct[below]}
    return counts, present[present >= 0], distinct[~below]


def _likely_type(column: Column, present: NDArray[np.float64], distinct: NDArray[np.float64]) -> LikelyType:
    if not len(present):
        return "empty"
    if len(distinct) == 1:
        return "constant"
    if column.variable.is_date:
        return "date"
    if column.variable.is_numeric:
        return _likely_type_of_numbers(column, present, distinct)
    return _likely_type_of_texts(column, present, distinct)


def _likely_type_of_numbers(column: Column, present: NDArray[np.float64], distinct: NDArray[np.float64]) -> LikelyType:
    if column.variable.decimals != 0:
        return "number"
    low, high = distinct[0], distinct[-1]
    if len(distinct) == len(present) >= FEWEST_CELLS_OF_A_KEY and high - low + 1 <= 2 * len(present):
        return "identifier"
    if compact_form(distinct) is not None:
        return "date"
    if len(distinct) <= FEW and 5 * len(distinct) <= len(present) and low > -100 and high <= LARGEST_CODE:
        return "code"
    return "number"


def _likely_type_of_texts(column: Column, present: NDArray[np.float64], distinct: NDArray[np.float64]) -> LikelyType:
    texts = column.variable.category_texts
    if _share(pc.match_substring_regex(texts, DATE)) >= NEARLY_ALL:
        return "date"
    lengths = np.array(pc.utf8_length(texts))
    many = len(present) >= FEWEST_CELLS_OF_A_KEY
    spaced = _share(pc.match_substring(texts, " "))
    if many and len(distinct) == len(present) and lengths.max() <= LONGEST_IDENTIFIER and spaced < NEARLY_ALL:
        return "identifier"
    if many and (2 * len(distinct) > len(present) or lengths.max() > 4 * LONGEST_IDENTIFIER):
        return "identifier" if spaced == 0 and lengths.max() <= LONGEST_IDENTIFIER else "free text"
    return "category"


def _share(true: object) -> float:
    return float(np.mean(np.array(pc.fill_null(true, False), dtype=np.bool_)))


def _profile(facts: Facts, guess: Guess, *, show_values: bool) -> ColumnProfile:
    column = facts.column
    look = ColumnProfile(
        name=column.name,
        type=_type(facts, guess),
        looks_like=facts.looks_like,
        role=column.variable.role if not column.variable.inferred_role else guess.role,
        why="declared" if not column.variable.inferred_role else guess.why,
        meaning=None,
        cells=facts.cells,
        missing=facts.missing,
        distinct=facts.distinct,
        missing_codes=facts.missing_codes,
        decimals=None if column.variable.is_date else column.variable.decimals,
        date_format=_date_format(facts),
        unsure=(*facts.unsure, *(guess.unsure if column.variable.inferred_role else ())),
    )
    if not show_values or not facts.cells or column.variable.is_date:
        return look
    if column.variable.is_numeric and facts.looks_like != "code":
        return replace(look, lowest=float(facts.values.min()), highest=float(facts.values.max()))
    return replace(look, categories=_categories(facts))


def _date_format(facts: Facts) -> str | None:
    """Format to declare of a column of texts that are all dates of it; None where there are two, or others, too."""
    variable = facts.column.variable
    if facts.looks_like != "date" or variable.is_numeric:
        return None
    texts = variable.category_texts
    formats = fitting_formats(texts)
    return formats[0] if len(formats) == 1 and read_dates(texts, formats[0]).is_date.all() else None


def _type(facts: Facts, guess: Guess) -> VariableType:
    if _date_format(facts) is not None:
        return "date"
    if facts.looks_like == "number" and not facts.column.variable.is_numeric:
        return "continuous"
    return "nominal" if facts.looks_like == "code" and not guess.counts else facts.column.variable.type


def _categories(facts: Facts) -> dict[str, int]:
    found, counts = np.unique(facts.values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES_SHOWN]
    names = facts.column.variable.categories
    return {
        (f"{found[each]:.0f}" if facts.column.variable.is_numeric else names[int(found[each])]): int(counts[each])
        for each in order
    }
