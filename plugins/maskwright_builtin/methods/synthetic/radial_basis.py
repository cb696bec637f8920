"""Radial basis functions of independent variables: regressions on them follow curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.methods.microaggregation.fuzzy_clustering import fuzzy_c_means
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.drawing import random_means

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats

SAMPLE = 5_000
"""Records of which centres are computed, at most."""


def radial_functions(independents: Floats, centres: int, rng: np.random.Generator) -> Floats:
    """Gaussian functions ``exp(-d ** 2 / (2 s ** 2))`` of the distance d of each record from each centre.

    `independents`: shape (n, p). `centres`: at most n. Distances are of standardised variables, centres the centroids
    of fuzzy c-means (m = 1.5), and the width s is twice the mean distance of a centre from the nearest other one; 1
    where there is no other. Returns shape (n, centres).

    Broomhead, D. S. and Lowe, D. (1988): Multivariable functional interpolation and adaptive networks. Complex Systems
    2, 321-355; centres by clustering as Moody and Darken (1989), Neural Computation 1(2), 281-294.
    """
    deviation = independents.std(axis=0, ddof=1)
    points = (independents - independents.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    some = points
    if len(points) > SAMPLE:
        some = points[np.sort(rng.choice(len(points), SAMPLE, replace=False))]
    # One thread: so few records are clustered sooner than threads are started.
    first = random_means(some, centres, rng, threads=1)
    centroids = fuzzy_c_means(some, first, m=1.5, tolerance=1e-4, max_iterations=50, threads=1).centroids
    between = np.array([((centroids - centroid) ** 2).sum(axis=1) for centroid in centroids])
    between[between <= 1e-12] = np.inf
    nearest = np.sqrt(between.min(axis=1))
    nearest = nearest[np.isfinite(nearest)]
    width = 2.0 * float(nearest.mean()) if len(nearest) else 1.0
    functions = np.empty((len(points), centres))
    for number, centroid in enumerate(centroids):
        squared = np.einsum("np,np->n", points - centroid, points - centroid)
        functions[:, number] = np.exp(squared / (-2.0 * width**2))
    return functions
