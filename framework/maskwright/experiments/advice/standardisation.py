"""Variables standardised in the five ways of the thesis, and their products, from which statistics follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset

Standardisation = Literal["S_T", "S_X", "S_N", "S_M", "S_D"]
"""Values less their mean, divided by their standard deviation (S_T, the thesis's own choice); or values divided by
their largest absolute value (S_X), their smallest (S_N), their mean (S_M), their standard deviation (S_D)."""

STANDARDISATIONS: tuple[Standardisation, ...] = get_args(Standardisation)
"""The thesis's own choice first."""

DIVISORS = {"S_X": "largest absolute value", "S_N": "smallest absolute value", "S_M": "mean", "S_D": "deviation"}

NOTHING = 1e-12
"""Share of the largest value up to which a mean or a deviation is rounding."""


@dataclass(frozen=True, eq=False)
class Standardised:
    """What is known of standardised variables.

    `products`: mean products of their values, ``V'V / n``; correlations under S_T; shape (p, p). `means`: shape (p,).
    """

    products: NDArray[np.float64]
    means: NDArray[np.float64]

    @property
    def covariances(self) -> NDArray[np.float64]:
        """Covariances, divisor n; shape (p, p)."""
        return self.products - np.outer(self.means, self.means)


def standardised(data: Dataset, names: Sequence[str], how: Standardisation = "S_T") -> Standardised:
    """Standardise over the records without a missing cell.

    Under S_T a constant variable is uncorrelated with any other. Elsewhere it is refused to divide by 0.

    Mateo-Sanz, doctoral thesis (in Catalan), section 8.2.
    """
    values = data.matrix(names)
    values = values[~np.isnan(values).any(axis=1)]
    if len(values) < 2:
        raise InputError("fewer than two records have a value of every variable: correlations cannot be computed")
    if how == "S_T":
        deviations = values - values.mean(axis=0)
        lengths = np.sqrt((deviations**2).sum(axis=0))
        unit = deviations / np.where(lengths > 0, lengths, 1.0)
        products: NDArray[np.float64] = unit.T @ unit
        np.fill_diagonal(products, 1.0)
        return Standardised(products, np.zeros(len(names)))
    sizes = np.abs(values)
    divisor = {
        "S_X": sizes.max(axis=0), "S_N": sizes.min(axis=0), "S_M": values.mean(axis=0), "S_D": values.std(axis=0),
    }[how]  # fmt: skip
    wrong = np.abs(divisor) <= NOTHING * sizes.max(axis=0) if how in ("S_M", "S_D") else divisor == 0.0
    if wrong.any():
        listed = ", ".join(name for name, bad in zip(names, wrong, strict=True) if bad)
        raise InputError(
            Problem(
                f"standardisation {how} divides by the {DIVISORS[how]}, which is 0 for {listed}",
                hint="Leave these variables out, or take S_T, which divides deviations from the mean",
            )
        )
    scaled = values / divisor
    return Standardised(scaled.T @ scaled / len(scaled), scaled.mean(axis=0))
