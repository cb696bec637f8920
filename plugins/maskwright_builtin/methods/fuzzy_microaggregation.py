"""Fuzzy microaggregation: records are replaced by centroids drawn with their memberships."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Block, EditSet, InputError, Masked, Method
from maskwright_builtin.methods.fuzzy_clustering import (
    FuzzyClusters,
    draw_centroids,
    enlarge_groups,
    fuzzy_c_means,
)
from maskwright_builtin.methods.fuzzy_clustering.starting import random_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_K = 5

DISTINCT = 1e-3
"""Centroids closer than this in every variable, in standard deviations, count as one."""

PROJECTED = frozenset({"linear", "range", "product", "governing"})
"""Kinds of edit that centroids can be projected on without the original file."""


class FuzzyMicroaggregationParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of fuzzy microaggregation."""

    clustering: Literal["fcm", "efcm"] = Field(
        default="fcm",
        description="'fcm': fuzzy c-means, with m1 and m2. 'efcm': entropy-based fuzzy c-means, with lambda1, lambda2.",
    )
    k: int | None = Field(
        default=None,
        ge=2,
        strict=True,
        description=f"Mean number of records of a group: there are n // k centroids. Default {DEFAULT_K}, unless c is "
        "given. It is no promise: groups are drawn, and some are smaller (see floor).",
    )
    c: int | None = Field(
        default=None, ge=1, strict=True, description="Number of centroids in each block of records, instead of k."
    )
    m1: float = Field(
        default=1.1,
        gt=1,
        allow_inf_nan=False,
        description="Fuzziness of the clustering. Larger loses more; with many centroids they merge from about 1.5 on.",
    )
    m2: float | None = Field(
        default=None,
        gt=1,
        allow_inf_nan=False,
        description="Fuzziness of the draw; default m1. Larger protects more and loses more: near 1 each record takes "
        "its nearest centroid, from about 50 on any centroid, with expected groups of n / c records.",
    )
    lambda1: float = Field(
        default=10.0,
        gt=0,
        allow_inf_nan=False,
        description="For efcm: crispness of the clustering, per squared standardised distance. Smaller loses more.",
    )
    lambda2: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="For efcm: crispness of the draw; default lambda1. Smaller protects more and loses more.",
    )
    starts: int = Field(
        default=1,
        ge=1,
        strict=True,
        description="Clusterings from different random records; the one with the lowest objective counts.",
    )
    tolerance: float = Field(
        default=1e-4,
        ge=0,
        allow_inf_nan=False,
        description="Clustering stops when no centroid moves further, as a share of the spread of the records.",
    )
    max_iterations: int = Field(default=100, ge=1, strict=True, description="Clustering stops after so many updates.")
    float32: bool = Field(
        default=False, description="Distances in single precision: faster, and the result differs a little."
    )
    floor: int | None = Field(
        default=None,
        ge=2,
        strict=True,
        description="Smallest number of records of a group: smaller groups are dissolved, the smallest first, and "
        "their records moved to the nearest other group. Default: none.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> FuzzyMicroaggregationParams:
        if self.k is not None and self.c is not None:
            raise ValueError("give k or c, not both: c is n // k")
        other = {"fcm": ("lambda1", "lambda2", "efcm"), "efcm": ("m1", "m2", "fcm")}[self.clustering]
        strange = sorted(self.model_fields_set.intersection(other[:2]))
        if strange:
            raise ValueError(f"{' and '.join(strange)} belong to 'clustering: {other[2]}', not to {self.clustering!r}")
        return self


def protect(block: Block, params: FuzzyMicroaggregationParams, rng: np.random.Generator) -> Masked:
    """Replace every record by a centroid drawn with the record's memberships.

    Parameters
    ----------
    block : Block
        Distances are between standardised values. Centroids are projected, in the same distance, on its linear,
        range, product and governing edits at every update.
    params : FuzzyMicroaggregationParams
    rng : numpy.random.Generator
        For the starts (means of the records nearest to random ones) and the draw.

    Returns
    -------
    Masked
        With labels and representatives: the centroids that were drawn. Notes: centroids and how many of them are
        distinct, iterations, whether clustering converged, and sizes of groups, expected and drawn.

    Raises
    ------
    InputError
        When there are more centroids than records, fewer records than `floor`, m is out of reach, or a value is not
        finite.

    References
    ----------
    Torra, V. (2020): Fuzzy clustering-based microaggregation to achieve probabilistic k-anonymity for data with
    constraints. Journal of Intelligent & Fuzzy Systems 39(5), 5999-6008, algorithm 1.
    """
    c = _centroids(block.n, params)
    found = _cluster(block, params, c, rng)
    uniforms = rng.random(block.n)
    if params.clustering == "fcm":
        m2 = params.m1 if params.m2 is None else params.m2
        labels, expected = draw_centroids(block.values, found.centroids, uniforms, m=m2, scale=block.scale)
    else:
        lambda2 = params.lambda1 if params.lambda2 is None else params.lambda2
        labels, expected = draw_centroids(block.values, found.centroids, uniforms, lambda_=lambda2, scale=block.scale)
    moved = 0
    if params.floor is not None:
        labels, moved = enlarge_groups(block.values, found.centroids, labels, params.floor, scale=block.scale)
    used, labels = np.unique(labels, return_inverse=True)
    representatives = found.centroids[used]
    block.progress(1.0)
    return Masked(
        values=representatives[labels],
        missing=block.missing.copy(),
        labels=labels.astype(np.int64),
        representatives=representatives,
        notes=_notes(block, params, found, expected, np.bincount(labels)) | {"moved_to_reach_floor": moved},
    )


def _centroids(n: int, params: FuzzyMicroaggregationParams) -> int:
    if params.c is None:
        return max(1, n // (DEFAULT_K if params.k is None else params.k))
    if params.c > n:
        raise InputError(
            f"c = {params.c} centroids are more than the {n} records that are masked together; give k instead of c, "
            "so that there are n // k centroids"
        )
    return params.c


def _cluster(block: Block, params: FuzzyMicroaggregationParams, c: int, rng: np.random.Generator) -> FuzzyClusters:
    """Clustering of the lowest objective over the starts; equal ones: the first."""
    edits = EditSet(tuple(edit for edit in block.edits if edit.kind in PROJECTED))

    # Its search trees take time to import: not before they are needed.
    from maskwright import project

    def onto_edits(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        return project(points, block.variables, edits, block.scale)

    best: FuzzyClusters | None = None
    for start in range(params.starts):
        found = fuzzy_c_means(
            block.values,
            random_means(block.values, c, rng, scale=block.scale),
            m=params.m1 if params.clustering == "fcm" else None,
            lambda_=params.lambda1 if params.clustering == "efcm" else None,
            scale=block.scale,
            projector=onto_edits if len(edits) else None,
            tolerance=params.tolerance,
            max_iterations=params.max_iterations,
            float32=params.float32,
            progress=partial(_told, block, start, params.starts),
        )
        if best is None or found.objective[-1] < best.objective[-1]:
            best = found
    assert best is not None
    return best


def _told(block: Block, start: int, starts: int, share: float) -> None:
    # The draw, and the pass that ends a clustering, come on top.
    block.progress(0.95 * (start + share) / starts)


def _notes(
    block: Block,
    params: FuzzyMicroaggregationParams,
    found: FuzzyClusters,
    expected: NDArray[np.float64],
    sizes: NDArray[np.int64],
) -> dict[str, Any]:
    """What the run record should hold; over blocks, numbers are added except smallest and largest ones."""
    c = len(found.centroids)
    distinct = len(np.unique(np.round(found.centroids / block.scale / DISTINCT), axis=0))
    wanted = params.floor or params.k or max(block.n // c, 2)
    notes: dict[str, Any] = {
        "centroids": c,
        "distinct_centroids": distinct,
        "centroids_off_the_edits": int(np.count_nonzero(~found.feasible)),
        "objective": float(found.objective[-1]),
        "largest_iterations": found.iterations,
        "not_converged": 0 if found.converged else 1,
        "groups": len(sizes),
        "smallest_group": int(sizes.min()),
        "largest_group": int(sizes.max()),
        "smallest_expected_group": float(expected.min()),
        "records_in_groups_below_k": int(sizes[sizes < wanted].sum()),
    }
    if 2 * distinct < c:
        notes["warning"] = (
            "fewer than half of the centroids are distinct, so that much is lost for the number of groups: "
            + ("lower m1 (1.05 to 1.2)" if params.clustering == "fcm" else "raise lambda1")
        )
    return notes


FUZZY_MICROAGGREGATION = Method(
    name="fuzzy_microaggregation",
    protect=protect,
    params=FuzzyMicroaggregationParams,
    scope="group",
    blockable=True,
    accepts=frozenset({"continuous", "integer"}),
    # Centroids are averages with weights above 0, whichever record takes which.
    preserves=frozenset({"linear", "inequality", "range"}),
    reference="Torra (2020), Journal of Intelligent & Fuzzy Systems 39(5), 5999-6008, algorithm 1",
    summary="Replaces records by centroids of fuzzy clusters that satisfy the edits, drawn by membership.",
    example="method: fuzzy_microaggregation\nparams: {k: 5, m1: 1.1, m2: 1.2, floor: 3}\n",
)
