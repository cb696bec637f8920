"""Rows of the Mateo-Sanz thesis, made by the methods as a user calls them; in the thesis's pairing.

Figures: thesis, Appendix A, tables A.1 to A.5 (two printed decimals). Microaggregation is exact; DMM rows of which the
text's last step gives other figures (7, 12 and more) come from the partition's ``last: opposite``. Stochastic rows have
to lie where a further run would, given twelve runs; the thesis states no seed. In JPEG, levels and
values are cut, not rounded.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import maskwright as mw

HERE = Path(__file__).parent
MULTIVARIATE = pd.read_csv(HERE / "thesis_multivariate_microaggregation.csv").set_index("code")
PROJECTED = pd.read_csv(HERE / "thesis_projected_microaggregation.csv").set_index("code")
PRINTED = 0.02
RUNS = 12
STOCHASTIC = [
    # PI, ERD, ICN, ICD, MG of table A.1.
    ("rank_swapping", {"p": 7}, {"PI": 13.56, "ERD": 37.33, "ICN": 66.55, "ICD": 25.76, "MG": 27.65}),
    ("additive_noise", {"p": 0.06}, {"PI": 21.17, "ERD": 73.90, "ICN": 84.16, "ICD": 59.34, "MG": 47.00}),
    ("resampling", {"t": 3}, {"PI": 2.97, "ERD": 82.13, "ICN": 98.36, "ICD": 85.13, "MG": 44.95}),
]


# Many persons have the same wages, and their mean is what they have.
TIES = [
    {"doubt": "values-unchanged", "variable": ["PEARNVAL", "WSALVAL", "ERNVAL", "FICA"], "because": "so it is printed"}
]


@pytest.fixture(scope="module")
def table(reference: Path) -> pd.DataFrame:
    """Without a published grid: the thesis did not round."""
    return pd.read_csv(reference / "census.csv").astype(np.float64)


def thesis_measures(table: pd.DataFrame, masked: pd.DataFrame) -> dict[str, float]:
    found = mw.measure(table, masked, [{"mg": {"pairing": "nearest"}}])["mg"]
    return {"MG": found.value, **found.parts}


def assert_printed(measured: dict[str, float], row: pd.Series) -> None:
    linked = [measured[f"ERD-{number}"] for number in range(1, 8)]
    assert linked == pytest.approx(row.filter(like="ERD_").tolist(), abs=PRINTED)
    assert measured["PI1"] == pytest.approx(row["PI1"], abs=PRINTED)
    assert measured["MG"] == pytest.approx(row["MG"], abs=0.01)


@pytest.mark.parametrize("code", MULTIVARIATE.index)
def test_maximum_distance_to_the_mean_in_groups_of_variables(code: str, table: pd.DataFrame) -> None:
    """Mic2mul to Mic6mul and Micmul: consecutive variables, the last group takes the remainder."""
    row = MULTIVARIATE.loc[code]
    size = row["group_size"] if row["group_size"] == "all" else int(row["group_size"])
    params = {"k": int(row["k"]), "partition": {"mdav": {"last": row["last"]}}, "group_size": size}
    measured = thesis_measures(table, mw.protect(table, "microaggregation", seed=1, params=params, waive=TIES))
    assert_printed(measured, row)
    for name in ("ICN", "ICD"):
        assert measured[name] == pytest.approx(row[name], abs=PRINTED)


@pytest.mark.parametrize("code", ["micz03", "micz07", "micz20", "micp03", "micp11", "micp19"])
def test_sum_of_z_scores_and_rotated_factor(code: str, table: pd.DataFrame) -> None:
    onto = {"micz": "z_scores", "micp": "rotated_factor"}[code[:4]]
    row = PROJECTED.loc[code]
    params = {"k": int(row["k"]), "partition": {"projection": {"onto": onto}}, "group_size": "all"}
    assert_printed(
        thesis_measures(table, mw.protect(table, "microaggregation", seed=1, params=params, waive=TIES)), row
    )


def test_individual_ranking(table: pd.DataFrame) -> None:
    """Row micir03; its covariances hang on ties, and are not compared."""
    masked = mw.protect(table, "individual_ranking", seed=1, params={"k": 3, "groups": "fixed"}, waive=TIES)
    measured = thesis_measures(table, masked)
    expected = {"PI1": 0.76, "MG": 47.63} | dict(
        zip([f"ERD-{number}" for number in range(1, 8)], [33.33, 99.07, 99.81, 99.91, 100, 100, 100], strict=True)
    )
    assert {name: measured[name] for name in expected} == pytest.approx(expected, abs=PRINTED)


@pytest.mark.parametrize(("method", "params", "printed"), STOCHASTIC)
def test_stochastic_rows_are_where_a_run_may_lie(
    method: str, params: dict[str, float], printed: dict[str, float], table: pd.DataFrame
) -> None:
    """Inside the 99 % interval that twelve runs predict for another one."""
    runs = pd.DataFrame(
        [thesis_measures(table, mw.protect(table, method, seed=seed, params=params)) for seed in range(RUNS)]
    )
    reach = stats.t.ppf(0.995, RUNS - 1) * np.sqrt(1.0 + 1.0 / RUNS)
    for name, value in printed.items():
        assert abs(runs[name].mean() - value) <= reach * runs[name].std(), name


def test_the_jpeg_row_is_reproduced(table: pd.DataFrame) -> None:
    """Levels and values are cut, not rounded: Tables A.1 and A.2, quality 55."""
    masked = mw.protect(table, "lossy_compression", seed=1, params={"quality": 55, "truncate": True})
    found = mw.measure(table, masked, [{"mg": {"pairing": "nearest"}}])["mg"]
    printed = {"PI": 56.43, "ERD": 20.20, "ICN": 50.35, "ICD": 17.27}
    assert {name: round(found.parts[name], 2) for name in printed} == printed
    assert found.value == pytest.approx(41.71, abs=0.01)
