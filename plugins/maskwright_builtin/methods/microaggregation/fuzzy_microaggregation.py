"""Fuzzy microaggregation: records are replaced by centroids drawn with their memberships."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Block, Claims, Cost, EditSet, InputError, Iteration, Masked, Method, PromisesK, Variable
from maskwright_builtin.methods.microaggregation.fuzzy_clustering import (
    FuzzyClusters,
    clustering_iterations,
    draw_centroids,
    enlarge_groups,
    fuzzy_c_means,
    means_of_present,
)
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.clustering import memberships_in
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.drawing import random_means

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright_builtin.methods.microaggregation.fuzzy_clustering.geometry import Projection
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers

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
        description=f"Mean number of records of a group: there are n // k centroids in each stratum or block of n "
        f"records. Default {DEFAULT_K}, unless c is given. It is no promise: groups are drawn, and some are smaller "
        "(see floor).",
    )
    c: int | None = Field(
        default=None,
        ge=1,
        strict=True,
        description="Number of centroids for the whole file, instead of k. Strata and blocks get their share of them "
        "by their numbers of records, and at least one each.",
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
    floor: Annotated[int | None, PromisesK()] = Field(
        default=None,
        ge=2,
        strict=True,
        description="Promised smallest number of records of a group: smaller groups are dissolved, the smallest first, "
        "and their records moved to the nearest other group. Default: none, as in the paper, and a warning when groups "
        "come out smaller than k.",
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
        range, product and governing edits at every update. In distances a missing cell counts as the mean of the
        file; centroids are made of the cells that are present. Variables of which the block has no cell take no part.
    rng : numpy.random.Generator
        For the starts (means of the records nearest to random ones) and the draw.

    Returns
    -------
    Masked
        With labels and representatives: the centroids that were drawn. Missing cells stay missing. Notes: centroids
        and how many of them are distinct, iterations, whether clustering converged, sizes of groups, expected and
        drawn, and warnings about them.

    Raises
    ------
    InputError
        When there are more centroids than records in the file, fewer records than `floor`, m is out of reach, or a
        value is not finite.
    """
    c = _centroids(block, params)
    present: Booleans = np.any(~block.missing, axis=0)
    representatives = np.full((1, block.p), np.nan)
    labels = np.zeros(block.n, dtype=np.int64)
    notes: dict[str, Any] = {}
    if present.any():
        records = _records(block, present)
        found = _cluster(records, block, params, c, rng)
        labels, expected = draw_centroids(
            records.values, found.centroids, rng.random(block.n), **_fuzziness(params, draw=True), scale=records.scale
        )
        moved = 0
        if params.floor is not None:
            labels, moved = enlarge_groups(records.values, found.centroids, labels, params.floor, scale=records.scale)
        used, labels = np.unique(labels, return_inverse=True)
        representatives = np.full((len(used), block.p), np.nan)
        representatives[:, present] = found.centroids[used]
        notes = _notes(records, params, found, expected, np.bincount(labels)) | {"moved_to_reach_floor": moved}
    if block.missing.any():
        # Nothing would be published of a representative on a variable that no record of its group has.
        for column, missing in enumerate(block.missing.T):
            representatives[np.bincount(labels[~missing], minlength=len(representatives)) == 0, column] = np.nan
    values = representatives[labels]
    values[block.missing] = np.nan
    block.progress(1.0)
    labels = labels.astype(np.int64)
    return Masked(values, block.missing.copy(), labels=labels, representatives=representatives, notes=notes)


def iterations(block: Block, params: FuzzyMicroaggregationParams, rng: np.random.Generator) -> Iterator[Iteration]:
    """Centroids after each update, and the records as they would be drawn from these."""
    if block.missing.any() or params.starts != 1:
        raise InputError("iterations are those of one start, on records without missing cells")
    c = _centroids(block, params)
    records = _records(block, np.ones(block.p, dtype=np.bool_))
    start = random_means(records.values, c, rng, scale=records.scale)
    uniform = rng.random(block.n)
    going = clustering_iterations(
        records.values, start, **_fuzziness(params), scale=records.scale, projector=_projector(records, block),
        tolerance=params.tolerance, max_iterations=params.max_iterations, float32=params.float32,
    )  # fmt: skip
    later = next(going, None)
    while (found := later) is not None:
        later = next(going, None)
        labels, _ = draw_centroids(
            records.values, found.centroids, uniform, **_fuzziness(params, draw=True), scale=records.scale
        )
        if params.floor is not None:
            labels, _ = enlarge_groups(records.values, found.centroids, labels, params.floor, scale=records.scale)
        memberships = memberships_in(records.values, found.centroids, **_fuzziness(params), scale=records.scale)
        yield Iteration(
            values=found.centroids[labels], objective=float(found.objective[-1]), centroids=found.centroids,
            memberships=np.repeat(memberships[:, :, None], block.p, axis=2), is_last=later is None,
        )  # fmt: skip


