"""Comparisons built by hand, and masked versions of the Census file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from maskwright import Column, Comparison, Dataset, Variable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEPENDENTS = {"S1": (0, 2, 3, 5, 6, 8, 10, 11, 12), "S2": (3, 6, 11, 12)}


def _dataset(values: Any, names: list[str], decimals: int | None) -> Dataset:
    columns = []
    for name, cells in zip(names, np.asarray(values, dtype=np.float64).T, strict=True):
        columns.append(Column(Variable(name, decimals=decimals), cells.copy(), np.isnan(cells)))
    return Dataset(tuple(columns))


@pytest.fixture(scope="session")
def compare() -> Callable[..., Comparison]:
    """Make the comparison of two tables of numbers: arrays of shape (n, p) or data frames."""

    def make(original: Any, masked: Any, decimals: int | None = None, **more: Any) -> Comparison:
        p = np.asarray(original).shape[1]
        names = list(original.columns) if isinstance(original, pd.DataFrame) else [f"v{j + 1}" for j in range(p)]
        files = _dataset(original, names, decimals), _dataset(masked, names, decimals)
        return Comparison(*files, tuple(names), **more)

    return make


@pytest.fixture(scope="session")
def rng() -> np.random.Generator:
    """Return the generator that deterministic measures must leave alone."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def census(reference: Path) -> pd.DataFrame:
    """Return the 13-variable CASC Census file."""
    return pd.read_csv(reference / "census.csv").astype(np.float64)


@pytest.fixture(scope="session")
def ipso_a(census: pd.DataFrame) -> Callable[[str], tuple[pd.DataFrame, pd.DataFrame]]:
    """Return the dependents of a scenario and their least-squares fit on the other variables."""

    def fit(scenario: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        dependent = census.iloc[:, list(DEPENDENTS[scenario])]
        independent = census.drop(columns=list(dependent.columns)).to_numpy()
        scaled = (independent - independent.mean(axis=0)) / independent.std(axis=0)
        design = np.column_stack([np.ones(len(census)), scaled])
        # The independents are linearly dependent (PTOTVAL = POTHVAL + PEARNVAL): a rank-revealing solver is needed.
        coefficients = np.linalg.lstsq(design, dependent.to_numpy(), rcond=1e-10)[0]
        return dependent, pd.DataFrame(design @ coefficients, columns=dependent.columns)

    return fit
