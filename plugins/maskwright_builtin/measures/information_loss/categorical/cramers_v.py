"""Cramer's V: how much the association of categorical variables changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, Measurement, MeasureTable
from maskwright_builtin.measures.common.pairing import listed
from maskwright_builtin.measures.information_loss.categorical.paired_categories import (
    NOTHING,
    CategoricalParams,
    categorical_files,
    variable_mistakes,
    variables_used,
)
from maskwright_builtin.measures.information_loss.categorical.tables import tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

MOST_DRAWN = 12
"""Pairs in the table, those that change most."""


def cramers_v(comparison: Comparison, params: CategoricalParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Mean absolute change of Cramer's V over the pairs of variables.

        V = sqrt(chi2 / (N (min(r, c) - 1)))

    of each pair in each file, r and c its categories that occur there: 0 for independent variables, 1 where one tells
    the other. A variable with one category has no association; its pairs are left out.

    A missing cell is a category. Recoded variables are compared on the published categories. Weighted: weighted counts,
    scaled to the number of records.

    Parameters
    ----------
    comparison : Comparison
    params : CategoricalParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts`: ``largest`` change, ``mean_original`` and ``mean_masked`` V. `per_variable`: mean change over the pairs
        of each variable. `tables`: V of the pairs that change most, in both files. A note names the first. There
        is no interval: it compares these two files.
    """
    files = categorical_files(comparison, params, "cramers_v")
    if len(files.variables) < 2 or not all(files.records):
        few = "not defined: an association needs two categorical variables"
        return Measurement(float("nan"), notes=(*files.notes, few if files.variables else NOTHING))
    changes: list[float] = []
    found: dict[str, tuple[float, float]] = {}
    of_variable: dict[str, list[float]] = {each.name: [] for each in files.variables}
    largest, pair = -1.0, ""
    without: list[str] = []
    for table in tables(files, 2, comparison.progress, least=2):
        first, second = table.variables
        before = association(table.original, second.size, table.occurring)
        after = association(table.masked, second.size, table.occurring)
        if np.isnan(before) or np.isnan(after):
            without.append(f"{first.name} * {second.name}")
            continue
        change = abs(before - after)
        changes.append(change)
        found[f"{first.name} * {second.name}"] = (before, after)
        of_variable[first.name].append(change)
        of_variable[second.name].append(change)
        if change > largest:
            largest, pair = change, f"{first.name} * {second.name}, from {before:.3g} to {after:.3g}"
    notes = list(files.notes)
    if without:
        notes.append(f"left out, one of the two has a single category in a file: {listed(without)}")
    if not changes:
        return Measurement(float("nan"), notes=(*notes, "not defined: no pair has an association in both files"))
    notes.append(f"changes most: {pair}")
    means = np.mean(list(found.values()), axis=0)
    parts = {"largest": largest, "mean_original": float(means[0]), "mean_masked": float(means[1])}
    per_variable = {name: float(np.mean(own)) for name, own in of_variable.items() if own}
    return Measurement(float(np.mean(changes)), parts, per_variable, notes=tuple(notes), tables=(_most_changed(found),))


def _most_changed(found: Mapping[str, tuple[float, float]]) -> MeasureTable:
    """Pairs that change most, or all of few."""
    order = sorted(found, key=lambda pair: (-abs(found[pair][0] - found[pair][1]), pair))[:MOST_DRAWN]
    title = "Association of pairs (Cramer's V)" + (", those that change most" if len(found) > MOST_DRAWN else "")
    rows = tuple((pair, *found[pair]) for pair in order)
    return MeasureTable("pairs", title, ("pair", "original", "masked"), rows, "V")


def association(counts: NDArray[np.float64], columns: int, occurring: NDArray[np.int64] | None = None) -> float:
    """Cramer's V of a table of counts; NaN when a variable has one category.

    `counts`: row by row; shape (c,). `occurring`: numbers of the cells, where empty ones are left out; shape (c,).
    """
    there = counts > 0.0
    cells = np.flatnonzero(there) if occurring is None else occurring[there]
    observed = counts[there]
    row, column = (
        np.unique(cells // columns, return_inverse=True)[1],
        np.unique(cells % columns, return_inverse=True)[1],
    )
    by_row, by_column = np.bincount(row, observed), np.bincount(column, observed)
    smaller = min(len(by_row), len(by_column))
    if smaller < 2:
        return float("nan")
    total = float(observed.sum())
    expected = by_row[row] * by_column[column] / total
    # An empty cell adds what was expected of it; together they expect what the others do not.
    empty = max(0.0, total - float(expected.sum())) if len(cells) < len(by_row) * len(by_column) else 0.0
    chi_square = float(((observed - expected) ** 2 / expected).sum()) + empty
    return float(np.sqrt(min(1.0, chi_square / (total * (smaller - 1)))))


CRAMERS_V = Measure(
    name="cramers_v",
    compute=cramers_v,
    kind="loss",
    unit="change of V",
    direction="lower",
    range=(0.0, 1.0),
    params=CategoricalParams,
    uses=variables_used,
    check=variable_mistakes,
    compares_unpaired=True,
    invariant_to={"affine", "records", "columns"},
    reference="Cramer (1946), Mathematical Methods of Statistics, Princeton University Press, section 21.9",
    summary="Mean change of the association of two categorical variables (Cramer's V).",
)
