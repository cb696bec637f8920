"""The verdict of one edit on a chunk of records, whichever arithmetic computed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Verdict:
    """What one edit says of each of n records.

    `holds`: the record does not violate the edit; shape (n,). `unknown`: the answer rests on a missing cell. Exact
    arithmetic (YAML): neither true nor false, `holds` is True there so that a missing cell is no violation. XPath: the
    record passes, and an operand is missing, or is a text where a number is needed; shape (n,).
    """

    holds: NDArray[np.bool_]
    unknown: NDArray[np.bool_]
    fired: NDArray[np.bool_] | None = None
