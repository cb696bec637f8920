"""Correction of masked values so that means, or means and variances, are those of the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from numpy.typing import NDArray

Correction = Literal["none", "mean", "mean_and_variance"]


class NoiseParams(BaseModel, extra="forbid", frozen=True):
    """How much noise, and what is corrected afterwards."""

    p: float = Field(
        default=0.1,
        gt=0,
        le=10,
        description="Standard deviation of the noise, as a share of that of the variable: 0.1 is ten percent. Usual: "
        "0.01 to 0.5. More protects more and loses more.",
    )
    correction: Correction = Field(
        default="none",
        description="'none': noise inflates variances by 1 + p^2, and means move a little. 'mean': means are exactly "
        "those of the original. 'mean_and_variance': variances too (and covariances, where noise is correlated).",
    )


def corrected(original: NDArray[np.float64], noisy: NDArray[np.float64], correction: Correction) -> NDArray[np.float64]:
    """Linear map of a noisy column onto the original's mean, or mean and variance.

    Kim, J. J. (1986): A method for limiting disclosure in microdata based on random noise and transformation.
    Proceedings of the section on survey research methods, American Statistical Association, 303-308; with the factor
    from the sample at hand, so that the moments are exact, not only expected.

    `original`, `noisy`: m >= 2, each with some spread; shape (m,).
    """
    if correction == "none":
        return noisy
    center = original.mean()
    deviations = noisy - noisy.mean()
    if correction == "mean_and_variance":
        deviations *= np.std(original - center) / np.std(deviations)
    return np.asarray(center + deviations)
