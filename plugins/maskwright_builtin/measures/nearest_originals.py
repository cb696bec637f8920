"""Records paired as the Mateo-Sanz thesis paired them: each masked record with the nearest original record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright import Comparison, InputError
from maskwright_builtin.measures.pairing import Pairs, pair_records, present_values, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pairing = Literal["identity", "nearest"]
PAIRING = (
    "'identity': each masked record with the original it comes from. 'nearest': each masked record with the nearest "
    "original record over all compared variables (standardised, ties to the first), as in the published tables of the "
    "Mateo-Sanz thesis; it understates loss and overstates risk where masking is heavy. Never compare figures across "
    "the two."
)
MISSING_RULE = "for distances a missing cell stands at the original file's mean of its variable"


def nearest_originals(comparison: Comparison) -> Comparison:
    """Copy of a comparison whose masked records come from the nearest original record, `a(i)` of the thesis.

    Distances are Euclidean over all compared variables, standardised by the standard deviations of the original.
    """
    from scipy.spatial import cKDTree

    pairs = pair_records(comparison, MISSING_RULE)
    scale = np.array([spread(pairs.original[:, j], ddof=1) for j in range(pairs.p)])
    used = np.flatnonzero(scale > 0.0)
    if not used.size:
        raise InputError("no variable of the original varies: no original record is nearer than another")
    original, masked = (_standardised(pairs, values, used, scale) for values in (pairs.original, pairs.masked))
    rows, first = _first_of_equal(original)
    tree = cKDTree(rows)
    distinct, _, where = _distinct(masked)
    distance, found = tree.query(distinct, k=1)
    origin = first[found]
    # Of originals at the same distance the first counts; the tree may have found another one.
    reach = np.nextafter(distance, np.inf) * (1.0 + 1e-12)
    for position, near in enumerate(tree.query_ball_point(distinct, reach, return_length=True)):
        if near > 1:
            candidates = np.array(tree.query_ball_point(distinct[position], reach[position]))
            exact = ((rows[candidates] - distinct[position]) ** 2).sum(axis=1)
            origin[position] = first[candidates[exact == exact.min()]].min()
    return replace(comparison, origin=origin[where].astype(np.int64))


def _standardised(
    pairs: Pairs, values: NDArray[np.float64], used: NDArray[np.int64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    result = np.empty((len(values), used.size))
    for place, j in enumerate(used):
        center = present_values(pairs.original[:, j]).mean()
        result[:, place] = np.nan_to_num((values[:, j] - center) / scale[j], nan=0.0)
    return result


def _distinct(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    distinct, first, where = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return distinct, first.astype(np.int64), where.reshape(-1).astype(np.int64)


def _first_of_equal(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    distinct, first, _ = _distinct(rows)
    return distinct, first
