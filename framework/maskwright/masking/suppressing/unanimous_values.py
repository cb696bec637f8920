"""Weights that tell a category together: each by too few records to say so alone, all of them beyond chance.

Eleven records with weight 12.5 are of region a, and as many with weight 20 of region b: either may be chance, where
half of the file is of each region; that one weight after another is of one region alone is not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import BY_CHANCE
from maskwright.data.spanning import groups_of_each
from maskwright.masking.suppressing.single_values import CERTAIN

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unanimous_values(
    given: NDArray[np.int64], found: NDArray[np.int64], tests: int, groups: NDArray[np.int64] | None = None
) -> NDArray[np.bool_]:
    """Values of `given` whose records all have one `found`, where that is beyond chance for the values as a whole.

    The records of a value are of one category by chance with probability ``q = sum_c p_c^w``, w being their number and
    p_c the share of category c. Were categories given to the records at random, the mean of the product over all values
    of ``1 / (2 q) + 1 / 2`` where they are of one category, and of ``1 / 2`` where they are not, would be 1, so that it
    exceeds `BY_CHANCE` times `tests` with no more than the inverse of that as probability (Markov). If it does, values
    tell whose records are of one category, and would by chance be so with ``q <= 1 - CERTAIN`` at most.

    `given`, `found`: codes 0, 1, ..., -1 where missing: such records tell nothing; shape (n,). `tests`: variables and
    parts of the file of which this is asked. `groups`: of the records: those of one group bear witness once; shape
    (n,). Returns for each code of `given`; shape (m,).
    """
    counted = int(given.max(initial=-1)) + 1
    both = (given >= 0) & (found >= 0)
    values, categories = given[both], found[both]
    if not len(values):
        return np.zeros(counted, dtype=np.bool_)
    witnesses = (
        np.bincount(values, minlength=counted) if groups is None else groups_of_each(values, groups[both], counted)
    )
    least, most = np.full(counted, np.iinfo(np.int64).max), np.full(counted, -1)
    np.minimum.at(least, values, categories)
    np.maximum.at(most, values, categories)
    alike = least == most
    shares = np.bincount(categories) / len(categories)
    shares = shares[shares > 0]
    sizes, places = np.unique(witnesses, return_inverse=True)
    chance = np.array([float((shares**size).sum()) for size in sizes])[places]
    # A value of one record, or of one group, has a chance of 1: it says nothing, for or against.
    asked = witnesses > 1
    gains = np.where(alike, 0.5 / np.maximum(chance, 1e-300), 0.0) + 0.5
    if float(np.log(gains[asked]).sum()) < math.log(BY_CHANCE * tests):
        return np.zeros(counted, dtype=np.bool_)
    return np.asarray(asked & alike & (chance <= 1.0 - CERTAIN))
