"""Means and covariances of records that a method is told of and does not see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of records without missing cells.

    Attributes
    ----------
    n : int
        Number of records.
    mean, low, high : ndarray of shape (p,), float64
        Mean, smallest and largest value of each variable.
    covariance : ndarray of shape (p, p), float64
        With divisor n - 1; 0 for one record.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Moments
    >>> told = Moments(3, np.array([2.0]), np.array([1.0]), np.array([3.0]), np.array([[1.0]]))
    >>> told.n, float(told.covariance[0, 0])
    (3, 1.0)
    """

    n: int
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    covariance: NDArray[np.float64]