def mean_cluster_size(params: FuzzyMicroaggregationParams, n: int) -> int:
    """Records that a group has in the mean: k, or the share of each of c centroids in n records."""
    if params.c is not None:
        return max(n // params.c, 1)
    return DEFAULT_K if params.k is None else params.k


def _centroids(block: Block, params: FuzzyMicroaggregationParams) -> int:
    """Number of centroids of a block."""
    n = max(block.file_n, block.n)
    if params.c is None:
        return max(1, block.n // mean_cluster_size(params, n))
    if params.c > n:
        raise InputError(
            f"c = {params.c} centroids are more than the {n} records; give k instead of c, so that there are n // k "
            "centroids"
        )
    return min(max(1, round(params.c * block.n / n)), block.n)


class _Fuzziness(TypedDict):
    m: float | None
    lambda_: float | None


def _fuzziness(params: FuzzyMicroaggregationParams, *, draw: bool = False) -> _Fuzziness:
    """Arguments `m` and `lambda_` of the clustering, or of the draw."""
    if params.clustering == "fcm":
        return {"m": params.m2 if draw and params.m2 is not None else params.m1, "lambda_": None}
    return {"m": None, "lambda_": params.lambda2 if draw and params.lambda2 is not None else params.lambda1}


@dataclass(frozen=True, eq=False)
class _Records:
    """Records of a block as they are clustered: variables that have values, missing cells filled."""

    values: Floats
    missing: Booleans
    variables: tuple[Variable, ...]
    scale: Floats


def _records(block: Block, present: Booleans) -> _Records:
    missing = block.missing[:, present]
    return _Records(
        np.where(missing, block.center[present], block.values[:, present]),
        missing,
        tuple(variable for variable, here in zip(block.variables, present, strict=True) if here),
        block.scale[present],
    )


def _cluster(
    records: _Records, block: Block, params: FuzzyMicroaggregationParams, c: int, rng: np.random.Generator
) -> FuzzyClusters:
    """Clustering of the lowest objective over the starts; equal ones: the first."""
    onto_edits = _projector(records, block)
    best: FuzzyClusters | None = None
    for start in range(params.starts):
        found = fuzzy_c_means(
            records.values,
            random_means(records.values, c, rng, scale=records.scale),
            **_fuzziness(params),
            scale=records.scale,
            projector=onto_edits,
            tolerance=params.tolerance,
            max_iterations=params.max_iterations,
            float32=params.float32,
            progress=partial(_report_progress, block, start, params.starts),
        )
        if best is None or found.objective[-1] < best.objective[-1]:
            best = found
    assert best is not None
    if not records.missing.any():
        return best
    centroids = means_of_present(
        records.values, records.missing, best.centroids, **_fuzziness(params), scale=records.scale
    )
    if onto_edits is None:
        return replace(best, centroids=centroids)
    centroids, feasible = onto_edits(centroids)
    return replace(best, centroids=centroids, feasible=feasible)


def _projector(records: _Records, block: Block) -> Projection | None:
    """What brings centroids onto the edits of the block; None where there are none for them."""
    edits = EditSet(tuple(edit for edit in block.edits if edit.kind in PROJECTED))
    if not len(edits):
        return None

    # Its search trees take time to import: not before they are needed.
    from maskwright import project

    def onto_edits(points: Floats) -> tuple[Floats, Booleans]:
        return project(points, records.variables, edits, records.scale)

    return onto_edits


def _report_progress(block: Block, start: int, starts: int, share: float) -> None:
    # The draw, and the pass that ends a clustering, come on top.
    block.progress(0.95 * (start + share) / starts)


def _notes(
    records: _Records, params: FuzzyMicroaggregationParams, found: FuzzyClusters, expected: Floats, sizes: Integers
) -> dict[str, Any]:
    """What the run record should hold; over blocks, numbers are added except smallest and largest ones."""
    c = len(found.centroids)
    distinct = len(np.unique(np.round(found.centroids / records.scale / DISTINCT), axis=0))
    wanted = params.floor or params.k or max(len(records.values) // c, 2)
    few = int(sizes[sizes < wanted].sum())
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
        "smallest_mean_cluster_size": float(expected.min()),
        "records_in_groups_below_k": few,
    }
    warnings: list[str] = []
    if 2 * distinct < c:
        warnings.append(
            "fewer than half of the centroids are distinct, so that much is lost for the number of groups: "
            + ("lower m1 (1.05 to 1.2)" if params.clustering == "fcm" else "raise lambda1")
        )
    if not found.converged:
        warnings.append(
            f"clustering stopped after max_iterations = {params.max_iterations} updates while centroids still moved "
            "further than the tolerance: raise either"
        )
    if few:
        smallest = "k" if params.k is not None or params.c is None else "n / c"
        warnings.append(f"groups are drawn, and some have fewer records than {smallest}: 'floor' sets a smallest size")
    return notes | ({"warnings": warnings} if warnings else {})


FUZZY_MICROAGGREGATION = Method(
    name="fuzzy_microaggregation",
    protect=protect,
    params=FuzzyMicroaggregationParams,
    scope="group",
    claims=Claims(
        cost=Cost(cell=0.3, pair=19.0),
        cut="near",
        variable_types={"continuous", "integer", "date", "datetime"},
        handles_missing=True,
        preserves={"linear", "inequality", "range"},
        mean_cluster_size=mean_cluster_size,
    ),
    iterations=iterations,
    reference="Torra (2020), Journal of Intelligent & Fuzzy Systems 39(5), 5999-6008, algorithm 1",
    summary="Replaces records by centroids of fuzzy clusters that satisfy the edits, drawn by membership.",
    example="method: fuzzy_microaggregation\nparams: {k: 5, m1: 1.1, m2: 1.2, floor: 3}\n",
)
