"""Keys whose coarser categories are worth nothing: another published key tells finer ones, a town its region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.methods.generalisation.leaf_rows import Key, Rows

BY_CHANCE = 1000
"""One in so many files has such a key by chance alone."""

FEW = 8
"""Codes for each row up to which they are counted in a table."""


def given_away(keys: Sequence[Key], rows: Rows, node: Sequence[int]) -> Iterator[str]:
    """Say which keys are given away below the level that they are published on.

    Parameters
    ----------
    keys : sequence of Key
    rows : Rows
        Leaf rows.
    node : sequence of int
        Position of the level of each key.
    """
    for j, (key, level) in enumerate(zip(keys, node, strict=True)):
        for i, (other, its_level) in enumerate(zip(keys, node, strict=True)):
            if i == j:
                continue
            present = (rows.codes[:, i] < len(other.counts[0]) - 1) & (rows.codes[:, j] < len(key.counts[0]) - 1)
            given = other.between(0, its_level)[rows.codes[present, i]]
            own = rows.codes[present, j]
            counts = rows.counts[present]
            told = next(
                (low for low in range(level)
                 if _determines(given, key.between(0, low)[own], key.between(0, level)[own], counts)),
                None,
            )  # fmt: skip
            if told is not None:
                yield (
                    f"{key.variable.name} is published on level {key.levels[level]}, and {other.variable.name} on "
                    f"level {other.levels[its_level]}, which tells its level {key.levels[told]}: say with `levels` "
                    "which fit"
                )


def _determines(
    given: NDArray[np.int32], finer: NDArray[np.int32], published: NDArray[np.int32], counts: NDArray[np.int64]
) -> bool:
    """Whether one key tells finer categories of another than are published, and not by chance.

    By chance, two records of one published category have the same finer one with the probability s. Of n records with
    g different values of the other key, n - g repeat one: they all agree with probability s ** (n - g).
    """
    n, values = int(counts.sum()), _distinct(given)
    pairs = given.astype(np.int64) * (int(finer.max(initial=0)) + 1) + finer
    if _distinct(pairs) > values or _distinct(finer) == _distinct(published):
        return False
    same_finer, same_published = (
        float(np.sum(np.bincount(codes, weights=counts) ** 2)) for codes in (finer, published)
    )
    return bool((n - values) * np.log(same_finer / same_published) < -np.log(BY_CHANCE))


def _distinct(codes: NDArray[np.int32] | NDArray[np.int64]) -> int:
    """How many different codes there are."""
    if int(codes.max(initial=0)) > FEW * len(codes):
        return len(np.unique(codes))
    return int(np.count_nonzero(np.bincount(codes)))
