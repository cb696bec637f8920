"""Advice on levels: which variables of a flat file describe the household, and which the person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from maskwright.data.dataset import Column
from maskwright.data.profiling.column_profile import meaning_of
from maskwright.data.record_groups import names_each_record, shared_codes
from maskwright.data.variable import Variable
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset


PLACES = 2
"""Values that numbers of places in a group have at most, as a multiple of the largest group."""
KEY_MEANINGS = ("identifier", "household")
NEARLY = 0.95
"""Share of the groups in which a variable is the same, and of the cells that point, that makes it worth a look."""

UPPER, LOWER = "household", "person"


@dataclass(frozen=True)
class LevelAdvice:
    """What a key shows of the variables of a flat file; only groups of two or more records are compared.

    `nearly`: share of the groups in which a variable is the same, from `NEARLY`. `pointers`: variables that name
    another record of the group by its `member_key`, and in how many cells they do not.
    """

    key: str
    records: int
    groups: int
    compared: int
    constant: tuple[str, ...]
    nearly: dict[str, float]
    varying: tuple[str, ...]
    member_key: str | None
    pointers: dict[str, int]

    @property
    def section(self) -> str:
        """The ``data: levels:`` section of a pipeline that says so."""
        upper: dict[str, object] = {"key": self.key}
        lower: dict[str, object] = {"key": self.member_key or "pno", "in": UPPER}
        if self.constant:
            upper["variables"] = [*self.constant]
        else:
            lower["variables"] = [*self.nearly, *self.varying]
        if self.pointers:
            lower["pointers"] = dict.fromkeys(self.pointers, self.member_key)
        lines = ["data:", "  levels:", f"    {UPPER}: {_flow(upper)}", f"    {LOWER}: {_flow(lower)}"]
        if self.member_key is None:
            lines[-1] += "    # no such variable yet: number the records within each group"
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``advise levels --json`` prints it."""
        return {
            "key": self.key,
            "records": self.records,
            "groups": self.groups,
            "compared_groups": self.compared,
            "constant": list(self.constant),
            "nearly_constant": dict(self.nearly),
            "varying": list(self.varying),
            "member_key": self.member_key,
            "pointers": list(self.pointers),
            "not_pointing": {name: count for name, count in self.pointers.items() if count},
            "levels": {
                UPPER: {"key": self.key, "variables": list(self.constant)},
                LOWER: {
                    "key": self.member_key,
                    "in": UPPER,
                    "pointers": dict.fromkeys(self.pointers, self.member_key),
                },
            },
        }


def advise_levels(data: Dataset, key: str, exclude: Sequence[str] = ()) -> LevelAdvice:
    """Find what is the same in all records of each group, what distinguishes them, and what names another one."""
    unknown = [name for name in (key, *exclude) if name not in data]
    if unknown:
        raise InputError([Problem(unknown_name("variable", name, data.names)) for name in unknown])
    if data[key].missing.any():
        raise InputError(f"the key {key!r} is missing in {int(data[key].missing.sum()):,} of {len(data):,} records")
    groups, order, starts = _groups(data[key])
    sizes = np.diff(np.r_[starts, len(data)])
    compared = sizes > 1
    if not compared.any():
        hint = "Name the variable that the records of a household have in common."
        raise InputError(Problem(f"no two records have the same {key!r}: there are no groups to compare", hint=hint))
    others = [column for column in data if column.name not in (key, *exclude)]
    shares = {column.name: _constant_share(column, order, starts, compared) for column in others}
    varying = [column for column in others if shares[column.name] < 1]
    member_key = _member_key(varying, groups, order, starts, sizes)
    pointers = {} if member_key is None else _pointers(varying, data[member_key], groups)
    return LevelAdvice(
        key=key,
        records=len(data),
        groups=len(starts),
        compared=int(compared.sum()),
        constant=tuple(name for name, share in shares.items() if share == 1),
        nearly={name: round(share, 6) for name, share in shares.items() if NEARLY <= share < 1},
        varying=tuple(name for name, share in shares.items() if share < NEARLY),
        member_key=member_key,
        pointers=pointers,
    )


def _flow(value: object) -> str:
    """Text of a mapping on one line of YAML."""
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.strip()


