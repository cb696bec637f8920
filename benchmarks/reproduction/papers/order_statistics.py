"""Mateo-Sanz thesis, chapter 3: how much of an interval survives the order-statistics attack on individual ranking."""

from __future__ import annotations

from functools import cache
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from tables import GOLDEN, Cell, Table, as_printed, cell

from maskwright_builtin.measures.attribute_disclosure.fitted_laws import Normal, Uniform, Weibull
from maskwright_builtin.measures.attribute_disclosure.order_statistics_attack import posterior_intervals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright import FloatArray

SOURCE = "Mateo-Sanz, doctoral thesis (in Catalan), chapter 3"
DATA_SETS = 250
LAWS = {"normal": Normal(), "weibull": Weibull(shape=1.5)}
UNIFORM = {1: "q", 2: "q1", 3: "q2"}
TITLES = {
    1: "uniform, part of the interval that survives", 2: "uniform, smallest of the group",
    3: "uniform, largest of the group", 4: "normal, width of the certain interval",
    5: "normal, part of it that survives", 6: "normal, smallest of the group", 7: "normal, largest of the group",
    8: "Weibull, width of the certain interval", 9: "Weibull, part of it that survives",
    10: "Weibull, smallest of the group", 11: "Weibull, largest of the group",
}  # fmt: skip


def uniform_cells(number: int) -> Iterator[Cell]:
    table = pd.read_csv(GOLDEN / "order_statistics_uniform.csv", comment="#", dtype=str).fillna("")
    for row in table[table["statistic"] == UNIFORM[number]].to_dict("records"):
        for column in table.columns[3:]:
            if not row[column]:
                continue
            k, n = (int(part[1:]) for part in column.split("_"))
            percent = 0 if row["group"] == "G(1)" else int(row["group"][1:-1])
            j = 2 if row["group"] == "G(1)" else max(3, ceil(percent / 100 * ceil(n / k)))
            ours = uniform_share(row["statistic"], k, n, j, float(row["alpha"]))
            yield cell(f"α = {row['alpha']}, {row['group']}", f"k = {k}, n = {n}", row[column], ours)


def uniform_share(statistic: str, k: int, n: int, j: int, alpha: float) -> float:
    """Percent that survives, from the expected means of the groups, which the thesis takes for the real ones."""
    first, last = k * (j - 1) + 1, k * j
    ranks = {"q": np.arange(first, last + 1), "q1": np.array([first]), "q2": np.array([last])}[statistic]
    groups = np.array({"q": (j - 1, j + 1), "q1": (j - 1, j), "q2": (j, j + 1)}[statistic])
    low, high = (k * (2 * groups - 1) + 1) / (2 * (n + 1))
    ones = np.ones(len(ranks))
    lower, upper = posterior_intervals(Uniform(), low * ones, high * ones, ranks, n, alpha)
    return float(100.0 * ((upper - lower) / (high - low)).mean())


@cache
def simulated() -> pd.DataFrame:
    """Every row with our figure: mean posterior width over mean certain width, 250 data sets."""
    rows = pd.read_csv(GOLDEN / "order_statistics_simulated.csv", comment="#", dtype={"thesis": str})
    generator = np.random.default_rng(20261121)
    ours = np.full(len(rows), np.nan)
    for (name, k, n), chosen in rows.groupby(["dist", "k", "n"]):
        size = (DATA_SETS, n)
        data = generator.normal(size=size) if name == "normal" else generator.weibull(1.5, size=size)
        data.sort(axis=1)
        bounds = np.append(np.arange(n // k) * k, n)
        means = np.add.reduceat(data, bounds[:-1], axis=1) / np.diff(bounds)
        for index, row in chosen.iterrows():
            ours[index] = simulated_figure(name, row, means, bounds, n)
    return rows.assign(ours=ours)


def simulated_figure(law: str, row: pd.Series, means: FloatArray, bounds: np.ndarray, n: int) -> float:
    j = row["j"] - 1
    low, high = {"q1": (j - 1, j), "q2": (j, j + 1)}.get(row["stat"], (j - 1, j + 1))
    certain = means[:, high] - means[:, low]
    if row["stat"] == "width":
        return float(certain.mean())
    first, last = bounds[j] + 1, bounds[j + 1]
    widths = []
    for rank in {"q1": [first], "q2": [last]}.get(row["stat"], range(first, last + 1)):
        ranks = np.full(len(means), rank)
        ends = posterior_intervals(LAWS[law], means[:, low], means[:, high], ranks, n, row["alpha"])
        widths.append((ends[1] - ends[0]).mean())
    return float(100 * np.mean(widths) / certain.mean())


def simulated_cells(number: int) -> Iterator[Cell]:
    rows = simulated()
    for row in rows[rows["table"] == number].to_dict("records"):
        printed = as_printed(row["thesis"], 2 if row["stat"] == "width" else 1)
        half = 0.005 if row["stat"] == "width" else 0.05
        # 99 % of the runs of 50 data sets, as the thesis has, beside one of 250.
        scatter = 2.58 * row["se50"] * np.sqrt(1 + 50 / DATA_SETS) + half
        name = row["group"] if row["stat"] == "width" else f"α = {row['alpha']:g}, {row['group']}"
        yield cell(name, f"k = {row['k']}, n = {row['n']}", printed, row["ours"], scatter=scatter)


def table(number: int) -> Table:
    cells = uniform_cells if number in UNIFORM else simulated_cells
    return Table(
        f"thesis_3_{number}", f"Table 3.{number}, {TITLES[number]}", SOURCE, lambda: cells(number),
        shares="" if number in UNIFORM else "simulated",
    )  # fmt: skip


TABLES = tuple(table(number) for number in TITLES)
