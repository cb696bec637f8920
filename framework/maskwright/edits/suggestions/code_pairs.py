"""Codes that determine others: labels of codes, and groups of a hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes, determines
from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.suggestions.model import Candidate, nameable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.suggestions.model import Sample

MOST_CODES = 2000
"""Values that a code has at most."""

LEAST_RECORDS = 5
"""Records of one code on average: of fewer, nothing follows for its label."""

FEW_GROUPS = 10
"""Codes up to which a number may determine a variable of two values; beyond it is a measurement with a threshold."""


def code_pairs(sample: Sample) -> Iterator[Candidate]:
    """``(code, label) in original`` where the code determines the label, but for few records and not by chance.

    Of codes that determine each other, all are paired with the first; what follows from code to group and from group to
    larger group is not paired again.
    """
    codes = ValueCodes(sample.data)
    columns = [column for column in sample.data if _is_code(column, codes, len(sample))]
    names = [column.name for column in columns]
    determined: dict[str, set[str]] = {name: set() for name in names}
    for one in columns:
        for other in columns:
            if one is not other and _may_determine(one, other, codes) and determines(
                codes.of(one.name), codes.of(other.name), max(len(columns) ** 2, 1)
            ):  # fmt: skip
                determined[one.name].add(other.name)
    first = {name: next(each for each in names if each == name or _same(each, name, determined)) for name in names}
    for given in names:
        for found in (name for name in names if name in determined[given]):
            label = first[found] == first[given]
            if label and given != first[given]:
                continue
            if not label and (given != first[given] or found != first[found]):
                continue
            if not label and _through_another(given, found, names, determined, first):
                continue
            yield _candidate(sample.data, codes, given, found)


def _is_code(column: Column, codes: ValueCodes, records: int) -> bool:
    """Whether a variable may be a code: not an identifier, with few values, each in several records."""
    if column.variable.role in ("identifier", "weight") or not nameable(column.name):
        return False
    if column.variable.is_numeric and column.variable.decimals is None:
        return False
    return 1 < codes.distinct(column.name) <= min(MOST_CODES, records // LEAST_RECORDS)


def _may_determine(one: Column, other: Column, codes: ValueCodes) -> bool:
    if codes.distinct(other.name) > codes.distinct(one.name):
        return False
    if not one.variable.is_numeric:
        return True
    known = ~(one.missing | other.missing)
    groups, found = (
        codes.distinct(column.name) if known.all() else len(np.unique(codes.of(column.name)[known]))
        for column in (one, other)
    )
    return found > 2 or groups <= FEW_GROUPS


def _same(one: str, other: str, determined: dict[str, set[str]]) -> bool:
    return other in determined[one] and one in determined[other]


def _through_another(
    given: str, found: str, names: list[str], determined: dict[str, set[str]], first: dict[str, str]
) -> bool:
    """Whether a code determines another one that determines the found one: district, region, country."""
    between = (name for name in names if first[name] == name and name not in (given, found))
    return any(name in determined[given] and found in determined[name] for name in between)


def _candidate(data: Dataset, codes: ValueCodes, given: str, found: str) -> Candidate:
    other = codes.of(found)
    known = (codes.of(given) >= 0) & (other >= 0)
    shares = np.bincount(other[known]) / np.count_nonzero(known)
    chance = (1 - float(shares @ shares)) * float(known.mean())
    by = _first_characters(data, codes, given, found)
    ground = f"{given} determines {found}" if by is None else f"the first {by} characters of {given} determine {found}"
    rule = f"({name_text(given)}, {name_text(found)}) in original"
    return Candidate("dependency", rule, chance, ground=ground, pair=(given, found))


def exceptions(codes: ValueCodes, given: str, found: str) -> int:
    """Records that differ from the most frequent value of those with the same code."""
    _, counts, _ = _commonest(codes, given, found)
    known = (codes.of(given) >= 0) & (codes.of(found) >= 0)
    return int(np.count_nonzero(known)) - int(counts.sum())


def _commonest(
    codes: ValueCodes, given: str, found: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of each code its number, the records with its most frequent value, and one such record."""
    one, other = codes.of(given), codes.of(found)
    known = np.flatnonzero((one >= 0) & (other >= 0))
    width = codes.distinct(found)
    pairs, rows, counts = np.unique(one[known] * width + other[known], return_index=True, return_counts=True)
    order = np.lexsort((-counts, pairs // width))
    starts = order[np.flatnonzero(np.diff(pairs[order] // width, prepend=-1))]
    return pairs[starts] // width, counts[starts], known[rows[starts]]


def _first_characters(data: Dataset, codes: ValueCodes, given: str, found: str) -> int | None:
    """Fewest first characters of a code that determine the group; None where it takes the whole code."""
    _, _, rows = _commonest(codes, given, found)
    texts = _texts(data[given], rows)
    groups = codes.of(found)[rows].tolist()
    longest = max(map(len, texts))
    if len(set(groups)) == len(groups) or min(map(len, texts)) < longest:
        return None
    for length in range(1, longest):
        parts: dict[str, set[int]] = {}
        for text, group in zip(texts, groups, strict=True):
            parts.setdefault(text[:length], set()).add(group)
        if len(parts) < len(groups) and all(len(each) == 1 for each in parts.values()):
            return length
    return None


def _texts(column: Column, rows: NDArray[np.int64]) -> list[str]:
    if column.variable.is_numeric:
        return [f"{value:.{column.variable.decimals or 0}f}" for value in column.values[rows]]
    return [column.variable.categories[int(value)] for value in column.values[rows]]
