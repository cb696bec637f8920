"""Mateo-Sanz thesis, chapters 4, 7 and 8: counting and grouping variables, and what correlations tell of a grouping."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from partitions import RNG, SHAPES, Masks, figures
from tables import GOLDEN, REFERENCE, Cell, Table, as_printed, cell

from maskwright import Block, Variable, find_partition
from maskwright.experiments.advice.variable_partitions import block_sizes, coded, count_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "Mateo-Sanz, doctoral thesis (in Catalan)"
PROTOCOL = "thesis-protocol"
COUNTS = {
    "Mic1-12mul": ((1, 12), "13"), "Mic2-11mul": ((2, 11), "78"), "Mic3-10mul": ((3, 10), "286"),
    "Mic4-9mul": ((4, 9), "715"), "Mic5-8mul": ((5, 8), "1287"), "Mic6-7mul": ((6, 7), "1716"),
    "Mic4mul": (block_sizes(13, 4), "45045"), "Mic3mul": (block_sizes(13, 3), "200200"),
    "Mic2mul": (block_sizes(13, 2), "270270"), "Micmul": ((13,), "1"),
}  # fmt: skip
POINTS = [(0, 3), (-2.1, 0), (2, 0), (-0.5, -0.6), (-0.4, -0.5), (-0.25, -0.5), (0.25, -0.6), (0.4, -0.6), (0.6, -0.2)]
# Group of X1 to X9, by the least record in it.
EXAMPLE = {"maximum_distance": (1, 2, 3, 2, 2, 1, 1, 3, 3), "mdav": (1, 2, 3, 2, 2, 1, 3, 3, 1)}
NAMES = {"maximum_distance": "DM", "mdav": "DMM"}
HALF_A_POINT = 0.5
OF_A_CORRELATION = 0.02


def cells_of_the_example() -> Iterator[Cell]:
    """Section 4.4: nine points, k = 3, not standardised."""
    values = np.array(POINTS, float)
    names = (Variable("x"), Variable("y"))
    block = Block(values, np.zeros(values.shape, bool), names, center=np.zeros(2), scale=np.ones(2))
    for name, printed in EXAMPLE.items():
        partition = find_partition(name)
        labels = partition.cluster(block, 3, partition.params(), RNG)
        least = {label: int(np.flatnonzero(labels == label)[0]) + 1 for label in set(labels)}
        numbers = {first: number for number, first in enumerate(sorted(least.values()), 1)}
        for record, (group, label) in enumerate(zip(printed, labels, strict=True), 1):
            yield cell(NAMES[name], f"X{record}", group, numbers[least[label]])


def cells_of_counts() -> Iterator[Cell]:
    for variant, (sizes, printed) in COUNTS.items():
        yield cell(f"{variant}, blocks of {' + '.join(map(str, sizes))}", "", printed, count_partitions(sizes))


@cache
def census() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "census.csv")


@cache
def measured(k: int) -> pd.DataFrame:
    """Measures of every partition into one or two blocks of which the smaller one has at most three variables."""
    return figures(census(), Masks(census()), {**SHAPES, "Micmul": (13,)}, [k], (PROTOCOL,))


def cells_of_chapter_7() -> Iterator[Cell]:
    table = pd.read_csv(GOLDEN / "thesis_tables_7_1_to_7_15.csv", comment="#", dtype=str).fillna("")
    for row in table.to_dict("records"):
        group = f"Table {row['table']}, {row['measure']}, k = {row['k']}"
        found = measured(int(row["k"])).query("variant == @row['variant']")[row["measure"]]
        for figure in ("mean", "min", "max", "sd"):
            if not row[figure]:
                continue
            printed = as_printed(row[figure], 2)
            if found.empty:
                yield Cell(row["variant"], figure, printed, "open", group=group)
                continue
            ours = {"mean": found.mean, "min": found.min, "max": found.max, "sd": found.std}[figure]()
            yield cell(row["variant"], figure, printed, ours, tolerance=HALF_A_POINT, group=group)


def cells_of_appendix_b() -> Iterator[Cell]:
    table = pd.read_csv(GOLDEN / "thesis_appendix_b_k10.csv", comment="#", dtype={"thesis_corr": str})
    table = table[table["protocol"] == PROTOCOL]
    correlation = np.corrcoef(census().to_numpy(float).T)
    for (variant, measure), rows in table.groupby(["variant", "measure"], sort=False):
        found = measured(10).query("variant == @variant")
        for row in rows.dropna(subset="thesis_corr").to_dict("records"):
            indicator = np.array([coded(correlation, blocks, row["A"], row["B"]) for blocks in found["blocks"]])
            varies = np.std(indicator) > 1e-9 and not np.isnan(indicator).any()
            ours = float(np.corrcoef(indicator, found[measure])[0, 1]) if varies else None
            name = f"{row['A']}-{row['B']}"
            printed = as_printed(row["thesis_corr"], 4)
            yield cell(name, "", printed, ours, tolerance=OF_A_CORRELATION, group=f"{measure}, {variant}")


TABLES = (
    Table(
        "thesis_4_4", "Section 4.4, groups of nine points by DM and DMM", f"{SOURCE}, chapter 4", cells_of_the_example
    ),
    Table("thesis_7_counts", "Section 7.1, partitions of 13 variables", f"{SOURCE}, chapter 7", cells_of_counts),
    Table(
        "thesis_7", "Tables 7.1 to 7.15, measures over all partitions", f"{SOURCE}, chapter 7", cells_of_chapter_7,
        slow=True, by_group=True,
    ),
    Table(
        "thesis_b", "Tables B.1 to B.5, correlations of indicators and measures, k = 10", f"{SOURCE}, Appendix B",
        cells_of_appendix_b, slow=True, by_group=True,
    ),
)  # fmt: skip
