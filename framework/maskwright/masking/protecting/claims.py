"""Claims of methods on means and covariances: measured in every call, and told where they do not hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.plugins.block import Block
    from maskwright.plugins.method import Masked, Method

RELATIVE = 1e-6
"""In standard deviations of the file, or products of two: rounding in binary64 stays far below, any masking above."""


def broken_claims(method: Method, params: BaseModel, block: Block, masked: Masked) -> Iterator[str]:
    """Sentences on claims of a method that do not hold in what it made of a block; no count and no value.

    Means are those that the method makes: weighted ones where it says that it uses weights. Looked at are numeric
    variables whose representatives are means; covariances only of records without missing cells.
    """
    claims = method.preserves & {"mean", "covariance"}
    if not claims or masked.variables is not None or not block.n:
        return
    clustered = masked.labels is not None
    columns = [
        position
        for position, variable in enumerate(block.variables)
        if variable.is_numeric and (not clustered or not block.operators or block.operators[position] == "mean")
    ]
    weights = block.weights if method.uses_weights(params) else None
    if "mean" in claims:
        for position in columns:
            before = _mean(block.values[:, position], block.missing[:, position], weights)
            after = _mean(masked.values[:, position], masked.missing[:, position], weights)
            if abs(after - before) > RELATIVE * _size(block, position):
                yield f"it claims to preserve means, and the mean of {block.variables[position].name} is another one"
    if "covariance" in claims and columns and not (block.missing | masked.missing).any() and block.n > 1:
        scales = np.array([_size(block, position) for position in columns])
        gap = np.abs(_covariances(masked.values[:, columns]) - _covariances(block.values[:, columns]))
        if (gap > RELATIVE * np.outer(scales, scales)).any():
            yield "it claims to preserve covariances, and some are others"


def with_warnings(masked: Masked, warnings: tuple[str, ...]) -> Masked:
    """A result that also warns of these."""
    if not warnings:
        return masked
    return replace(masked, notes={**masked.notes, "warnings": (*masked.notes.get("warnings", ()), *warnings)})


def _mean(values: NDArray[np.float64], missing: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> float:
    present = ~missing
    if not present.any():
        return 0.0
    if weights is None or not weights[present].any():
        return float(np.mean(values[present]))
    return float(np.average(values[present], weights=weights[present]))


def _covariances(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.atleast_2d(np.cov(values, rowvar=False))


def _size(block: Block, position: int) -> float:
    """Standard deviation of a variable in the file, or what rounding errors of its values are a share of."""
    scale = float(block.scale[position]) if len(block.scale) > position else 1.0
    present = block.values[~block.missing[:, position], position]
    largest = float(np.abs(present).max(initial=0.0))
    return max(scale, 1e-6 * largest)
