"""Frequencies of key combinations in the sample and the population, and the risk that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from maskwright import Classes, InputError, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


WORD = 62
"""Bits used of a word: it stays positive, so that shifts mean the same everywhere."""


@dataclass(frozen=True, eq=False)
class PackedKeys:
    """The keys of records, each key in bits of its own.

    `words`: c order. In the bits of a key stand its code + 1, or 0 where it is missing; shape (n, w). `masks`: the bits
    of each key, at least one; shape (q, w). `bits`: all bits together; `words` has one column when there are at most
    62.
    """

    words: Integers
    masks: Integers
    bits: int


def pack_keys(codes: Sequence[Integers]) -> PackedKeys:
    """Pack the codes of all keys.

    `codes`: one for each key: 0, 1, ..., the fewer the better; -1 where missing; shape (n,).
    """
    widths = [max(int(code.max(initial=-1) + 1).bit_length(), 1) for code in codes]
    places: list[tuple[int, int]] = []
    word, shift = 0, 0
    for width in widths:
        if shift + width > WORD:
            word, shift = word + 1, 0
        places.append((word, shift))
        shift += width
    words = np.zeros((len(codes[0]) if codes else 0, word + 1), dtype=np.int64)
    masks = np.zeros((len(codes), word + 1), dtype=np.int64)
    for j, (code, width, (word, shift)) in enumerate(zip(codes, widths, places, strict=True)):
        words[:, word] |= (code + 1) << shift
        masks[j, word] = ((1 << width) - 1) << shift
    return PackedKeys(words, masks, sum(widths))


Number = TypeVar("Number", bound=np.generic)
MissingKeys = Literal["own", "alpha0", "subset", "wildcard"]
"""How a missing key counts: as a value of its own, ..., as any value."""


@dataclass(frozen=True, eq=False)
class KeyCounts:
    """Frequencies of the keys of each record; it counts itself.

    `file`: f: records of the file that match, or households; shape (n,). `population`: F: the sum of their weights;
    equal to f without weights; shape (n,).
    """

    file: Integers
    population: Floats


def count_keys(
    codes: Sequence[Integers],
    missing_keys: MissingKeys = "own",
    weights: Floats | None = None,
    households: Integers | None = None,
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
        require_positive(weights)
    classes = Classes.of(codes, weights=weights, units=households)
    size, weight = classes.size, classes.weights
    if missing_keys != "own" and any((key < 0).any() for key in classes.keys):
        if households is None:
            size, weight = matched_records(classes, missing_keys)
        else:
            size, weight = _households_matched(classes, missing_keys, weights, households)
    return KeyCounts(size[classes.codes], weight[classes.codes])


def require_positive(weights: Floats) -> None:
    """Refuse weights of which some are not above 0; shape (n,)."""
    wrong = int((~(np.isfinite(weights) & (weights > 0.0))).sum())
    if wrong:
        raise InputError(
            f"the weight is missing, zero, negative or infinite in {plural(wrong, 'record')}: a record stands for at "
            "least itself, so every weight is above 0"
        )


def blended(wildcard: KeyCounts, alpha0: KeyCounts, alpha: float) -> tuple[Floats, Floats]:
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

    order: Integers
    words: Integers
    starts: Integers
    observed: Integers


def _patterns(packed: PackedKeys) -> _Patterns:
    words = packed.words
    shown = [(words & mask).any(axis=1) for mask in packed.masks]
    patterns = Classes.of(shown)
    observed = np.zeros((len(patterns), words.shape[1]), dtype=np.int64)
    for mask, each in zip(packed.masks, patterns.keys, strict=True):
        observed[each > 0] |= mask
    order = np.argsort(patterns.codes, kind="stable")
    starts = np.append(0, np.cumsum(patterns.records))
    return _Patterns(order, words[order], starts, observed)


def _rule(missing_keys: MissingKeys) -> int:
    from maskwright_builtin.key_counts.counting_kernel import ANY, COMPLETE, SUBSET

    return {"subset": SUBSET, "alpha0": COMPLETE, "wildcard": ANY}[missing_keys]


def matched_sizes(packed: PackedKeys, size: Integers, rule: int) -> Integers:
    """Sum of the sizes of the rows that each row counts, those that show the same among them; shape (n,).

    `size`: shape (n,).
    """
    classes = Classes.of(list(packed.words.T))
    total = np.zeros(len(classes), dtype=np.int64)
    np.add.at(total, classes.codes, size)
    different = PackedKeys(packed.words[classes.first], packed.masks, packed.bits)
    records, _ = _matched(different, rule, total, np.zeros(len(total)))
    return np.asarray(records[classes.codes], dtype=np.int64)


def matched_records(classes: Classes, missing_keys: MissingKeys) -> tuple[Integers, Floats]:
    """Records that those of each class count, and the sum of their weights; shape (c,) each."""
    if missing_keys == "own":
        return classes.size, classes.weights
    return _matched(pack_keys(classes.keys), _rule(missing_keys), classes.records, classes.weights)


def _matched(packed: PackedKeys, rule: int, size: Integers, weight: Floats) -> tuple[Integers, Floats]:
    """Sums over the rows that each of different rows counts."""
    from maskwright_builtin.key_counts.counting_kernel import add_matches

    found = _patterns(packed)
    size, weight = size[found.order], weight[found.order]
    records, population = size.copy(), weight.copy()
    add_matches(found.words, found.observed, found.starts, packed.masks, rule, size, weight, records, population)
    return _back(records, found.order), _back(population, found.order)


def _households_matched(
    classes: Classes, missing_keys: MissingKeys, weights: Floats | None, households: Integers
) -> tuple[Integers, Floats]:
    from maskwright_builtin.key_counts.counting_kernel import count_matching_households

    members = Classes.of([classes.codes, households])
    in_row, household = members.keys
    weight = np.ones(int(households.max(initial=-1)) + 1)
    if weights is not None:
        # Written from the last record to the first: the first one stays.
        weight[households[::-1]] = weights[::-1]
    packed = pack_keys(classes.keys)
    found = _patterns(packed)
    place = np.empty(len(classes), dtype=np.int64)
    place[found.order] = np.arange(len(classes))
    by_row = np.argsort(place[in_row], kind="stable")
    pair_starts = np.append(0, np.cumsum(np.bincount(place[in_row], minlength=len(classes))))
    records, population = np.empty(len(classes), dtype=np.int64), np.empty(len(classes))
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


def _back(ordered: NDArray[Number], order: Integers) -> NDArray[Number]:
    """From the order of the patterns to that of the rows."""
    found = np.empty_like(ordered)
    found[order] = ordered
    return found


def positive_weights(weights: Floats | None) -> tuple[Floats | None, tuple[str, ...]]:
    """Weights with which every record stands for somebody, and what was done to that end.

    `weights`: none of them negative; shape (n,).
    """
    if weights is None or weights.all():
        return weights, ()
    return positive(weights), zero_weights(int((weights == 0.0).sum()))


def positive(weights: Floats) -> Floats:
    """Weights with which every record stands for somebody: itself, where the weight is zero; shape (n,)."""
    return np.where(weights == 0.0, 1.0, weights)


def zero_weights(count: int) -> tuple[str, ...]:
    """Note on records with weight 0, if there are any."""
    if not count:
        return ()
    return (f"{plural(count, 'record')} with a weight of zero: counted with weight 1, for themselves alone",)


def sampling_fraction(file: Integers, population: Floats) -> tuple[Floats, Booleans]:
    """Share of the people with a record's keys who are in the file, ``f / F``, and where it had to be cut to 1.

    `file`: f; shape (n,). `population`: f, positive; smaller than f where weights are below 1; shape (n,).
    """
    # Sums of weights of 1 may be a rounding error off.
    above = population < file * (1.0 - 1e-12)
    return np.minimum(file / population, 1.0), above


def individual_risk(file: Integers, fraction: Floats) -> Floats:
    """Mean of 1 / F given f, for F - f negative binomial with f and pi: the chance that a link is right.

    ``r(f, pi) = (pi^f / f) 2F1(f, f; f + 1; 1 - pi) = (pi / f) sum_n n! (1 - pi)^n / ((f + 1) ... (f + n))``, all terms
    positive; below pi = 1/2 and for small f by ``r(1) = q ln(1 / pi)``, ``r(f) = q (1 / (f - 1) - r(f - 1))`` with
    ``q = pi / (1 - pi)``, which is below 1 there and damps errors. 1 / f for pi = 1.

    `file`: f, at least 1; shape (n,). `fraction`: pi, above 0 and at most 1; shape (n,).

    Benedetti and Franconi (1998); Franconi and Polettini (2004), Privacy in Statistical Databases, LNCS 3050, 262-272.
    """
    from maskwright_builtin.key_counts.counting_kernel import fill_risks  # Numba, heavy

    risk = np.empty(len(file), dtype=np.float64)
    fill_risks(file.astype(np.int64), fraction.astype(np.float64), risk)
    return risk


def approximate_risk(file: Integers, fraction: Floats) -> Floats:
    """The approximation of sdcMicro and others: exact for f of 1 and 2, else ``pi / (f - 1 + pi)``.

    Never too low, and at most 4.04 percent too high.

    `file`, `fraction`: as for `individual_risk`; shape (n,).
    """
    return np.where(file <= 2, individual_risk(np.minimum(file, 2), fraction), fraction / (file - 1.0 + fraction))
