"""Rows that are alike, put together: what a shuffle sends and what its tasks count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


def distinct_rows(
    columns: Mapping[str, NDArray[np.generic]], keys: Sequence[str]
) -> tuple[dict[str, NDArray[np.generic]], NDArray[np.int64]]:
    """The different rows, in the order of their keys, with the sums of all other columns; and where each is.

    `columns`: shape (n,). `keys`: columns by which rows are alike, the first the most significant. Returns which of
    them each row is; shape (c,).
    """
    n = len(columns[keys[0]])
    order = np.lexsort([columns[name] for name in reversed(keys)])
    new = np.zeros(n, dtype=np.bool_)
    for name in keys:
        ordered = columns[name][order]
        new[1:] |= ordered[1:] != ordered[:-1]
    new[:1] = True
    starts = np.flatnonzero(new)
    of_row = np.empty(n, dtype=np.int64)
    of_row[order] = np.cumsum(new) - 1
    found: dict[str, NDArray[np.generic]] = {}
    for name, values in columns.items():
        ordered = values[order]
        found[name] = ordered[starts] if name in keys or not n else np.add.reduceat(ordered, starts)
    return found, of_row
