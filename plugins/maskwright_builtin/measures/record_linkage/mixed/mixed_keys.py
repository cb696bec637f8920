"""Keys of any type as points and intervals on a line, categories and published groups among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright import Classes, InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from maskwright import Band, Column, Comparison, Variable
    from maskwright_builtin.numerics.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class CategoryPlaces:
    """Places of categories.

    `original`: of each original category; shape (c,). `low`, `high`: of the first and the last member of each published
    one; shape (g,).
    """

    original: Floats
    low: Floats
    high: Floats


def band_of_text(before: Variable, after: Variable) -> dict[str, Band]:
    """What each published category stands for, by the bands of the variable or the original's hierarchy."""
    if after.bands:
        return dict(zip(after.categories, after.bands, strict=True))
    known: dict[str, Band] = {}
    if before.hierarchy is not None:
        for level in range(before.hierarchy.height, 0, -1):
            known |= zip(before.hierarchy.labels(level), before.hierarchy.bands(level), strict=True)
    return known


def category_places(before: Variable, after: Variable, occurring: Integers, *, in_order: bool) -> CategoryPlaces | None:
    """Places of the categories of both files; None where a published one that occurs stands for nothing known.

    Without an order the members of a group are put side by side, which nested groups allow.
    """
    position = {category: place for place, category in enumerate(before.categories)}
    known = band_of_text(before, after)
    groups: list[frozenset[int]] = []
    for code, category in enumerate(after.categories):
        band = known.get(category)
        if band is not None and band.members is not None:
            members = frozenset(position[str(member)] for member in band.members if str(member) in position)
        else:
            members = frozenset({position[category]} if category in position else ())
        if not members and code in occurring:
            return None
        groups.append(members or frozenset({0}))
    order = list(range(len(position))) if in_order else _side_by_side(len(position), groups)
    place = np.empty(len(order))
    place[order] = np.arange(float(len(order)))
    ends = np.array([(min(place[list(one)]), max(place[list(one)])) for one in groups]).reshape(-1, 2)
    sizes = np.array([len(one) for one in groups])
    if (ends[:, 1] - ends[:, 0] + 1.0 > sizes)[occurring].any():
        return None
    return CategoryPlaces(place, ends[:, 0], ends[:, 1])


def _side_by_side(count: int, groups: Sequence[frozenset[int]]) -> list[int]:
    """Order of the categories in which the members of nested groups are neighbours."""
    chains: list[list[int]] = [[] for _ in range(count)]
    for number, group in enumerate(sorted(set(groups), key=lambda one: (-len(one), sorted(one)))):
        for member in group:
            chains[member].append(number)
    return sorted(range(count), key=lambda member: (chains[member], member))


Kind = Literal["nominal", "ordered", "numeric"]
Ordered = Literal["steps", "mid_ranks", "equality"]


@dataclass(frozen=True, eq=False)
class KeyColumn:
    """One key in one file.

    `codes`: value of each record, -1 where missing; shape (n,). `low`, `high`: from where to where each value reaches;
    the same for one value, apart for a band; shape (v,).
    """

    codes: Integers
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class MixedKey:
    """One key in both files.

    `kind`: how a gap between two values counts: as one, or by its size. `span`: the gap that counts as a whole
    difference: the range of the original, or the steps between the first and the last category. 1 for nominal keys.
    `scale`: places of numbers are so many times their values.
    """

    name: str
    kind: Kind
    original: KeyColumn
    masked: KeyColumn
    span: float = 1.0
    scale: float = 1.0

    @property
    def width(self) -> float:
        """The largest gap there is."""
        columns = [column for column in (self.original, self.masked) if column.low.size]
        if not columns:
            return 0.0
        return float(max(column.high.max() for column in columns) - min(column.low.min() for column in columns))


@dataclass(frozen=True, eq=False)
class Rows:
    """The distinct rows of one file.

    `low`, `high`: 0 where missing; shape (r, d). `present`: bit j: key j is there; shape (r,). `copies`: shape (r,).
    `of_record`: shape (n,). `first`: the first record of each row; shape (r,).
    """

    low: Floats
    high: Floats
    present: Integers
    copies: Integers
    of_record: Integers
    first: Integers

    def part(self, records: Integers) -> Rows:
        """The same rows, with some of the records only."""
        of_record = self.of_record[records]
        return replace(self, copies=np.bincount(of_record, minlength=len(self.low)), of_record=of_record)


def rows_of(columns: Sequence[KeyColumn], records: Integers | None = None) -> Rows:
    """Distinct rows of one file.

    `records`: records to take, in any order and more than once; by default all; shape (m,).
    """
    codes = [column.codes if records is None else column.codes[records] for column in columns]
    classes = Classes.of(codes)
    first = classes.first
    low, high = np.zeros((len(first), len(columns))), np.zeros((len(first), len(columns)))
    present = np.zeros(len(first), dtype=np.int64)
    for j, (column, code) in enumerate(zip(columns, codes, strict=True)):
        own = code[first]
        there = own >= 0
        low[there, j], high[there, j] = column.low[own[there]], column.high[own[there]]
        present |= there.astype(np.int64) << j
    return Rows(low, high, present, classes.records, classes.codes, first)


