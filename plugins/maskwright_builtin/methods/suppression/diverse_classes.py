"""Classes in which a sensitive variable is not diverse enough, or too far from the file, are joined with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.key_counts.classes import numbered
from maskwright_builtin.key_counts.packing import pack_keys
from maskwright_builtin.methods.generalisation.sensitive_bounds import bounds_of
from maskwright_builtin.methods.suppression.keys import GONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright import Block
    from maskwright_builtin.methods.generalisation.sensitive_bounds import Closeness, Diversity


def with_diverse_classes(
    codes: NDArray[np.int64],
    block: Block,
    diversity: Mapping[str, int | Diversity],
    closeness: Mapping[str, float | Closeness],
    worth: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Codes with cells set to `GONE` so that every class fulfils the bounds.

    While a class fails, it is joined with the one that costs least: the keys in which they differ are emptied in both.
    That ends, because all records together fulfil them. Classes only grow, so k stays.

    `codes`: left as they are; shape (n, q). `block`: with the sensitive variables as companions. `worth`: shape (q,).
    """
    from maskwright_builtin.methods.suppression.nearest_class_kernel import nearest_classes

    of_record, first = numbered(pack_keys(list(codes.T)))
    bounds = tuple(bounds_of(block, diversity, closeness, of_record.astype(np.int32)))
    for each in bounds:
        each.refuse_impossible()
    shown = codes[first]
    records = np.bincount(of_record)
    of_leaf = np.arange(len(shown))
    sizes = records
    while True:
        failing = np.zeros(len(shown), dtype=np.bool_)
        for each in bounds:
            failing |= each.failing(of_leaf.astype(np.int32), len(shown))
        asked = np.flatnonzero(failing)
        if not len(asked) or len(shown) == 1:
            return np.asarray(shown[of_leaf[of_record]], dtype=np.int64)
        nearest, costs = np.empty(len(asked), dtype=np.int64), np.empty(len(asked))
        nearest_classes(np.ascontiguousarray(shown), sizes, worth, asked, nearest, costs)
        joined: set[int] = set()
        for place in np.argsort(costs, kind="stable").tolist():
            one, other = int(asked[place]), int(nearest[place])
            if one in joined or other in joined:
                continue
            joined |= {one, other}
            shown[[one, other]] = np.where(shown[one] == shown[other], shown[one], GONE)
        # Classes that show the same now are one, also where they were not joined on purpose.
        merged, heads = numbered(pack_keys(list(shown.T)))
        of_leaf, shown = merged[of_leaf], shown[heads]
        sizes = np.bincount(of_leaf, records, len(shown)).astype(np.int64)
