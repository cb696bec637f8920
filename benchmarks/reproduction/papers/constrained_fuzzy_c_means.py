"""Torra (2020): constrained fuzzy c-means on twelve records."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from tables import GOLDEN, Cell, Paper, Table, cell

from maskwright_builtin.methods.microaggregation.fuzzy_clustering import fuzzy_c_means

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright import FloatArray

SOURCE = "Torra (2020), Fuzzy clustering-based microaggregation [...] for data with constraints"
NORMAL = np.array([1.16, 1.07, -1.0])
RULE = (NORMAL[None], np.zeros(1))
STARTS = ([0, 1, 3], [2, 8, 10], [4, 6, 9], [5, 7, 11])
"""Records whose plain means start the four clusters: found by recomputation, the paper does not give them."""
ROUNDING = 0.5e-5 * math.sqrt(3)
"""How far a printed centroid, of five decimals and three variables, is from the one that was rounded; no further from
another one after a projection."""


def golden(name: str) -> pd.DataFrame:
    return pd.read_csv(GOLDEN / f"cfcm_{name}.csv", comment="#", dtype=str)


def records(name: str) -> FloatArray:
    return golden(name).to_numpy(dtype=float)[:, 1:]


def centroids() -> dict[tuple[str, str], FloatArray]:
    """Centroids of Table 3 that can be computed, by data and algorithm."""
    printed, noisy = records("table1"), records("table2")
    corrected = printed.copy()
    corrected[11, 0] = 16
    start = np.stack([corrected[rows].mean(axis=0) for rows in STARTS])
    found = {
        ("original", "as printed"): fuzzy_c_means(printed, start, m=1.5, max_iterations=1, equalities=RULE).centroids,
        ("N(0,1.5)", "unconstrained"): fuzzy_c_means(noisy, start, m=1.5, max_iterations=1).centroids,
        ("N(0,1.5)", "constrained"): fuzzy_c_means(noisy, start, m=1.5, max_iterations=1, equalities=RULE).centroids,
    }
    # The noisy data of these rows are not published, but the constrained centroids are projections of the others.
    for noise in ("N(0,0.5)", "N(0,1.0)"):
        free = table_3()[noise, "unconstrained"]
        found[noise, "constrained"] = free - np.outer(free @ NORMAL / (NORMAL @ NORMAL), NORMAL)
    return found


def table_3() -> dict[tuple[str, str], FloatArray]:
    rows = golden("table3").groupby(["data", "algorithm"])
    return {name: group[["v1", "v2", "v3"]].to_numpy(dtype=float) for name, group in rows}


def cells_of_table_3() -> Iterator[Cell]:
    found = centroids()
    for row in golden("table3").to_dict("records"):
        key = (row["data"], row["algorithm"])
        tolerance = ROUNDING + 0.5e-5 if key[0] in ("N(0,0.5)", "N(0,1.0)") else 0.0
        for position, name in enumerate(("v1", "v2", "v3")):
            ours = found[key][int(row["cluster"]) - 1, position] if key in found else None
            label = f"{key[0]}, {key[1]}" if key[1] != "as printed" else key[0]
            yield cell(f"{label}, cluster {row['cluster']}", name, row[name], ours, tolerance=tolerance)


def cells_of_table_4() -> Iterator[Cell]:
    printed = table_3()
    for row in golden("table4").to_dict("records"):
        away = printed[row["noise"], row["algorithm"]] - printed["original", "as printed"]
        for number, distance in enumerate(np.linalg.norm(away, axis=1), 1):
            # Between two centroids of Table 3, each of them rounded.
            label = f"{row['noise']}, {row['algorithm']}"
            yield cell(label, f"d{number}", row[f"d{number}"], distance, tolerance=2 * ROUNDING)


def cells_of_converged_clusters() -> Iterator[Cell]:
    printed, noisy = records("table1"), records("table2")
    corrected = printed.copy()
    corrected[11, 0] = 16
    data = {"table1-printed": printed, "table1-corrected": corrected, "table2": noisy}
    start = np.stack([corrected[rows].mean(axis=0) for rows in STARTS])
    rows = golden("reference")
    for case, group in rows[rows["case"].str.startswith("converged")].groupby("case", sort=False):
        _, kind, fuzziness, name, constraint = str(case).split()
        figure, value = fuzziness.split("=")
        params = {"m" if figure == "m" else "lambda_": float(value)}
        tied = {"equalities": RULE} if constraint == "constrained" else {}
        found = fuzzy_c_means(data[name], start, tolerance=1e-14, max_iterations=1000, **params, **tied)
        for row in group.to_dict("records"):
            cluster = int(row["cluster"])
            for position, column in enumerate(("v1", "v2", "v3")):
                ours = found.centroids[cluster - 1, position]
                place = f"{name}, {constraint}, cluster {cluster}"
                # Ten digits are stated.
                tolerance = 1e-9 * abs(ours) + 1e-7
                yield cell(place, column, row[column], ours, tolerance=tolerance, group=f"{kind} {fuzziness}")


PAPER = Paper(
    "constrained-fuzzy-c-means",
    "Constrained fuzzy c-means (Torra 2020)",
    (
        Table("cfcm_table_3", "Table 3, centroids", SOURCE, cells_of_table_3),
        Table("cfcm_table_4", "Table 4, distances of the centroids", SOURCE, cells_of_table_4),
        Table(
            "cfcm_converged",
            "Centroids of converged clusterings",
            "independent recomputation",
            cells_of_converged_clusters,
            by_group=True,
        ),
    ),
)
