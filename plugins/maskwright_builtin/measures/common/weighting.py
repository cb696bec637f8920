"""Sampling weights in loss measures: used where a measure is asked for its weighted version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Comparison, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class WeightedParams(BaseModel, extra="forbid", frozen=True):
    """Whether records count by their sampling weights."""

    weighted: bool = Field(
        default=False,
        description="Count each record by its sampling weight: the one variable with role weight, as the original "
        "file has it. Without such a variable the weighted version is refused.",
    )


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the records of both files, scaled to mean 1.

    `original`: shape (n,). `masked`: those of the originals of the masked records; shape (m,).
    """

    original: NDArray[np.float64]
    masked: NDArray[np.float64]


def weights_of(comparison: Comparison, measure: str, *, weighted: bool) -> Weights | None:
    """Weights to use; None when every record counts once.

    `measure`: its name, for the message. `weighted`: whether weights are asked for.
    """
    if not weighted:
        return None
    original, masked = comparison.weights, comparison.masked_weights()
    if original is None or masked is None:
        raise InputError(
            f"{measure}: the weighted version needs weights: declare one variable with role weight, with a number that "
            "is not negative in every record"
        )
    if not masked.any():
        raise InputError(f"{measure}: the weights of the masked records are all zero")
    return Weights(original / original.mean(), masked / masked.mean())


def mean(values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """(Weighted) mean of values without missing ones; NaN when there is none, or none with weight."""
    if not values.size:
        return float("nan")
    if weights is None:
        return float(values.mean())
    total = float(weights.sum())
    return float(np.dot(values, weights)) / total if total > 0.0 else float("nan")


def chosen(weights: NDArray[np.float64] | None, records: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    """Weights of some records."""
    return None if weights is None else weights[records]


def effective_number(weights: NDArray[np.float64]) -> float:
    """Kish's effective number of records, ``sum(w)**2 / sum(w**2)``: at most n, and n for equal weights.

    The variance of a weighted mean is that of a plain mean of so many records, when weights and values are unrelated.
    0 for no weight at all.

    Kish (1965), Survey Sampling, Wiley, section 11.7; Kish (1992), Weighting for unequal P_i, Journal of Official
    Statistics 8(2), 183-200.
    """
    squares = float(np.dot(weights, weights))
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def weighted_over_parts(params: WeightedParams) -> str | None:
    """Why a measure cannot be had of a file in parts: weights are brought to mean 1 over the whole file."""
    return "weights are brought to mean 1 over the whole file: leave out `weighted`" if params.weighted else None
