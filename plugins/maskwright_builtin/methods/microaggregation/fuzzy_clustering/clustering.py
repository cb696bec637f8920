"""Fuzzy c-means and entropy-based fuzzy c-means with constrained centroids, and memberships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.geometry import (
    Fuzziness,
    Geometry,
    chunks_of,
    everywhere,
    fuzziness_of,
    geometry_of,
    onto_equalities,
    onto_set,
    scratch_of,
    transposed,
)
from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright import Progress
    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.geometry import Projection
    from maskwright_builtin.numerics.arrays import Booleans, Floats


MOST_DIGITS = {"float64": 280.0, "float32": 12.0}
"""Decimal digits that weights of two records may be apart: m * log10(c) at most."""

# A centroid whose weights sum to less has no place: they have too few digits.
_LEAST_MASS = {"float64": 1e-290, "float32": 1e-30}


@dataclass(frozen=True, eq=False)
class FuzzyClusters:
    """What clustering found.

    `centroids`: in the units of the values; after the last update; shape (c, p). `objective`: objective of the
    centroids before each update, with their best memberships. Never rises (in binary64, up to a relative 1e-12); shape
    (iterations,). `converged`: whether the last update moved no centroid further than the tolerance. `feasible`:
    whether a point that satisfies the constraints was found for each centroid; shape (c,).
    """

    centroids: Floats
    objective: Floats
    iterations: int
    converged: bool
    feasible: Booleans


def fuzzy_c_means(
    values: Floats,
    centroids: Floats,
    *,
    m: float | None = None,
    lambda_: float | None = None,
    scale: Floats | None = None,
    equalities: tuple[Floats, Floats] | None = None,
    projector: Projection | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 300,
    float32: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> FuzzyClusters:
    """Cluster records around centroids that satisfy constraints.

    Alternates the best memberships for the centroids and the best centroids for the memberships, starting with
    memberships. With squared distances d in units of `scale`, fuzzy c-means has the objective sum u ** m d and
    memberships proportional to (1 / d) ** (1 / (m - 1)); entropy-based fuzzy c-means has sum u d + u log(u) / lambda
    and memberships proportional to exp(-lambda d). The best centroid is the weighted mean, with constraints the point
    of the set nearest to it: the weights of a centroid are a common factor of its squared distances.

    `values`: Records; finite; shape (n, p). `centroids`: where to start; projected on the constraints first; shape (c,
    p). `m`: fuzzy c-means. Give either `m` or `lambda_`. `lambda_`: Entropy-based fuzzy c-means; in units of 1 /
    squared distance. `scale`: distances are measured in these units of each variable, projections too; default 1; shape
    (p,). `equalities`: ``matrix @ v == bounds`` for each centroid v. Dependent ones are allowed; shape (q, p).
    `projector`: ``points -> (nearest points in a set, which were found)``, both in the units of `values` and near in
    units of `scale`, for instance by `maskwright.project`. Give at most one of `equalities` and `projector`. A centroid
    stays where a projection is not found or not nearer than where it is. `tolerance`: stop when no coordinate of a
    centroid moves further, in units of the root mean squared distance of the records from their mean. `float32`:
    distances and memberships in binary32, sums in binary64, and a last update in binary64. Faster; the objective may
    then rise by its rounding. Ignored where `m` and c leave binary32 too few digits. `threads`: default all processors.
    Results do not depend on it. `progress`: gets the share of `max_iterations` done.

    Memory for the records, and for each thread a few copies of the centroids; memberships are never kept. A centroid
    that no record weighs for stays. Records that coincide with centroids belong to those alone, in equal shares.

    Torra, V. (2020): Fuzzy clustering-based microaggregation to achieve probabilistic k-anonymity for data with
    constraints. Journal of Intelligent & Fuzzy Systems 39(5), propositions 1, 4 and 6, as corrected: equation (5) is
    the projection of the weighted mean. Miyamoto, S. and Mukaidono, M. (1997), for the entropy.
    """
    reporter = progress or no_progress
    states = clustering_iterations(
        values, centroids, m=m, lambda_=lambda_, scale=scale, equalities=equalities, projector=projector,
        tolerance=tolerance, max_iterations=max_iterations, float32=float32, threads=threads,
    )  # fmt: skip
    found = next(states)
    for found in states:
        reporter(found.iterations / max_iterations)
    reporter(1.0)
    return found


def clustering_iterations(
    values: Floats,
    centroids: Floats,
    *,
    m: float | None = None,
    lambda_: float | None = None,
    scale: Floats | None = None,
    equalities: tuple[Floats, Floats] | None = None,
    projector: Projection | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 300,
    float32: bool = False,
    threads: int | None = None,
) -> Iterator[FuzzyClusters]:
    """Iterations of `fuzzy_c_means`, whose parameters these are: what it has come to after each update."""
    if not tolerance >= 0:
        raise InputError(f"tolerance must be at least 0, not {tolerance}")
    if max_iterations < 1:
        raise InputError(f"max_iterations must be at least 1, not {max_iterations}")
    geometry = geometry_of(values, scale)
    start = checked_centroids(geometry, centroids)
    fuzziness = fuzziness_of(m, lambda_, geometry.unit)
    dtype = _precision(fuzziness, m, len(start), float32)
    onto = _projection(geometry, equalities, projector)
    current, feasible = onto(start)
    objective: list[float] = []
    converged, last = False, False
    while len(objective) < max_iterations and not (converged and last):
        # In binary32 the rounding of the means would leave the range of the records: the last ones are made anew.
        last = dtype == "float64" or converged or len(objective) == max_iterations - 1
        cost, means, mass = _means(geometry, current, fuzziness, "float64" if last else dtype, threads)
        objective.append(cost)
        wanted = np.where((mass > _LEAST_MASS["float64" if last else dtype])[:, None], means, current)
        projected, found = onto(wanted)
        moved = _best(wanted, projected, current, found, feasible)
        feasible = feasible | found
        shift = float(np.max(np.abs(moved - current)))
        current = moved
        converged = shift <= tolerance * geometry.spread
        yield FuzzyClusters(
            centroids=geometry.values_of(current),
            objective=np.array(objective),
            iterations=len(objective),
            converged=converged,
            feasible=feasible,
        )


def means_of_present(
    values: Floats,
    missing: Booleans,
    centroids: Floats,
    *,
    m: float | None = None,
    lambda_: float | None = None,
    scale: Floats | None = None,
    threads: int | None = None,
) -> Floats:
    """Make the coordinates of centroids on incomplete variables anew, from the cells that are present.

    Clustering takes a missing cell as whatever fills it, which draws centroids to the filling. Here each incomplete
    variable is averaged over the records that have it, with their memberships as weights.

    `values`: finite, also where missing: memberships are those of the filled records; shape (n, p). `missing`: shape
    (n, p). `centroids`: shape (c, p). Returns complete variables, and variables of centroids that no present cell
    weighs for, are as they were; shape (c, p).
    """
    geometry = geometry_of(values, scale)
    points = checked_centroids(geometry, centroids)
    fuzziness = fuzziness_of(m, lambda_, geometry.unit)
    columns = np.flatnonzero(missing.any(axis=0))
    if not len(columns):
        return np.array(centroids, dtype=np.float64)
    present = ~missing[:, columns]
    contents = np.hstack([np.where(present, geometry.points[:, columns], 0.0), present.astype(np.float64)])
    dtype = _precision(fuzziness, m, len(points), float32=False)
    _, sums = _weighted_sums(geometry, contents, points, fuzziness, dtype, threads)
    mass = sums[len(columns) : -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (sums[: len(columns)] / mass).T
    result = geometry.values_of(points)
    result[:, columns] = np.where(
        (mass > _LEAST_MASS[dtype]).T,
        geometry.center[columns] + means * geometry.scale[columns],
        result[:, columns],
    )
    return result


def checked_centroids(geometry: Geometry, centroids: Floats) -> Floats:
    """Return coordinates of centroids that fit the records."""
    centroids = np.asarray(centroids, dtype=np.float64)
    n, p = geometry.points.shape
    if centroids.ndim != 2 or centroids.shape[1] != p or len(centroids) == 0:
        raise InputError(f"centroids must be a matrix of at least one row and {p} columns, not {centroids.shape}")
    if len(centroids) > n:
        raise InputError(f"c = {len(centroids)} centroids are more than the {n} records")
    points = geometry.of(centroids)
    if not np.all(np.abs(points) <= 1e100):
        raise InputError("centroids must be finite, and not too far from the records for distances to be squared")
    return points


def no_progress(share: float) -> None:
    """Progress that is not shown."""


def _precision(fuzziness: Fuzziness, m: float | None, c: int, float32: bool) -> str:
    digits = 0.0 if m is None else fuzziness.m * np.log10(c)
    if digits > MOST_DIGITS["float64"]:
        raise InputError(f"m = {m} is too large for {c} centroids: all memberships are equal, and their powers are 0")
    return "float32" if float32 and digits <= MOST_DIGITS["float32"] else "float64"


def _projection(
    geometry: Geometry, equalities: tuple[Floats, Floats] | None, projector: Projection | None
) -> Projection:
    if equalities is not None and projector is not None:
        raise InputError("give equalities or a projector, not both: the projector can take care of the equalities")
    if equalities is not None:
        return onto_equalities(*equalities, geometry.center, geometry.scale)
    return everywhere if projector is None else onto_set(projector, geometry.center, geometry.scale)


def _means(
    geometry: Geometry, centroids: Floats, fuzziness: Fuzziness, dtype: str, threads: int | None
) -> tuple[float, Floats, Floats]:
    """Objective, weighted means, shape (c, p), and sums of weights, shape (c,)."""
    cost, sums = _weighted_sums(geometry, geometry.points, centroids, fuzziness, dtype, threads)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.ascontiguousarray((sums[:-1] / sums[-1]).T)
    return cost * geometry.unit**2, means, sums[-1]


def _weighted_sums(
    geometry: Geometry, contents: Floats, centroids: Floats, fuzziness: Fuzziness, dtype: str, threads: int | None
) -> tuple[float, Floats]:
    """Objective, and sums over the records of weighted contents and, last, of weights; shape (q + 1, c)."""
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.means_kernel import accumulate

    coordinates = transposed(centroids, dtype)
    floor, c, shape = fuzziness.floor(dtype), len(centroids), (contents.shape[1] + 1, coordinates.shape[1])

    def task(chunk: slice) -> tuple[float, Floats]:
        sums = np.zeros(shape)
        records = np.ascontiguousarray(geometry.points[chunk], dtype=dtype)
        summed = records if contents is geometry.points else np.ascontiguousarray(contents[chunk], dtype=dtype)
        cost = accumulate(
            records, summed, coordinates, c, fuzziness.kind, fuzziness.exponent, floor, sums, scratch_of(dtype)
        )
        return cost, sums

    total, sums = 0.0, np.zeros(shape)
    for cost, more in in_order(task, chunks_of(len(geometry.points)), threads):
        total += cost
        sums += more
    return total, sums[:, :c]


def _best(wanted: Floats, projected: Floats, current: Floats, found: Booleans, feasible: Booleans) -> Floats:
    """New centroids: projections, unless a centroid is already nearer to its mean and satisfies the constraints.

    On convex sets that cannot be, but the nearest point of other sets is only searched for. The objective never rises.
    """
    new = ((projected - wanted) ** 2).sum(axis=1)
    old = ((current - wanted) ** 2).sum(axis=1)
    stays = feasible & (~found | (old < new))
    return np.where(stays[:, None], current, projected)


def memberships_in(
    values: Floats, centroids: Floats, *, m: float | None = None, lambda_: float | None = None, scale: Floats
) -> Floats:
    """Return how far each record belongs to each centroid.

    `values`: shape (n, p). `centroids`: shape (c, p). Returns rows sum to 1; shape (n, c).
    """
    away = (values[:, None, :] - centroids) / scale
    distances = np.einsum("ncp,ncp->nc", away, away)
    if m is not None:
        powers = -np.log(np.maximum(distances, 1e-300)) / (m - 1.0)
    else:
        assert lambda_ is not None
        powers = -lambda_ * distances
    shares = np.exp(powers - powers.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
