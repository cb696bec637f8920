"""Mateo-Sanz thesis: its pages, and tables A.1 to A.5 of its comparison of 215 variants."""

from __future__ import annotations

import math
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import yaml
from grades import STOCHASTIC, columns_of, parameter_of, reach_of_readings
from tables import GOLDEN, HERE, REFERENCE, Cell, Paper, Table, cell

import maskwright as mw
from maskwright import Block, Variable, find_partition
from maskwright.experiments.compare import compare
from papers import last_groups, order_statistics, variable_partitions
from papers.synthetic_data import census

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import FloatArray

SOURCE = "Mateo-Sanz, doctoral thesis (in Catalan), Appendix A"
EXPERIMENT = "thesis.yaml"
OPPOSITE = ", opposite"
"""Ends the name of a family in the other reading of its last step."""
TITLES = {
    1: "summary", 2: "information loss", 3: "record linkage", 4: "rank intervals",
    5: "intervals of standard deviations",
}  # fmt: skip
COLUMNS = {
    1: ("PI", "ERD", "ICN", "ICD", "MG"),
    2: ("PI1", "PI2", "PI3", "PI4", "PI5"),
    3: tuple(f"ERD_{number}" for number in range(1, 8)),
    4: tuple(f"ICN_{number}" for number in range(1, 11)),
    5: tuple(f"ICD_{number}" for number in range(1, 11)),
}

SUMS = {"PI4": 1.0, "PI": 1 / 6, "MG": 1 / 12}
"""Columns in which covariances are, and by what share (PI4 of Table A.2 is PI3 of the text)."""


@cache
def runs() -> pd.DataFrame:
    """Results of all runs of the experiment."""
    return _compared((HERE / EXPERIMENT).read_text(), pd.read_csv(REFERENCE / "census.csv"))


@cache
def runs_in_reverse() -> pd.DataFrame:
    """Results of microaggregation on the file with its records in reverse: ties are cut the other way."""
    described = yaml.safe_load((HERE / EXPERIMENT).read_text())
    described["grid"] = [family for family in described["grid"] if family["family"].startswith("Mic")]
    return _compared(yaml.safe_dump(described), pd.read_csv(REFERENCE / "census.csv").iloc[::-1])


def _compared(experiment: str, census: pd.DataFrame) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        census.to_csv(folder / "census.csv", index=False)
        (folder / EXPERIMENT).write_text(experiment)
        found = compare(folder / EXPERIMENT, draw=False).runs
    return found.assign(parameter=parameter_of(found))


def printed() -> pd.DataFrame:
    table = pd.read_csv(GOLDEN / "thesis_tables_a1_to_a5.csv", comment="#", dtype=str)
    return table.assign(family=table["family"].replace({"rank_swapping": "Rank"}))


def families() -> list[dict[str, Any]]:
    """Families of the experiment that the tables have."""
    grid = yaml.safe_load((HERE / EXPERIMENT).read_text())["grid"]
    return [family for family in grid if family["family"] in set(printed()["family"])]


def parameters(family: dict[str, Any]) -> list[dict[str, Any]]:
    """What varies in a family, for each of its versions."""
    for name, values in family.get("vary", {}).items():
        every = range(values["from"], values["to"] + 1) if isinstance(values, dict) else values
        return [{name: value} for value in every]
    return [{}]


def released(
    data: pd.DataFrame, family: dict[str, Any], varied: dict[str, Any], edits: Sequence[Any] = ()
) -> pd.DataFrame:
    """What a family of an experiment makes of data whose decimals are free; every doubt is waived."""
    params = {**family.get("params", {}), **varied}
    step = {"method": family["method"], "params": params, "variables": list(data)}
    step |= {key: family[key] for key in ("groups",) if key in family}
    because = "figures of a paper: nothing of it is released"
    kinds = ("follows-from-published", "step-changed-nothing", "values-unchanged")
    waived: list[dict[str, Any]] = [{"doubt": kind, "variable": list(data), "because": because} for kind in kinds]
    waived += [{"doubt": "method-warned", "step": 1, "because": because}]
    free = {name: {"type": "continuous", "decimals": 9} for name in data}
    return mw.protect(data, steps=[step], edits=edits, seed=1, declared=free, waive=waived)


def in_single_precision(values: FloatArray) -> FloatArray:
    """Covariances as the program of the thesis added them up: in one pass, in the order of its file."""
    one, single = np.float32(1), values.astype(np.float32)
    n = np.float32(len(single))
    totals = np.add.accumulate(single, dtype=np.float32)[-1]
    products = np.add.accumulate(single[:, :, None] * single[:, None, :], dtype=np.float32)[-1]
    return np.asarray((products - np.outer(totals, totals) / n) / (n - one), dtype=float)


