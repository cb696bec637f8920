"""Small made-up blocks and files that plugins are tried on; no real data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.variable import Variable, VariableType
from maskwright.edits.edit_set import EditSet
from maskwright.plugins.block import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TYPES: tuple[VariableType, ...] = ("continuous", "integer", "ordinal", "nominal")
CATEGORIES = ("a", "b", "c", "d", "e")


def block_of(
    values: NDArray[np.float64],
    variable_type: VariableType = "continuous",
    rules: Sequence[str] = (),
    operator: str | None = None,
) -> Block:
    """Block of the given values, read-only; NaN is a missing cell.

    `values`: shape (n, p). `variable_type`: of all variables, called ``x1``, ``x2``, . `operator`: left out: ``mean``
    for numbers, ``lower_median`` for ordinal, ``mode`` for nominal variables.
    """
    values = np.array(values, dtype=np.float64)
    missing = np.isnan(values)
    numeric = variable_type in ("continuous", "integer")
    variables = tuple(
        Variable(
            f"x{position + 1}",
            variable_type,
            "confidential",
            decimals=0 if variable_type == "integer" else None,
            categories=() if numeric else CATEGORIES,
        )
        for position in range(values.shape[1])
    )
    default = {"ordinal": "lower_median", "nominal": "mode"}.get(variable_type, "mean")
    center, scale = _moments(values, missing)
    for array in (values, missing, center, scale):
        array.setflags(write=False)
    return Block(
        values,
        missing,
        variables,
        EditSet.parse(list(rules)) if rules else EditSet(),
        (operator or default,) * values.shape[1],
        center=center,
        scale=scale,
    )


def with_companions(block: Block, names: Sequence[str]) -> Block:
    """Block with categories in the companions of these names, of which a method asks for some."""
    rng = np.random.default_rng(3)
    return replace(block, companions={name: rng.integers(0, 4, block.n).astype(np.float64) for name in names})


def _moments(
    values: NDArray[np.float64], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    present = np.maximum((~missing).sum(axis=0), 1)
    center = np.where(missing, 0.0, values).sum(axis=0) / present
    squares = np.where(missing, 0.0, values - center) ** 2
    scale = np.sqrt(squares.sum(axis=0) / np.maximum(present - 1, 1))
    return center, np.where(scale > 0, scale, 1.0)


def numbers(n: int, p: int, variable_type: VariableType = "continuous", seed: int = 1) -> NDArray[np.float64]:
    """Skewed, correlated positive numbers (whole ones for integers), or category codes.

    Returns shape (n, p).
    """
    rng = np.random.default_rng(seed)
    if variable_type in ("ordinal", "nominal"):
        return rng.integers(0, len(CATEGORIES), size=(n, p)).astype(np.float64)
    drawn = np.exp(rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, p))) * 100.0 + 50.0
    return np.round(drawn) if variable_type == "integer" else drawn


def with_holes(values: NDArray[np.float64], share: float = 0.15, seed: int = 2) -> NDArray[np.float64]:
    """Copy with some cells missing, the first record whole and the last one all missing.

    `values`: shape (n, p). `share`: of the cells that are missing, in the mean. Returns NaN where missing; shape (n,
    p).
    """
    holes = np.random.default_rng(seed).random(values.shape) < share
    holes[0] = False
    holes[-1] = True
    return np.where(holes, np.nan, values)


def dataset_of(values: NDArray[np.float64], names: Sequence[str] | None = None) -> Dataset:
    """Dataset of continuous variables; NaN is a missing cell."""
    chosen = names or [f"x{position + 1}" for position in range(values.shape[1])]
    return Dataset(
        tuple(
            Column(Variable(name), np.array(values[:, position]), np.isnan(values[:, position]))
            for position, name in enumerate(chosen)
        )
    )
