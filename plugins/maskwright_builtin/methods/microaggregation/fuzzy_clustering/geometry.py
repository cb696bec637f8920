"""Records and centroids as arrays of the kernels, and the constraints that centroids satisfy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.numerics.arrays import Booleans, Floats


SMALLEST_CHUNK, LARGEST_CHUNK, CHUNKS = 512, 8192, 64

# How far below the nearest centroid's a membership, or a weight, may be before it counts as 0: decimal digits, and
# exponents of e. Below are numbers with few digits, which are slow besides.
_DIGITS = {"float64": 280.0, "float32": 26.0}
_EXPONENTS = {"float64": 640.0, "float32": 60.0}
_LARGEST_RATE = 1e290

_CACHE_LINE = 64  # bytes


@dataclass(frozen=True)
class Fuzziness:
    """Which memberships, in the kernels' terms.

    `kind`: of the kernel: a whole power, a power, or an exponential. `exponent`: 1 / (m - 1), or lambda in units of the
    geometry.
    """

    kind: int
    exponent: float

    @property
    def m(self) -> float:
        """Exponent of the memberships in the objective of the two powers."""
        return 1.0 + 1.0 / self.exponent

    def floor(self, dtype: str) -> float:
        """Return `floor` of the kernel, for ``float64`` or ``float32``."""
        from maskwright_builtin.methods.microaggregation.fuzzy_clustering.memberships_kernel import ENTROPY

        if self.kind == ENTROPY:
            return _EXPONENTS[dtype]
        # Below 1 in either precision, so that the nearest centroid always counts.
        return float(min(10.0 ** (-_DIGITS[dtype] / (self.exponent + 1.0)), 1.0 - 2.0**-24))


def fuzziness_of(m: float | None, lambda_: float | None, unit: float = 1.0) -> Fuzziness:
    """Check m or lambda; `unit` is the length that lambda is wanted for.

    `unit`: length that lambda is wanted for.
    """
    from maskwright_builtin.methods.microaggregation.fuzzy_clustering import memberships_kernel as kernel

    if (m is None) == (lambda_ is None):
        raise InputError("give m (fuzzy c-means) or lambda (entropy-based fuzzy c-means), and not both")
    if lambda_ is not None:
        rate = lambda_ * unit**2 if np.isfinite(lambda_) else np.nan
        if not lambda_ > 0:
            raise InputError(
                f"lambda must be greater than 0, not {lambda_}: at 0 every record belongs to all centroids"
            )
        if not 1 / _LARGEST_RATE <= rate <= _LARGEST_RATE:
            raise InputError(f"lambda = {lambda_} is out of range: its product with squared distances is not a number")
        return Fuzziness(kernel.ENTROPY, rate)
    assert m is not None
    if not m > 1:
        raise InputError(f"m must be greater than 1, not {m}: near 1 records belong to their nearest centroid alone")
    if not np.isfinite(m) or m > _LARGEST_RATE:
        raise InputError(f"m = {m} is out of range; from 50 on all memberships are nearly equal")
    exponent = 1.0 / (m - 1.0)
    whole = round(exponent)
    # m = 1.1 means the tenth power, whatever its last binary digit says.
    if 1 <= whole <= 64 and abs(exponent - whole) <= 1e-12 * exponent:
        return Fuzziness(kernel.INTEGER_POWER, float(whole))
    return Fuzziness(kernel.POWER, exponent)


@dataclass(frozen=True, eq=False)
class Geometry:
    """Records in coordinates whose squares and differences are safe in either precision.

    `points`: ``(values - center) / scale``, at most 1 in size; shape (n, p). `center`, `scale`: `scale` has the common
    unit in it; shape (p,). `unit`: a power of 2. `spread`: root of the mean squared distance of `points` from their
    mean.
    """

    points: Floats
    center: Floats
    scale: Floats
    unit: float
    spread: float

    def of(self, values: Floats) -> Floats:
        """Coordinates of other values."""
        return np.asarray((values - self.center) / self.scale, dtype=np.float64)

    def values_of(self, points: Floats) -> Floats:
        """Values of coordinates."""
        return np.asarray(self.center + points * self.scale, dtype=np.float64)


def geometry_of(values: Floats, scale: Floats | None) -> Geometry:
    """Check records and bring them into a common unit around their mean."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(
            f"records must be a matrix of at least one record and one variable, not of shape {values.shape}"
        )
    p = values.shape[1]
    divisor = np.ones(p) if scale is None else np.asarray(scale, dtype=np.float64)
    if divisor.shape != (p,) or not np.all((divisor > 0) & np.isfinite(divisor)):
        raise InputError(f"scale must be {p} finite numbers greater than 0, one for each variable")
    with np.errstate(over="ignore", invalid="ignore"):
        center = values.mean(axis=0)
        points = (values - center) / divisor
        largest = float(np.max(np.abs(points)))
    if not largest <= 1e150:
        raise InputError("records have no distances: values are not finite, or too far apart to be squared")
    unit = float(2.0 ** np.ceil(np.log2(largest))) if largest > 0 else 1.0
    points /= unit
    spread = float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1))))
    return Geometry(np.ascontiguousarray(points), center, divisor * unit, unit, spread)


