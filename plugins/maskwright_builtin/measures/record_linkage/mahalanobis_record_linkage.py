"""Record linkage by the Mahalanobis distance, which knows that variables move together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.record_linkage.known_variables import known_mistakes, known_names
from maskwright_builtin.measures.record_linkage.linkage import LinkageParams
from maskwright_builtin.measures.record_linkage.linkage_scenarios import measure_linkage

if TYPE_CHECKING:
    from numpy.typing import NDArray

RANK_TOLERANCE = 1e-10
"""Directions with a smaller share of the largest variance are rounding errors of exactly dependent variables."""


class MahalanobisRecordLinkageParams(LinkageParams, extra="forbid", frozen=True):
    """What the intruder knows and how records are linked."""

    covariance: Literal["independent", "paired"] = Field(
        "independent",
        description="Covariance matrix of the differences. 'independent': that of the original plus that of the masked "
        "file, which an intruder can estimate. 'paired': that of the differences of the true pairs, as if known.",
    )


def mahalanobis_record_linkage(
    comparison: Comparison,
    params: MahalanobisRecordLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records whose nearest record of the other file, by Mahalanobis distance, is their own counterpart.

    ``d(x, y) ** 2 = (x - y)^T S^-1 (x - y)`` over the known variables, with ``S = V(X) + V(X')`` (`independent`) or
    ``S = V(X - X')`` of the true pairs (`paired`); divisor n - 1. Where variables depend on
    each other exactly, S^-1 is the inverse on the directions in which records differ; a direction in which true pairs
    do not differ at all, but other records do, gets the largest weight that rounding allows.

    Scenarios, direction, ties, `nearest`, households, interval, weights, missing cells (at the original's mean) and
    variables that are constant in the original are as in distance_record_linkage. Equal rows tie exactly; different
    rows at equal distances may not, for the coordinates are computed in binary64.

    Parameters
    ----------
    comparison : Comparison
    params : MahalanobisRecordLinkageParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        As `distance_record_linkage`.

    Raises
    ------
    InputError
        Unknown variables, more known variables than there are, too many subsets.
    """
    origin = comparison.masked.origin if comparison.origin is None else comparison.origin
    space = partial(_whitened, origin=origin, paired=params.covariance == "paired")
    return measure_linkage(comparison, params, "mahalanobis_record_linkage", space=space)


def _whitened(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    origin: NDArray[np.int64] | None,
    paired: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates of both files whose Euclidean distance is the Mahalanobis distance."""
    used = weight > 0.0
    if not used.any():
        return original, masked, weight
    center = original[:, used].mean(axis=0)
    files = [(file[:, used] - center) * weight[used] for file in (original, masked)]
    total = _covariance(files[0]) + _covariance(files[1])
    values, axes = np.linalg.eigh(total)
    axes = axes[:, values > RANK_TOLERANCE * values.max()]
    spread = total
    if paired:
        spread = _covariance((files[0] if origin is None else files[0][origin]) - files[1])
    values, turn = np.linalg.eigh(axes.T @ spread @ axes)
    axes = axes @ turn / np.sqrt(np.maximum(values, RANK_TOLERANCE * np.abs(np.linalg.eigvalsh(total)).max()))
    one, other = (_turned(file, axes) for file in files)
    return one, other, np.ones(axes.shape[1])


def _covariance(file: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance matrix of the columns, divisor n - 1; zero for one record."""
    centred = file - file.mean(axis=0)
    return np.asarray(centred.T @ centred / max(len(file) - 1, 1))


def _turned(file: NDArray[np.float64], axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrix product in one order of operations for every row: equal rows have to stay equal."""
    result = np.zeros((len(file), axes.shape[1]), order="F")
    for k in range(axes.shape[1]):
        for j in range(file.shape[1]):
            result[:, k] += file[:, j] * axes[j, k]
    return result


MAHALANOBIS_RECORD_LINKAGE = Measure(
    name="mahalanobis_record_linkage",
    compute=mahalanobis_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=MahalanobisRecordLinkageParams,
    uses=known_names,
    check=known_mistakes,
    counts_households=True,
    invariant_to={"affine", "records"},
    reference="Torra, Abowd and Domingo-Ferrer (2006), Using Mahalanobis distance-based record linkage for disclosure "
    "risk assessment, Privacy in Statistical Databases, LNCS 4302, 233-242",
    summary="Percent of records whose nearest record by Mahalanobis distance is their own, over what is known.",
)
