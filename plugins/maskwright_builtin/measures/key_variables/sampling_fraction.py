"""The sampling fraction: declared, or what the weights say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from maskwright import Comparison


class FractionParams(BaseModel, extra="forbid", frozen=True):
    """Which part of the population the file holds."""

    sampling_fraction: float | None = Field(
        None,
        gt=0.0,
        le=1.0,
        description="Records of the file over people of the population, in place of weights. Default: records over "
        "the sum of the weights.",
    )


def sampling_fraction(comparison: Comparison, params: FractionParams) -> tuple[float, tuple[str, ...]]:
    """Sampling fraction of the masked records, and what a reader should know of it.

    Returns above 0, at most 1.
    """
    if params.sampling_fraction is not None:
        return params.sampling_fraction, ()
    weights = comparison.masked_weights()
    if weights is None:
        return 1.0, ("no weights and no sampling_fraction: the file counts as the whole population",)
    total = float(np.sum(weights))
    if total < len(weights):
        return 1.0, ("the weights add up to fewer people than there are records: they are not used",)
    return len(weights) / total, (f"sampling fraction {len(weights) / total:.4g}, from the weights",)