def transposed(centroids: Floats, dtype: str) -> NDArray[Any]:
    """Coordinates of centroids as the kernels want them, shape (p, padded c); the padding is infinitely far."""
    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.memberships_kernel import LANES

    c, p = centroids.shape
    result = aligned((p, -(-c // LANES) * LANES), dtype)
    result[:, :c] = centroids.T
    result[:, c:] = np.inf
    return result


def aligned(shape: tuple[int, int], dtype: str) -> NDArray[Any]:
    """Return a new matrix of zeros that starts with a line of the cache, as its rows then do if they are whole lines.

    Otherwise every other vector lies in two lines, and takes twice as long to load.
    """
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    room = np.zeros(size + _CACHE_LINE, dtype=np.uint8)
    skipped = -room.ctypes.data % _CACHE_LINE
    return room[skipped : skipped + size].view(dtype).reshape(shape)


def scratch_of(dtype: str) -> NDArray[Any]:
    """Return `least_lanes` of the kernel, for ``float64`` or ``float32``."""
    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.memberships_kernel import LANES

    return np.empty(LANES, dtype={"float64": np.int64, "float32": np.int32}[dtype])


def chunks_of(n: int) -> list[slice]:
    """Runs of records that are summed apart; they depend on `n` only, so that results do not depend on threads."""
    size = min(max(-(-n // CHUNKS), SMALLEST_CHUNK), LARGEST_CHUNK)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


Projection = Callable[["Floats"], "tuple[Floats, Booleans]"]
"""Points of shape (c, p) to their nearest points in the set, and which of them were found, shape (c,)."""

CONSISTENT = 1e-9
"""Relative error up to which dependent equalities count as one."""


def onto_equalities(matrix: Floats, bound: Floats, center: Floats, scale: Floats) -> Projection:
    """Projection on ``matrix @ v == bound`` in units of `scale`, for points given as ``(v - center) / scale``.

    With S = diag(1 / scale ** 2) it is v - S^-1 A' (A S^-1 A')^+ (A v - b): all equalities at once, because projecting
    on one after the other leaves the first ones violated. The pseudo-inverse admits dependent ones.

    `matrix`: shape (q, p). `bound`: shape (q,). `center`, `scale`: shape (p,).
    """
    matrix, bound = np.atleast_2d(np.asarray(matrix, dtype=np.float64)), np.atleast_1d(np.asarray(bound, np.float64))
    if matrix.shape != (len(bound), len(center)) or bound.ndim != 1:
        raise InputError(
            f"equalities need a matrix of shape (q, {len(center)}) and q bounds, not {matrix.shape} and {bound.shape}"
        )
    if not (np.isfinite(matrix).all() and np.isfinite(bound).all()):
        raise InputError("equalities must have finite coefficients and bounds")
    normals = matrix * scale
    length = np.sqrt(np.sum(normals**2, axis=1))
    size = np.where(length > 0, length, 1.0)
    normals = normals / size[:, None]
    # What is left of the bound after the centre is taken out carries the rounding errors of both.
    noise = CONSISTENT * (1 + (np.abs(bound) + np.abs(matrix) @ np.abs(center)) / size)
    rest = (bound - matrix @ center) / size
    inverse = np.linalg.pinv(normals, rcond=1e-12)
    inverse[~np.any(matrix != 0, axis=0)] = 0.0
    if np.any(np.abs(normals @ (inverse @ rest) - rest) > noise):
        raise InputError("the equalities contradict each other: no centroid satisfies all of them")

    def onto(points: Floats) -> tuple[Floats, Booleans]:
        # The second round takes the rounding error of the first away.
        for _ in range(2):
            points = points - (points @ normals.T - rest) @ inverse.T
        return points, np.ones(len(points), dtype=np.bool_)

    return onto


def onto_set(projector: Projection, center: Floats, scale: Floats) -> Projection:
    """Carry a projection over from original values to points given as ``(v - center) / scale``.

    `projector`: projection of original values, shape (n, p). `center`, `scale`: shape (p,).
    """

    def onto(points: Floats) -> tuple[Floats, Booleans]:
        values = center + points * scale
        projected, found = projector(values)
        # A point that stays has to stay to the last bit.
        moved = (projected - center) / scale
        return np.where(projected == values, points, moved), found

    return onto


def everywhere(points: Floats) -> tuple[Floats, Booleans]:
    """No constraint."""
    return points, np.ones(len(points), dtype=np.bool_)
