"""How far apart two sets of numbers are: mean square error, mean absolute error, mean variation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Error = Literal["mean_square", "mean_absolute", "mean_variation"]
ERRORS: tuple[Error, ...] = get_args(Error)


def terms(original: NDArray[np.float64], masked: NDArray[np.float64], error: Error) -> NDArray[np.float64]:
    """Term of each cell, whose mean is the error; NaN where a cell is missing.

    ``(a - a')**2``, ``abs(a - a')``, or ``abs(a - a') / abs(a)``. For the last, a = 0 changed to something else counts
    1, and unchanged 0.
    """
    result = original - masked
    if error == "mean_square":
        result *= result
        return result
    np.abs(result, out=result)
    if error == "mean_absolute":
        return result
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        result /= np.abs(original)
    zero = original == 0.0
    if zero.any():
        at = np.flatnonzero(zero) if original.ndim == 1 else np.nonzero(zero)
        others = masked[at]
        result[at] = np.where(np.isnan(others), np.nan, others != 0.0)
    return result
