"""Cells of a matrix of both files that are compared, however its statistics were found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright import Measurement
from maskwright_builtin.measures.information_loss.variation import ERRORS, Error, terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright_builtin.measures.information_loss.discrepancy import DiscrepancyParams
    from maskwright_builtin.measures.information_loss.file_statistics import FileStatistics

MISSING_RULE = "X uses the pairs with both values, each statistic the records of its own file that have the values"
NEGLIGIBLE = 1e-10
"""Components that explain a smaller share of the inertia are rounding, or exact dependences between variables."""

Matrix = Literal["X", "mean", "V", "variance", "R", "RF", "C", "F"]


@dataclass(frozen=True, eq=False)
class Cells:
    """A matrix of each file, as the cells that are compared.

    `rows` and `columns` are the variables that a cell concerns, `weight` what its term is multiplied by before the sum
    is divided by the number of cells.
    """

    original: NDArray[np.float64]
    masked: NDArray[np.float64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    weight: NDArray[np.float64]


def discrepancy_of(
    old: FileStatistics, new: FileStatistics, params: DiscrepancyParams, names: tuple[str, ...], notes: list[str]
) -> Measurement:
    """The measure, of the statistics of both files."""
    cells = compared_cells(old, new, params, notes)
    if cells is None:
        notes.append("not defined: components need the correlation of every pair of variables, and a variable has none")
        return Measurement(float("nan"), notes=tuple(notes))
    return error_of_cells(cells, params.error, names, notes)


def compared_cells(
    old: FileStatistics, new: FileStatistics, params: DiscrepancyParams, notes: list[str]
) -> Cells | None:
    """Cells of the matrix that is asked for, of both files; None where components are not defined."""
    p = len(old.mean)
    if params.of in ("mean", "variance"):
        own = np.arange(p)
        files = (old.mean, new.mean) if params.of == "mean" else (np.diag(old.covariance), np.diag(new.covariance))
        return Cells(*files, own, own, np.ones(p))
    if params.of in ("V", "R"):
        rows, columns = np.triu_indices(p, 0 if params.of == "V" else 1)
        first, other = (old.covariance, new.covariance) if params.of == "V" else (old.correlation, new.correlation)
        return Cells(first[rows, columns], other[rows, columns], rows, columns, np.ones(len(rows)))
    if np.isnan(old.correlation).any() or np.isnan(new.correlation).any():
        return None
    first_file, other_file = _components(old.correlation), _components(new.correlation)
    empty = [int((each.share <= NEGLIGIBLE).sum()) for each in (first_file, other_file)]
    if any(empty):
        notes.append(
            f"components without inertia, from exact dependences: {empty[0]} in the original file, {empty[1]} in the "
            "masked file; their columns are 0"
        )
    if params.of == "C":
        own = np.arange(p)
        communality = [(each.loadings[:, : params.components] ** 2).sum(axis=1) for each in (first_file, other_file)]
        return Cells(communality[0], communality[1], own, own, np.ones(p))
    sign = np.where((first_file.loadings * other_file.loadings).sum(axis=0) < 0.0, -1.0, 1.0)
    matrices = [each.loadings if params.of == "RF" else each.coefficients for each in (first_file, other_file)]
    rows = np.repeat(np.arange(p), p)
    return Cells(matrices[0].ravel(), (matrices[1] * sign).ravel(), rows, rows, np.tile(first_file.share, p))


@dataclass(frozen=True, eq=False)
class _Components:
    """Principal components of a correlation matrix: loadings and score coefficients (p, p), share of inertia (p,)."""

    loadings: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    share: NDArray[np.float64]


def _components(correlation: NDArray[np.float64]) -> _Components:
    values, vectors = np.linalg.eigh(correlation)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > NEGLIGIBLE * len(values)
    root = np.sqrt(np.where(kept, values, 1.0))
    return _Components(
        np.where(kept, vectors * root, 0.0),
        np.where(kept, vectors / root, 0.0),
        np.where(kept, values, 0.0) / len(values),
    )


def error_of_cells(cells: Cells, error: Error, names: tuple[str, ...], notes: list[str]) -> Measurement:
    """Errors over the cells that exist in both files."""
    found = {each: terms(cells.original, cells.masked, each) * cells.weight for each in ERRORS}
    there = ~np.isnan(found[error])
    if not there.any():
        return Measurement(float("nan"), notes=(*notes, "not defined: no cell of this matrix exists in both files"))
    if not there.all():
        notes.append(f"cells left out because they are not defined in one of the files: {int((~there).sum())}")
    parts: dict[str, float] = {each: float(term[there].mean()) for each, term in found.items()}
    per_variable = {}
    for j, name in enumerate(names):
        own = there & ((cells.rows == j) | (cells.columns == j))
        if own.any():
            per_variable[name] = float(found[error][own].mean())
    return Measurement(parts[error], parts, per_variable, notes=tuple(notes))
