"""Tables 3.1 to 3.11 of Mateo-Sanz's thesis: how much of an interval survives the order-statistics attack."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maskwright_builtin.measures.attribute_disclosure.fitted_laws import Normal, Uniform, Weibull
from maskwright_builtin.measures.attribute_disclosure.order_statistics_attack import posterior_intervals

HERE = Path(__file__).parent
UNIFORM = pd.read_csv(HERE / "order_statistics_uniform.csv", comment="#")
SIMULATED = pd.read_csv(HERE / "order_statistics_simulated.csv", comment="#")
DATA_SETS = 250
LAWS = {"normal": Normal(), "weibull": Weibull(shape=1.5)}


def ratio(law, low, high, ranks, n, alpha):
    lower, upper = posterior_intervals(law, low, high, ranks, n, alpha)
    return float(100.0 * ((upper - lower) / (high - low)).mean())


def uniform_cell(statistic, k, n, j, alpha):
    """From the expected means of the groups, which the thesis takes for the real ones."""

    def mean(group):
        return (k * (2 * group - 1) + 1) / (2 * (n + 1))

    first, last = k * (j - 1) + 1, k * j
    ranks = {"q": np.arange(first, last + 1), "q1": np.array([first]), "q2": np.array([last])}[statistic]
    low, high = {"q": (j - 1, j + 1), "q1": (j - 1, j), "q2": (j, j + 1)}[statistic]
    ones = np.ones(len(ranks))
    return ratio(Uniform(), mean(low) * ones, mean(high) * ones, ranks, n, alpha)


def test_uniform_tables_to_the_printed_decimal():
    """431 of the 432 cells; table 3.2, alpha 0.1, G15%, k = 5, n = 400 is 89.62 and printed as 89.7."""
    wrong = []
    for row in UNIFORM.itertuples():
        for column in UNIFORM.columns[3:]:
            k, n = (int(part[1:]) for part in column.split("_"))
            percent = 0 if row.group == "G(1)" else int(row.group[1:-1])
            j = 2 if row.group == "G(1)" else max(3, ceil(percent / 100 * ceil(n / k)))
            found = uniform_cell(row.statistic, k, n, j, row.alpha)
            if abs(found - getattr(row, column)) > 0.05 + 1e-6:
                wrong.append((row.statistic, row.alpha, row.group, column, round(found, 2)))
    assert UNIFORM.iloc[:, 3:].size - UNIFORM.iloc[:, 3:].isna().sum().sum() == 432
    assert wrong == [("q1", 0.1, "G15%", "k5_n400", 89.62)]


@pytest.mark.parametrize(
    ("k", "n", "j", "q", "smallest", "largest"),
    [
        (3, 200, 2, (81.1508, 89.4651, 97.6116), (87.9560, 93.8640, 98.7529), (88.5282, 94.1880, 98.8245)),
        (5, 1000, 2, (73.2023, 82.8220, 94.6993), (86.0888, 92.7664, 98.5012), (87.7443, 93.7433, 98.7260)),
        (3, 200, 34, (89.4686, 94.7103, 98.9381), (89.8716, 94.9304, 98.9852), (89.8716, 94.9304, 98.9852)),
    ],
)
def test_uniform_reference_values(k, n, j, q, smallest, largest):
    """Test vectors of the specification 'Security of individual ranking', section 1.3."""
    for statistic, expected in (("q", q), ("q1", smallest), ("q2", largest)):
        for alpha, value in zip((0.1, 0.05, 0.01), expected, strict=True):
            assert uniform_cell(statistic, k, n, j, alpha) == pytest.approx(value, abs=6e-5)


def test_one_uniform_interval():
    low, high = np.array([0.00995025]), np.array([0.03980100])
    ends = posterior_intervals(Uniform(), low, high, np.array([5]), 200, 0.1)
    np.testing.assert_allclose(np.concatenate(ends), [0.01195178, 0.03666294], atol=1e-8)


@pytest.fixture(scope="module")
def simulated():
    """Our figures for every row: ratio of the mean posterior width to the mean certain width over 250 data sets."""
    rows = SIMULATED.copy()
    generator = np.random.default_rng(20261121)
    for (name, k, n), chosen in rows.groupby(["dist", "k", "n"]):
        if name == "normal":
            data = generator.normal(size=(DATA_SETS, n))
        else:
            data = generator.weibull(1.5, size=(DATA_SETS, n))
        data.sort(axis=1)
        m = n // k
        bounds = np.append(np.arange(m) * k, n)
        means = np.add.reduceat(data, bounds[:-1], axis=1) / np.diff(bounds)
        for index, row in chosen.iterrows():
            j = row.j - 1
            low, high = {"q1": (j - 1, j), "q2": (j, j + 1)}.get(row.stat, (j - 1, j + 1))
            certain = means[:, high] - means[:, low]
            if row.stat == "width":
                rows.loc[index, "ours"] = certain.mean()
                continue
            ranks = {"q1": [bounds[j] + 1], "q2": [bounds[j + 1]]}.get(
                row.stat, range(bounds[j] + 1, bounds[j + 1] + 1)
            )
            widths = []
            for rank in ranks:
                ends = posterior_intervals(
                    LAWS[name], means[:, low], means[:, high], np.full(DATA_SETS, rank), n, row.alpha
                )
                widths.append((ends[1] - ends[0]).mean())
            rows.loc[index, "ours"] = 100 * np.mean(widths) / certain.mean()
    return rows


def test_simulated_tables_agree_with_the_recomputation(simulated):
    """Both are simulations of skewed quantities: differences in units of their standard error, over 1092 cells."""
    error = simulated.se50 * np.sqrt(50 / DATA_SETS + 50 / 2000) + 5e-5
    distance = np.abs(simulated.ours - simulated.recomputed) / error
    assert (distance < 3).mean() >= 0.98
    assert (distance < 6).all()


@pytest.mark.parametrize(
    ("table", "within"),
    [(4, 1.0), (5, 1.0), (6, 0.98), (7, 0.97), (8, 0.97), (9, 1.0), (10, 0.98), (11, 0.93)],
)
def test_simulated_tables_agree_with_the_print_as_well_as_the_recomputation_does(simulated, table, within):
    """Share of cells within three standard errors of a run of 50 data sets, as the specification grades each table."""
    cells = simulated[simulated.table == table]
    rounding = 0.005 if table in (4, 8) else 0.05
    near = np.abs(cells.thesis - cells.ours) <= 3 * cells.se50 * np.sqrt(1 + 50 / DATA_SETS) + rounding
    assert near.mean() >= within - 0.02
