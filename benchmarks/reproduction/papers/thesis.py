"""Mateo-Sanz thesis: its pages, and tables A.1 to A.5 of its comparison of 215 variants."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import yaml
from grades import STOCHASTIC, columns_of, parameter_of, reach_of_readings
from tables import GOLDEN, HERE, REFERENCE, Cell, Paper, Table, cell

from maskwright.experiments.compare import compare
from papers import last_groups, order_statistics, variable_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "Mateo-Sanz, doctoral thesis (in Catalan), Appendix A"
FOLDER = Path("thesis")
"""The experiment runs here, and goes on where it was stopped."""
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


@cache
def runs() -> pd.DataFrame:
    """Results of all runs of the experiment."""
    return _compared(FOLDER, (HERE / "thesis.yaml").read_text(), pd.read_csv(REFERENCE / "census.csv"))


@cache
def runs_in_reverse() -> pd.DataFrame:
    """Results of microaggregation on the file with its records in reverse: ties are cut the other way."""
    described = yaml.safe_load((HERE / "thesis.yaml").read_text())
    described["grid"] = [family for family in described["grid"] if family["family"].startswith("Mic")]
    return _compared(FOLDER / "reverse", yaml.safe_dump(described), pd.read_csv(REFERENCE / "census.csv").iloc[::-1])


def _compared(folder: Path, experiment: str, census: pd.DataFrame) -> pd.DataFrame:
    folder.mkdir(exist_ok=True)
    census.to_csv(folder / "census.csv", index=False)
    (folder / "thesis.yaml").write_text(experiment)
    found = compare(folder / "thesis.yaml", draw=False).runs
    return found.assign(parameter=parameter_of(found))


def printed() -> pd.DataFrame:
    table = pd.read_csv(GOLDEN / "thesis_tables_a1_to_a5.csv", comment="#", dtype=str)
    return table.assign(family=table["family"].replace({"rank_swapping": "Rank"}))


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
            yield cell(row["code"], name, row[name], values.mean(), tolerance=tolerance, scatter=scatter, group=family)


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
        slow=True, by_group=True,
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
    return runs().query("family == @family").groupby("parameter", dropna=False)["mg"].mean()


BEST = Table(
    "thesis_best", "Chapter 6, the best parameter of each family", SOURCE.replace("Appendix A", "chapter 6"),
    cells_of_the_best, slow=True,
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