def _groups(key: Column) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Group of each record, records by group, and where each group starts among these."""
    (codes,) = shared_codes([key])
    order = np.argsort(codes, kind="stable").astype(np.int64)
    starts = np.searchsorted(codes[order], np.arange(int(codes.max()) + 1)).astype(np.int64)
    return codes, order, starts


def _constant_share(
    column: Column, order: NDArray[np.int64], starts: NDArray[np.int64], compared: NDArray[np.bool_]
) -> float:
    """Share of the compared groups in which a variable is the same."""
    (codes,) = shared_codes([column])
    sorted_codes = codes[order]
    same = np.minimum.reduceat(sorted_codes, starts) == np.maximum.reduceat(sorted_codes, starts)
    return float(same[compared].mean())


def _member_key(
    columns: Sequence[Column],
    groups: NDArray[np.int64],
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> str | None:
    """Variable that differs within each group; one that counts 1, 2, ... before others.

    Then one of few values, as places in a group have, and one that differs in all records. A number that is neither,
    an age or an amount, differs by chance.
    """
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    found: list[tuple[int, bool, str]] = []
    for column in columns:
        if column.missing.any() or _means_something_else(column):
            continue
        (codes,) = shared_codes([column])
        pairs = groups * (int(codes.max()) + 1) + codes
        if len(np.unique(pairs)) < len(pairs):
            continue
        is_number, distinct = _with_numbers(column).variable.is_numeric, int(codes.max()) + 1
        counts = column.variable.is_numeric and bool((column.values == place + 1).all())
        if is_number and not counts and PLACES * int(sizes.max()) < distinct < len(codes):
            continue
        rank = 0 if counts else 1 if distinct <= PLACES * int(sizes.max()) else 2 if distinct == len(codes) else 3
        found.append((rank, is_number, column.name))
    return min(found, key=lambda each: each[:2])[2] if found else None


def names_groups(column: Column) -> bool:
    """Whether a variable may be the key of records: each has another value, and it is no amount or age that differs.

    Numbers have to ascend in the file, as keys do and amounts do not, unless their name says that they are a key.
    """
    if not names_each_record(column) or _means_something_else(column):
        return False
    values = _with_numbers(column)
    is_named = meaning_of(column.name) in KEY_MEANINGS
    return is_named or not values.variable.is_numeric or bool(np.all(np.diff(values.values) > 0))


def _means_something_else(column: Column) -> bool:
    """Whether a variable is no key: its name is of an age, an amount or a region, or it has decimals."""
    has_decimals = column.variable.is_numeric and column.variable.decimals != 0
    return has_decimals or meaning_of(column.name) not in (None, *KEY_MEANINGS)


def _with_numbers(column: Column) -> Column:
    """Column of texts most of which are numbers, as numbers; what is none is missing. Others as they are."""
    if column.variable.is_numeric:
        return column
    texts = column.variable.categories
    is_number = np.array([text.strip().isdecimal() for text in texts] + [False])
    there = is_number[column.values] & ~column.missing
    if 2 * int(there.sum()) <= int((~column.missing).sum()):
        return column
    numbers = np.array([float(text) if known else np.nan for text, known in zip(texts, is_number, strict=False)] + [0])
    variable = Variable(column.name, "integer", decimals=0)
    return Column(variable, np.where(there, numbers[column.values], np.nan), ~there)


def _pointers(columns: Sequence[Column], member_key: Column, groups: NDArray[np.int64]) -> dict[str, int]:
    """Variables whose cells are missing, 0, or the key of another record of the same group; cells that are neither."""
    found = {}
    for each in columns:
        column = _with_numbers(each) if member_key.variable.is_numeric else each
        if column.name == member_key.name or column.variable.is_numeric != member_key.variable.is_numeric:
            continue
        own, named = shared_codes([member_key, column])
        zero = column.values == 0 if column.variable.is_numeric else np.zeros(len(column), dtype=np.bool_)
        used = ~(each.missing | zero)
        size = int(max(own.max(), named.max(initial=0))) + 1
        # A record that names itself makes it something else: a code of few values, such as the relation to the head.
        points = np.isin(groups * size + named, groups * size + own) & (named != own)
        if used.any() and points[used].mean() >= NEARLY:
            found[column.name] = int((used & ~points).sum())
    return found
