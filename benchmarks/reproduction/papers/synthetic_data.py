"""Cano and Torra (2009) and the degree project of Cano: IPSO and fuzzy c-regression on the Census file."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from grades import decimals
from synthetic import (
    EDITS_KNOWN,
    S1,
    S2,
    burridge_b_as_programmed,
    protected,
    regression_by_elimination,
    roles,
    scored,
)
from tables import GOLDEN, REFERENCE, Cell, Paper, Table, cell, one_thread

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SOURCE = "Cano and Torra (2009), Generation of synthetic data by means of fuzzy c-regression, FUZZ-IEEE 2009"
PROJECT = "Cano, degree project on synthetic data by fuzzy c-regression (in Catalan)"
FIGURES = ("objective", "PIL", "DR", "SCORE")
SCENARIOS = {"S1": S1, "S2": S2}
SEEDS = 10
RUNS = 5
"""Of what draws random numbers here: starts of the clusters, errors of IPSO-C."""
FOUR_DEGREES = 4.6
"""Student's t, 4 degrees of freedom, 99 %."""
COMPUTED = ("PIL", "DR", "SCORE")
OF_CENSUS = [
    "PTOTVAL == POTHVAL + PEARNVAL", "PEARNVAL <= PTOTVAL", "POTHVAL <= PTOTVAL", "INTVAL <= PTOTVAL",
    "EMCONTRB <= PTOTVAL", "FICA <= PEARNVAL", "FEDTAX <= TAXINC",
    *(f"{name} <= AGI" for name in ("TAXINC", "INTVAL", "EMCONTRB", "FEDTAX", "FICA", "STATETAX")),
]  # fmt: skip
"""All that hold in each of the 1,080 records; besides, every value is at least 0."""