@cache
def rounding() -> dict[tuple[str, float], float]:
    """By how much single precision changes the mean change of covariances, by family and parameter."""
    data = census()
    above = np.triu_indices(data.shape[1], 1)
    result = {}
    for family in families():
        if family["family"] in STOCHASTIC:
            continue
        for varied in parameters(family):
            masked = released(data, family, varied).to_numpy()[_order(family)]
            change = []
            for of in (in_single_precision, lambda values: np.cov(values.T)):
                old, new = of(data.to_numpy())[above], of(masked)[above]
                change.append(100.0 * np.mean(np.abs(new - old) / np.abs(old)))
            result[family["family"], float(next(iter(varied.values())))] = change[0] - change[1]
    return result


def _order(family: dict[str, Any]) -> np.ndarray:
    """Order of the records in the masked file: methods that sort them leave them so."""
    partition = family["params"].get("partition")
    if not isinstance(partition, dict) or "projection" not in partition:
        return np.arange(len(census()))
    values = census().to_numpy()
    block = Block(
        values, np.zeros(values.shape, bool), tuple(map(Variable, census())),
        center=values.mean(axis=0), scale=values.std(axis=0, ddof=1),
    )  # fmt: skip
    projection = find_partition("projection")
    params = projection.params.model_validate(partition["projection"])
    return np.argsort(projection.cluster(block, 1, params, np.random.default_rng(0)))


def cells_of_appendix_a(number: int) -> Iterator[Cell]:
    by_name = columns_of(runs())
    grouped = dict(tuple(runs().groupby(["family", runs()["parameter"].fillna(0)])))
    for row in printed().to_dict("records"):
        family = row["family"]
        parameter = float(row["parameter"]) if isinstance(row["parameter"], str) else 0.0
        found = grouped[family, parameter]
        for name in COLUMNS[number]:
            values = found[by_name[name]]
            # The interval of one more run, which is what the thesis has (Student's t, 49 degrees of freedom, 99 %).
            scatter = 2.68 * values.std(ddof=1) * np.sqrt(1 + 1 / len(values)) + 0.005 if family in STOCHASTIC else 0.0
            tolerance = _reach(family, by_name[name])
            ours = values.mean() + SUMS.get(name, 0.0) * rounding().get((family, parameter), 0.0)
            yield cell(row["code"], name, row[name], ours, tolerance=tolerance, scatter=scatter, group=family)


@cache
def _reach(family: str, column: str) -> float:
    """How far a column of microaggregation moves with what the thesis leaves open: ties, and the last step of DMM."""
    if not family.startswith("Mic"):
        return 0.0

    def of(found: pd.DataFrame, name: str) -> pd.Series:
        return found.query("family == @name").set_index("parameter")[column]

    one, other = of(runs(), family), of(runs(), family + OPPOSITE)
    ties = reach_of_readings(one, of(runs_in_reverse(), family)[one.index])
    return math.hypot(ties, reach_of_readings(one, other[one.index])) if len(other) else ties


def table(number: int) -> Table:
    return Table(
        f"thesis_a{number}", f"Table A.{number}, {TITLES[number]}", SOURCE, lambda: cells_of_appendix_a(number),
        slow=True, by_group=True, shares=EXPERIMENT,
    )  # fmt: skip


def cells_of_the_best() -> Iterator[Cell]:
    """Parameter with the least score of each family, printed and ours, and its score."""
    table = printed()
    for family, rows in table.groupby("family", sort=False):
        found = _scores(family)
        if len(rows) == 1:
            continue
        least = rows.loc[rows["MG"].astype(float).idxmin()]
        yield cell(family, "parameter", f"{float(least['parameter']):.0f}", found.idxmin())
        # The least of several single runs is no figure that means of 50 runs have.
        if family not in STOCHASTIC:
            yield cell(family, "MG", least["MG"], found.min(), tolerance=_reach(family, "mg"))


def _scores(family: str) -> pd.Series:
    """Mean score of a family by its parameter."""
    found = runs().query("family == @family").groupby("parameter", dropna=False)["mg"].mean()
    return found + [SUMS["MG"] * rounding().get((family, parameter), 0.0) for parameter in found.index]


BEST = Table(
    "thesis_best", "Chapter 6, the best parameter of each family", SOURCE.replace("Appendix A", "chapter 6"),
    cells_of_the_best, slow=True, shares=EXPERIMENT,
)  # fmt: skip
METHODS = Paper(
    "thesis-methods-and-measures",
    "Doctoral thesis: methods and measures (Mateo-Sanz)",
    (*(table(number) for number in COLUMNS), BEST, last_groups.TABLE, *variable_partitions.TABLES[:2]),
)
SECURITY = Paper(
    "thesis-security-and-grouping",
    "Doctoral thesis: security and grouping (Mateo-Sanz)",
    (*order_statistics.TABLES, *variable_partitions.TABLES[2:]),
)
