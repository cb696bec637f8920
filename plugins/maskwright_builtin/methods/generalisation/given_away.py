"""Keys whose coarser categories are worth nothing: another published key tells finer ones, a town its region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright import Block, Variable

BY_CHANCE = 1000
"""One in so many files has such a key by chance alone."""

LOOKED_AT_FIRST = 10_000
"""Records among which most keys are seen to tell nothing."""


def given_away(block: Block, levels: Mapping[int, int]) -> Iterator[str]:
    """Say which keys another tells below the level on which they are published.

    `levels`: level on which each key is published.
    """
    for j, level in levels.items():
        variable = block.variables[j]
        for i, its_level in levels.items():
            if i == j:
                continue
            lower = range(_raised(variable), level)
            told = next((low for low in lower if _tells(block, i, its_level, j, low, level)), None)
            if told is not None:
                yield (
                    f"{variable.name} is published on level {level}, and {block.names[i]} on level {its_level}, which "
                    f"tells its level {told}: say with `levels` which fit"
                )


def _raised(variable: Variable) -> int:
    return 0 if variable.hierarchy is None else variable.hierarchy.raised


def _tells(block: Block, i: int, its_level: int, j: int, low: int, level: int) -> bool:
    """Whether key i tells key j on a lower level than it is published on: among the first records, then among all."""
    present = np.flatnonzero(~block.missing[:, i] & ~block.missing[:, j])
    for records in (present[:LOOKED_AT_FIRST], present):
        given = _nodes(block, i, records, its_level)
        finer = _nodes(block, j, records, low)
        pairs = _distinct(given * (int(finer.max(initial=0)) + 1) + finer)
        if pairs > _distinct(given):
            return False
    return not _by_chance(given, finer, _nodes(block, j, present, level))


def _nodes(block: Block, j: int, records: NDArray[np.int64], level: int) -> NDArray[np.int64]:
    """Node of a key in some records."""
    variable, values = block.variables[j], block.values[records, j]
    if variable.hierarchy is None or level == variable.hierarchy.raised:
        return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)
    return variable.hierarchy.codes(variable, values, level - variable.hierarchy.raised)


def _by_chance(given: NDArray[np.int64], finer: NDArray[np.int64], published: NDArray[np.int64]) -> bool:
    """Whether one key may tell finer categories of another than are published by chance, or tells no finer ones.

    Two records of one published category have the same finer one with the probability s. Of n records with g different
    values of the other key, n - g repeat one: they all agree with the probability s ** (n - g).
    """
    n = len(given)
    same_finer, same_published = (float(np.sum(np.bincount(codes).astype(float) ** 2)) for codes in (finer, published))
    if not n or same_finer == same_published:
        return True
    return bool((n - _distinct(given)) * np.log(same_finer / same_published) > -np.log(BY_CHANCE))


def _distinct(codes: NDArray[np.int64]) -> int:
    return len(np.unique(codes))