def processes() -> ProcessPoolExecutor:
    """Processes with one thread of linear algebra: with more, losses of singular regressions differ in the digits."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"), initializer=one_thread)


@cache
def census() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "census.csv").astype(float)


@cache
def rules_of_census() -> list[str]:
    return [*OF_CENSUS, *(f"{name} >= 0" for name in census())]


def cells_of_the_example() -> Iterator[Cell]:
    for row in pd.read_csv(GOLDEN / "fcrm_example.csv", comment="#", dtype=str).to_dict("records"):
        for figure in FIGURES:
            yield cell(f"c = {row['c']}", figure, row[figure], None)


def cells_of_a_scenario(scenario: str) -> Iterator[Cell]:
    table = pd.read_csv(GOLDEN / "fcrm_and_ipso_published.csv", comment="#", dtype=str).fillna("")
    rows = table[table["scenario"] == scenario].to_dict("records")
    with processes() as pool:
        found = pool.map(_scores, [scenario] * len(rows), [row["method"] for row in rows], [row["c"] for row in rows])
        for row, runs in zip(rows, found, strict=True):
            for figure in FIGURES:
                if row[figure] in ("", "-"):
                    continue
                if figure not in COMPUTED:
                    yield cell(_label(row), figure, row[figure], None)
                    continue
                yield _of_runs(_label(row), figure, row[figure], runs[figure])


def _of_runs(label: str, figure: str, printed: str, runs: pd.Series) -> Cell:
    """The mean of our runs beside a figure of one run, with the interval of one more run.

    An interval that is wider than the mean itself holds nearly everything and shows nothing: none is stated.
    """
    scatter = 0.0
    if len(runs) > 1:
        scatter = FOUR_DEGREES * runs.std(ddof=1) * np.sqrt(1 + 1 / RUNS) + 0.5 * 10.0 ** -decimals(printed)
    return cell(label, figure, printed, runs.mean(), scatter=scatter if 2 * scatter <= abs(runs.mean()) else 0.0)


def _label(row: dict[str, str]) -> str:
    return f"{row['method']}, c = {row['c']}" if row["c"] else row["method"]


def _scores(scenario: str, method: str, c: str) -> pd.DataFrame:
    """Loss, risk and score of the dependents, one row for each run.

    In S2 the matrix to be inverted is singular: there the elimination of the project is part of the method.
    """
    data, own = census(), roles(census(), SCENARIOS[scenario])

    def masked(seed: int) -> pd.DataFrame:
        if method == "IPSO-B":
            named = {"variables": own["dependent"], "independent": own["independent"]}
            return burridge_b_as_programmed(data, **named, seed=1)
        if method.startswith("IPSO"):
            return protected(data, "ipso", seed, {"variant": method[-1], **own})
        if scenario == "S2":
            return regression_by_elimination(data, **own, c=int(c), seed=seed)
        return protected(data, "fuzzy_c_regression", seed, {"c": int(c), **own})

    runs = 1 if method in ("IPSO-A", "IPSO-B") else RUNS
    return pd.DataFrame([scored(data, masked(seed), own["dependent"]) for seed in range(runs)])


def cells_of_single_dependents() -> Iterator[Cell]:
    rows = pd.read_csv(GOLDEN / "fcrm_s3_published.csv", comment="#", dtype=str).to_dict("records")
    # There are 13 variables: no row beyond n = 12 can be what its head says.
    possible = [(int(row["c"]), int(row["n_independent"])) for row in rows if int(row["n_independent"]) <= 12]
    with processes() as pool:
        found = dict(zip(possible, pool.map(_single_dependents, *zip(*possible, strict=True)), strict=True))
    for row in rows:
        c, n = int(row["c"]), int(row["n_independent"])
        for figure in COMPUTED:
            name = f"c = {c}, n = {n}"
            if (c, n) in found:
                yield _of_runs(name, figure, row[figure], found[c, n][figure])
            else:
                yield cell(name, figure, row[figure], None)


def cells_of_the_surface() -> Iterator[Cell]:
    """Figure 7, drawn and not printed: c = 1 to 10, and as many independent variables as there are."""
    points = [(c, n) for c in range(1, 11) for n in range(1, 13)]
    with processes() as pool:
        tasks = (*zip(*points, strict=True), repeat(1), repeat(rules_of_census()))
        found = dict(zip(points, pool.map(_single_dependents, *tasks), strict=True))
    for figure in (*COMPUTED, f"DR, {EDITS_KNOWN}", f"SCORE, {EDITS_KNOWN}"):
        for c, n in points:
            yield cell(f"c = {c}", f"n = {n}", None, found[c, n][figure].iloc[0], group=figure)


def _single_dependents(c: int, n: int, starts: int = RUNS, edits: Sequence[str] = ()) -> pd.DataFrame:
    """Loss, risk and score, each the mean over 13 files with one dependent; one row for each start.

    A dependent that the independents determine is refused, as its values would come out as they were: these are
    measured.
    """
    data, names = census(), list(census().columns)
    runs = []
    for seed in range(starts):
        rows = []
        for position, name in enumerate(names):
            independent = [names[(position + step) % 13] for step in range(1, n + 1)]
            params = {"c": c, "dependent": [name], "independent": independent}
            try:
                rows.append(scored(data, protected(data, "fuzzy_c_regression", seed, params), [name], edits))
            except mw.InputError:
                rows.append(scored(data, data, [name], edits))
        runs.append(pd.DataFrame(rows).mean())
    return pd.DataFrame(runs)


REGRESSION = Paper(
    "fuzzy-c-regression",
    "Fuzzy c-regression (Cano and Torra 2009)",
    (
        Table("fcrm_table_1", "Table I, the example", SOURCE, cells_of_the_example),
        Table("fcrm_table_2", "Table II, scenario S1", SOURCE, lambda: cells_of_a_scenario("S1"), slow=True),
        Table("fcrm_table_3", "Table III, scenario S2", SOURCE, lambda: cells_of_a_scenario("S2"), slow=True),
    ),
)
DEGREE_PROJECT = Paper(
    "cano-degree-project",
    "Degree project on synthetic data (Cano)",
    (
        Table("cano_table_8", "Table 8, one dependent variable", PROJECT, cells_of_single_dependents, slow=True),
        Table(
            "cano_figure_7",
            "Figure 7, loss, risk and score over c and n",
            PROJECT,
            cells_of_the_surface,
            slow=True,
            printed=False,
        ),
    ),
)
