"""Donors: feasible rows that take the place of rows for which nothing else was found.

They are chosen from all rows by what these hold, so that neither their order nor the calls in which they were adjusted
matter: adjust the pieces of a file without donors, merge the donors of all pieces, and adjust with these what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.hashed_numbers import row_hashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST = 10_000
"""A search among millions of rows in many dimensions would look at nearly all of them."""


@dataclass(frozen=True, eq=False)
class Donors:
    """Different rows, ordered by their hashes.

    `rows`: complete, on the grid and on every edit; shape (d, q).
    """

    rows: NDArray[np.float64]

    @classmethod
    def among(cls, rows: NDArray[np.float64]) -> Donors:
        """Those of some rows that have the smallest hashes.

        `rows`: Feasible; one that lacks a value is no donor; shape (r, q).
        """
        complete = rows[~np.isnan(rows).any(axis=1)]
        _, first = np.unique(row_hashes(complete), return_index=True)
        return cls(complete[first[:MOST]])

    @classmethod
    def merged(cls, parts: Sequence[Donors]) -> Donors:
        """Donors of a whole from those of its parts, however it was cut."""
        return cls.among(np.concatenate([part.rows for part in parts]))

    @classmethod
    def none(cls, q: int) -> Donors:
        """No donors of q variables: rows that need one stay infeasible."""
        return cls(np.zeros((0, q)))
