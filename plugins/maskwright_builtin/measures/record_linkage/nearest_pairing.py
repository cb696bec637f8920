"""Pairing each masked record with the original record nearest to it, as the tables of Mateo-Sanz's thesis do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright_builtin.measures.common.pairing import pair_records
from maskwright_builtin.measures.common.standardising import comparable_values
from maskwright_builtin.measures.record_linkage.nearest_records import find_nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright import Comparison
    from maskwright_builtin.measures.common.pairing import Pairs

Pairing = Literal["identity", "nearest"]

PAIRING_DESCRIPTION = (
    "Which original record a masked record is compared with. 'identity': its own. 'nearest': the original record "
    "nearest to it over all variables compared (standardised, the lowest position of ties), as the published tables "
    "of Mateo-Sanz's thesis do; it understates losses and overstates risks, never compare figures across the two."
)


def pairs_of(comparison: Comparison, rule: str, pairing: Pairing, wanted: Sequence[str] | None = None) -> Pairs:
    """Pair records as `pair_records`, or each masked record with its nearest original.

    `rule`: what the measure does with missing cells, for the notes. `wanted`: variables whose numbers are needed, of
    those compared; by default all.
    """
    pairs = pair_records(comparison, rule, wanted=wanted)
    if pairing == "identity":
        return pairs
    every = pairs if wanted is None else pair_records(comparison, rule)
    note = (
        "paired with the nearest original record over all variables, not with their own: not the true losses or risks"
    )
    return replace(pairs, origin=nearest_originals(comparison, every), notes=(*pairs.notes, note))


def nearest_originals(comparison: Comparison, pairs: Pairs) -> NDArray[np.int64]:
    """Position of the original record nearest to each masked record over all variables; shape (m,).

    Squared differences over the variance of the original variable are summed; of equally near records the first
    counts. A missing cell stands at the mean of its variable in the original file.

    Mateo-Sanz, doctoral thesis (in Catalan), Appendix A: found by recomputing its tables; the text does not say it.
    """
    values = comparable_values(comparison, pairs, range(pairs.p))
    guess = np.arange(len(values.masked)) if pairs.origin is None else pairs.origin
    return find_nearest(values.masked, values.original, values.weight, guess, comparison.progress)
