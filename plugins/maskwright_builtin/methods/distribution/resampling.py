"""Resampling: each variable is replaced by the sorted averages of samples drawn from its own values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, Masked, Method
from maskwright_builtin.methods.distribution.ordered_matching import matched_by_rank
from maskwright_builtin.methods.single_columns import mask_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ResamplingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of resampling."""

    t: int = Field(
        default=1,
        ge=1,
        le=1000,
        strict=True,
        description="Number of samples that are drawn and averaged. 1 changes values most; the more, the closer the "
        "averages are to the original values.",
    )


def protect(block: Block, params: ResamplingParams, rng: np.random.Generator) -> Masked:
    """Replace the values of each variable by averages of sorted samples of them.

    Parameters
    ----------
    block : Block
    params : ResamplingParams
    rng : numpy.random.Generator

    Returns
    -------
    Masked
        For each variable with m values, t samples of size m are drawn from them with replacement, and each is sorted;
        the r-th smallest value becomes the mean of the t r-th smallest ones. Ranks stay (equal values rank in the order
        of the records), and values stay between the smallest and the largest original one. Missing cells stay missing.

    References
    ----------
    Heer, G. R. (1993): A bootstrap procedure to preserve statistical confidentiality in contingency tables.
    Proceedings of the international seminar on statistical confidentiality, Eurostat, 261-271; method Remost of
    Mateo-Sanz's thesis.
    """

    def change(values: NDArray[np.float64], position: int) -> NDArray[np.float64]:  # noqa: ARG001
        ascending = np.sort(values)
        # The t-th part of each sample, rather than of the sum, cannot overflow.
        averages = np.zeros(len(values))
        for _ in range(params.t):
            averages += ascending[np.sort(rng.integers(0, len(values), len(values)))] / params.t
        # A mean lies inside what it is a mean of; the sum may be off by rounding.
        return matched_by_rank(values, np.clip(averages, ascending[0], ascending[-1]))

    return mask_columns(block, change)


RESAMPLING = Method(
    name="resampling",
    protect=protect,
    params=ResamplingParams,
    scope="variable",
    # Ranks are those of the whole file.
    cut="none",
    within_strata=False,
    variable_types={"continuous", "integer", "date", "datetime"},
    handles_missing=True,
    preserves={"range"},
    reference="Heer (1993), Proc. Int. Seminar on Statistical Confidentiality, Eurostat, 261-271",
    summary="Replaces each variable by sorted averages of samples drawn from its own values.",
    example="method: resampling\nparams: {t: 3}\n",
)
