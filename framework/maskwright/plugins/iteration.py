"""What a method that works in iterations has come to after one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Iteration:
    """State of a method after one iteration, for whoever looks at how it works.

    Attributes
    ----------
    values : ndarray of shape (n, p), float64
        Masked values if the method stopped here: before adjustment and rounding.
    objective : float
        What the method makes small.
    memberships : ndarray of shape (n, c, p), float64
        How far each record belongs to each cluster, for each variable; they sum to 1 over the clusters.
    centroids : ndarray of shape (c, p), float64, or None
        Of a method that has some.
    models : ndarray of shape (c, 1 + q, p), float64, or None
        Of a method that regresses: for each cluster and variable the constant, then the slope of each of the q
        independent variables, in their units.
    is_last : bool
        Whether the method stops here: nothing changes any more, or it has made as many iterations as it may.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Iteration
    >>> state = Iteration(values=np.zeros((3, 1)), objective=2.0, memberships=np.ones((3, 1, 1)), is_last=True)
    >>> state.memberships.sum(axis=1).ravel()
    array([1., 1., 1.])
    """

    values: NDArray[np.float64]
    objective: float
    memberships: NDArray[np.float64]
    centroids: NDArray[np.float64] | None = None
    models: NDArray[np.float64] | None = None
    is_last: bool = False
