"""Frequencies of key combinations in the file and, by the weights, in the population, however missing keys count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from maskwright import InputError
from maskwright_builtin.key_counts.classes import first_of_household, numbered
from maskwright_builtin.key_counts.packing import PackedKeys, pack_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)
MissingKeys = Literal["own", "alpha0", "subset", "wildcard"]
"""How a missing key counts: as a value of its own, ..., as any value."""


@dataclass(frozen=True, eq=False)
class KeyCounts:
    """Frequencies of the keys of each record; it counts itself.

    `file`: f: records of the file that match, or households; shape (n,). `population`: F: the sum of their weights;
    equal to f without weights; shape (n,).
    """

    file: NDArray[np.int64]
    population: NDArray[np.float64]


def count_keys(
    codes: Sequence[NDArray[np.int64]],
    missing_keys: MissingKeys = "own",
    weights: NDArray[np.float64] | None = None,
    households: NDArray[np.int64] | None = None,
) -> KeyCounts:
    """Count for each record i those j that match it.

    - ``own``: the same keys missing in both, and equal on all others. A partition of the file.
    - ``alpha0``: those, and for a record with missing keys all complete ones that equal it on what it shows.
    - ``subset``: equal on every key that i shows, and j shows all of them.
    - ``wildcard``: on every key equal, or missing in either.

    own <= alpha0 <= subset <= wildcard; all are the same where no key is missing. Only ``own`` is equality: with
    ``wildcard``, a record emptied on purpose is counted by everybody.

    `codes`: one for each key: 0, 1, ..., -1 where missing; shape (n,). `weights`: positive; shape (n,). `households`:
    0..c-1. Then households are counted: once if any member matches, with the weight of its first record; shape (n,).
    """
    if weights is not None:
        wrong = int((~(np.isfinite(weights) & (weights > 0.0))).sum())
        if wrong:
            raise InputError(
                f"the weight is missing, zero, negative or infinite in {wrong} record(s): a record stands for at least "
                "itself, so every weight is above 0"
            )
    packed = pack_keys(codes)
    of_row, first = numbered(packed)
    incomplete = any((code < 0).any() for code in codes)
    if households is None:
        size = np.bincount(of_row, minlength=len(first))
        weight = np.asarray(np.bincount(of_row, weights, len(first)), dtype=np.float64)
        if missing_keys != "own" and incomplete:
            size, weight = _records_matched(packed, first, missing_keys, size, weight)
        return KeyCounts(size[of_row], weight[of_row])
    members = first_of_household(of_row, households)
    household_weight = np.ones(int(households.max(initial=-1)) + 1)
    if weights is not None:
        # Written from the last record to the first: the first one stays.
        household_weight[households[::-1]] = weights[::-1]
    in_row, household = of_row[members], households[members]
    if missing_keys != "own" and incomplete:
        size, weight = _households_matched(packed, first, missing_keys, in_row, household, household_weight)
    else:
        size = np.bincount(in_row, minlength=len(first))
        weight = np.asarray(np.bincount(in_row, household_weight[household], len(first)), dtype=np.float64)
    return KeyCounts(size[of_row], weight[of_row])


def blended(wildcard: KeyCounts, alpha0: KeyCounts, alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``alpha wildcard + (1 - alpha) alpha0``, of f and of F: a match with a missing key counts as a part of one.

    `alpha`: 0 to 1.

    Templ, Kowarik and Meindl (2015), Journal of Statistical Software 67(4): `alpha` of ``freqCalc``.
    """
    return (
        alpha * wildcard.file + (1.0 - alpha) * alpha0.file,
        alpha * wildcard.population + (1.0 - alpha) * alpha0.population,
    )


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Different rows, ordered by which keys are missing.

    `order`: shape (r,). `words`: in that order; shape (r, w). `starts`: shape (m + 1,). `observed`: shape (m, w).
    """

    order: NDArray[np.int64]
    words: NDArray[np.int64]
    starts: NDArray[np.int64]
    observed: NDArray[np.int64]


def _patterns(packed: PackedKeys, first: NDArray[np.int64]) -> _Patterns:
    words = packed.words[first]
    shown = [(words & mask).any(axis=1) for mask in packed.masks]
    pattern, example = numbered(pack_keys([each.astype(np.int64) - 1 for each in shown]))
    observed = np.zeros((len(example), words.shape[1]), dtype=np.int64)
    for mask, each in zip(packed.masks, shown, strict=True):
        observed[each[example]] |= mask
    order = np.argsort(pattern, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(pattern)))
    return _Patterns(order, words[order], starts, observed)


def _rule(missing_keys: MissingKeys) -> int:
    from maskwright_builtin.key_counts.counting_kernel import ANY, COMPLETE, SUBSET

    return {"subset": SUBSET, "alpha0": COMPLETE, "wildcard": ANY}[missing_keys]


def matched_sizes(packed: PackedKeys, size: NDArray[np.int64], rule: int) -> NDArray[np.int64]:
    """Sum of the sizes of the rows that each row counts, those that show the same among them; shape (n,).

    `size`: shape (n,).
    """
    from maskwright_builtin.key_counts.counting_kernel import add_matches

    of_row, first = numbered(packed)
    total = np.zeros(len(first), dtype=np.int64)
    np.add.at(total, of_row, size)
    found = _patterns(packed, first)
    there = total[found.order]
    records, weight = there.copy(), np.zeros(len(there))
    add_matches(found.words, found.observed, found.starts, packed.masks, rule, there, weight, records, weight.copy())
    return np.asarray(_back(records, found.order)[of_row], dtype=np.int64)


def _records_matched(
    packed: PackedKeys,
    first: NDArray[np.int64],
    missing_keys: MissingKeys,
    size: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    from maskwright_builtin.key_counts.counting_kernel import add_matches

    found = _patterns(packed, first)
    size, weight = size[found.order], weight[found.order]
    records, population = size.copy(), weight.copy()
    add_matches(
        found.words, found.observed, found.starts, packed.masks, _rule(missing_keys), size, weight, records, population
    )
    return _back(records, found.order), _back(population, found.order)


def _households_matched(
    packed: PackedKeys,
    first: NDArray[np.int64],
    missing_keys: MissingKeys,
    in_row: NDArray[np.int64],
    household: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    from maskwright_builtin.key_counts.counting_kernel import count_matching_households

    found = _patterns(packed, first)
    place = np.empty(len(first), dtype=np.int64)
    place[found.order] = np.arange(len(first))
    by_row = np.argsort(place[in_row], kind="stable")
    pair_starts = np.append(0, np.cumsum(np.bincount(place[in_row], minlength=len(first))))
    records, population = np.empty(len(first), dtype=np.int64), np.empty(len(first))
    count_matching_households(
        found.words,
        found.observed,
        found.starts,
        packed.masks,
        _rule(missing_keys),
        pair_starts,
        household[by_row],
        weight,
        records,
        population,
    )
    return _back(records, found.order), _back(population, found.order)


def _back(ordered: NDArray[Number], order: NDArray[np.int64]) -> NDArray[Number]:
    """From the order of the patterns to that of the rows."""
    found = np.empty_like(ordered)
    found[order] = ordered
    return found