def mixed_keys(
    comparison: Comparison, keys: Sequence[str], nominal: Collection[str], ordered: Ordered
) -> tuple[list[MixedKey], list[str]]:
    """Keys of both files, and notes on how they are compared."""
    found, notes = [], []
    for name in keys:
        codes = comparison.keys(name)  # refuses a name that a file has not, with the nearest one
        if not (len(codes[0]) and len(codes[1])):
            raise InputError(f"there is nothing to link: {len(codes[0])} original and {len(codes[1])} masked records")
        before, after = comparison.original[name], comparison.masked[name]
        key = _key(before, after, as_names=name in nominal, ordered=ordered)
        if key is None:
            key = MixedKey(name, "nominal", _by_code(codes[0]), _by_code(codes[1]))
            notes.append(
                f"{name}: what its published categories stand for is not known; they are compared with the original "
                "values as texts"
            )
        found.append(key)
    gone = [sum(int((getattr(key, file).codes < 0).sum()) for key in found) for file in ("original", "masked")]
    if any(gone):
        notes.append(f"missing cells: {gone[0]} in the original file, {gone[1]} in the masked file")
    return found, notes


def _key(before: Column, after: Column, *, as_names: bool, ordered: Ordered) -> MixedKey | None:
    """The key by what its values are; None where the published categories cannot be placed among the original ones."""
    if before.variable.is_numeric:
        return _numeric(before, after, as_names=as_names)
    if after.variable.is_numeric:
        return None
    by_order = before.variable.type == "ordinal" and ordered != "equality" and not as_names
    places = category_places(before.variable, after.variable, _occurring(after), in_order=by_order)
    if places is None:
        return None
    at, low, high = places.original, places.low, places.high
    span = float(len(at) - 1) if by_order else 1.0
    if by_order and ordered == "mid_ranks":
        counts = np.bincount(before.values[~before.missing].astype(np.int64), minlength=len(at))
        # Twice the mid-rank, a whole number.
        ranks = (2 * np.cumsum(counts) - counts + 1).astype(np.float64)
        at, low, high = ranks, ranks[low.astype(np.int64)], ranks[high.astype(np.int64)]
        span = float(np.ptp(ranks[counts > 0])) if counts.any() else 0.0
    kind: Kind = "ordered" if by_order and span > 0.0 else "nominal"
    masked = KeyColumn(_category_codes(after), low, high)
    return MixedKey(before.name, kind, KeyColumn(_category_codes(before), at, at), masked, span or 1.0)


def _category_codes(column: Column) -> Integers:
    return np.where(column.missing, -1, column.values.astype(np.int64))


def _occurring(column: Column) -> Integers:
    return np.unique(column.values[~column.missing]).astype(np.int64)


def _by_code(codes: Integers) -> KeyColumn:
    places = np.arange(float(codes.max(initial=-1) + 1))
    return KeyColumn(codes, places, places)


def _numeric(before: Column, after: Column, *, as_names: bool) -> MixedKey | None:
    old_codes, old = _values(before)
    declared = [column.variable.decimals or 0 for column in (before, after)]
    if after.variable.is_numeric:
        new_codes, new = _values(after)
        scale = _grid([old, new], max(declared))
        low = high = _on_grid(new, scale)
    else:
        bands = bands_of(before, after)
        if bands is None:
            return None
        scale = _grid([old], max(declared))
        new_codes = _category_codes(after)
        ends = (float(old.min()), float(old.max())) if old.size else (0.0, 0.0)
        sides = np.array([_sides(band, ends, scale) for band in bands]).reshape(-1, 2)
        low, high = sides[:, 0], sides[:, 1]
    places = _on_grid(old, scale)
    span = float(np.ptp(places)) if places.size else 0.0
    kind: Kind = "nominal" if as_names or span == 0.0 else "numeric"
    files = KeyColumn(old_codes, places, places), KeyColumn(new_codes, low, high)
    return MixedKey(before.name, kind, *files, span or 1.0, scale or 1.0)


def bands_of(before: Column, after: Column) -> list[Band] | None:
    """What each published category of a number stands for; None where it is not known of one that occurs."""
    known = band_of_text(before.variable, after.variable)
    texts = after.variable.categories
    if any(texts[code] not in known for code in _occurring(after)):
        return None
    everything = next(iter(known.values()), None)
    if everything is None:
        return []
    return [known.get(text, everything) for text in texts]


def _values(column: Column) -> tuple[Integers, Floats]:
    codes = np.full(len(column.values), -1, dtype=np.int64)
    there = ~column.missing
    values, codes[there] = np.unique(column.values[there], return_inverse=True)
    return codes, values.astype(np.float64)


def _grid(files: Sequence[Floats], decimals: int) -> float:
    """Factor that makes all values whole numbers, so that differences are exact; 0 where there is none."""
    factor = 10.0**decimals
    for values in files:
        scaled = values * factor
        if (np.abs(np.rint(scaled) - scaled) > 1e-6).any() or (np.abs(scaled) >= 2.0**50).any():
            return 0.0
    return factor


def _on_grid(values: Floats, scale: float) -> Floats:
    return np.rint(values * scale) if scale else values


def _sides(band: Band, ends: tuple[float, float], scale: float) -> tuple[float, float]:
    """The least and the largest number of a band; open ends reach as far as the original."""
    if band.members is not None:
        numbers = [float(member) for member in band.members]
        low, high = min(numbers), max(numbers)
        return (round(low * scale), round(high * scale)) if scale else (low, high)
    low, high = max(band.lower, min(ends[0], band.upper)), min(band.upper, max(ends[1], band.lower))
    inclusive = band.upper_inclusive or high < band.upper
    if scale:
        last = np.floor(high * scale + 1e-6) if inclusive else np.ceil(high * scale - 1e-6) - 1.0
        first = float(np.ceil(low * scale - 1e-6))
        return first, max(first, float(last))
    return low, high if inclusive else max(low, float(np.nextafter(high, -np.inf)))
