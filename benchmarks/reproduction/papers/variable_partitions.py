"""Mateo-Sanz thesis, chapters 4, 7 and 8: counting and grouping variables, and what correlations tell of a grouping."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from grades import reach_of_readings
from partitions import READINGS, RNG, SHAPES, correlations, indicators, of_the_thesis
from tables import GOLDEN, REFERENCE, Cell, Table, as_printed, cell

from maskwright import Block, Variable, find_partition
from maskwright.experiments.advice.variable_partitions import block_sizes, count_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "Mateo-Sanz, doctoral thesis (in Catalan)"
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


def cells_of_distances() -> Iterator[Cell]:
    """Section 4.5: the printed formulas beside the distances that each step of the algorithms computes."""
    for n, k in ((13, 3), (270, 3), (540, 3), (1080, 3), (1080, 10)):
        for name, formula in (("DM", _distances_of_dm), ("DMM", _distances_of_dmm)):
            yield cell(f"n = {n}, k = {k}", name, str(round(formula(n, k))), counted_distances(name, n, k))


def _distances_of_dm(n: int, k: int) -> Fraction:
    t, sixths = n % (2 * k), Fraction(1, 12 * k)
    rest = Fraction(
        2 * t**3 + 9 * t**2 + 24 * k**2 + 6 * k * t**2 + 4 * k**2 * t + 30 * t * k - 36 * t - 24 * k, 24 * k
    )
    linear = (2 * k**2 - 2 * k * t + 3 * k + 2 * t - 18) * n
    return sixths * n**3 + Fraction((2 * k + 3) * n**2, 8 * k) + sixths * linear - rest


def _distances_of_dmm(n: int, k: int) -> Fraction:
    t = n % (2 * k)
    rest = Fraction(3 * t**2 + 4 * k**2 + 8 * k * t - 4 * t - 4 * k, 4 * k)
    return Fraction(3 * n**2, 4 * k) + Fraction((k - 1) * n, k) - rest


def counted_distances(name: str, n: int, k: int) -> int:
    """Distances that are computed while two groups at a time are taken from n records, and none is kept."""
    count = 0
    while n >= 2 * k:
        # DM finds the two records that are farthest apart; DMM the one farthest from the mean.
        count += n * (n - 1) // 2 if name == "DM" else n
        if n < 4 * k:
            # The neighbours of the first record; what is left is the second group.
            return count + n - (2 if name == "DM" else 1)
        count += (n - 2 if name == "DM" else n - 1) + (n - k - 1)
        n -= 2 * k
    return count


def cells_of_counts() -> Iterator[Cell]:
    for variant, (sizes, printed) in COUNTS.items():
        yield cell(f"{variant}, blocks of {' + '.join(map(str, sizes))}", "", printed, count_partitions(sizes))


@cache
def census() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "census.csv")


@cache
def measured() -> dict[tuple[str, int, str], pd.DataFrame]:
    """Measures of every partition into one or two blocks, by variant, k and reading of the last step."""
    found = of_the_thesis(census(), {**SHAPES, "Micmul": (13,)}, [3, 10, 20])
    return dict(tuple(found.groupby(["variant", "k", "last"])))


def cells_of_chapter_7() -> Iterator[Cell]:
    table = pd.read_csv(GOLDEN / "thesis_tables_7_1_to_7_15.csv", comment="#", dtype=str).fillna("")
    for (number, measure, k), rows in table.groupby(["table", "measure", "k"], sort=False):
        group = f"Table {number}, {measure}, k = {k}"
        found = [
            {
                variant: _described(measured()[variant, int(k), last][measure])
                for variant in rows["variant"]
                if (variant, int(k), last) in measured()
            }
            for last in READINGS
        ]
        for row in rows.to_dict("records"):
            for figure in ("mean", "min", "max", "sd"):
                if not row[figure]:
                    continue
                printed = as_printed(row[figure], 2)
                if row["variant"] not in found[0]:
                    yield Cell(row["variant"], figure, printed, "open", group=group)
                    continue
                readings = [[each[figure] for each in of.values() if not np.isnan(each[figure])] for of in found]
                ours = found[0][row["variant"]][figure]
                yield cell(row["variant"], figure, printed, ours, tolerance=reach_of_readings(*readings), group=group)


def _described(values: pd.Series) -> dict[str, float]:
    return {"mean": values.mean(), "min": values.min(), "max": values.max(), "sd": values.std()}


def cells_of_appendix_b() -> Iterator[Cell]:
    as_text = dict.fromkeys(("rel_sum", *SHAPES), str)
    table = pd.read_csv(GOLDEN / "thesis_appendix_b_k10.csv", comment="#", dtype=as_text)
    codes = list(table[["A", "B"]].drop_duplicates().itertuples(index=False, name=None))
    readings: list[dict[str, dict[tuple[int, int, str], float]]] = [{} for _ in READINGS]
    for variant in SHAPES:
        of_readings = [measured()[variant, 10, last] for last in READINGS]
        known = indicators(census(), list(of_readings[0]["blocks"]), codes)
        for reading, found in zip(readings, of_readings, strict=True):
            reading[variant] = correlations(known, found, codes)
    for measure, rows in table.groupby("measure", sort=False):
        for column in (*SHAPES, "rel_sum"):
            printed = rows.dropna(subset=column).to_dict("records")
            text, other = (
                [_correlation(found, column, (row["A"], row["B"], measure), codes) for row in printed]
                for found in readings
            )
            tolerance = reach_of_readings(text, other)
            group = f"{measure}, {column.replace('rel_sum', 'relative sum')}"
            for row, ours in zip(printed, text, strict=True):
                name = f"{row['A']}-{row['B']}"
                yield cell(name, "", as_printed(row[column], 4), ours, tolerance=tolerance, group=group)


def _correlation(
    found: dict[str, dict[tuple[int, int, str], float]], column: str, key: tuple[int, int, str],
    codes: list[tuple[int, int]],
) -> float:  # fmt: skip
    """Correlation over the partitions of a shape, or the sum over shapes of those relative to the largest of each."""
    if column in found:
        return found[column][key]
    largest = {shape: np.nanmax([abs(of[a, b, key[2]]) for a, b in codes]) for shape, of in found.items()}
    return float(np.nansum([of[key] / largest[shape] for shape, of in found.items()]))


TABLES = (
    Table(
        "thesis_4_4", "Section 4.4, groups of nine points by DM and DMM", f"{SOURCE}, chapter 4", cells_of_the_example
    ),
    Table(
        "thesis_4_5", "Section 4.5, distances that DM and DMM compute", f"{SOURCE}, chapter 4", cells_of_distances
    ),
    Table("thesis_7_counts", "Section 7.1, partitions of 13 variables", f"{SOURCE}, chapter 7", cells_of_counts),
    Table(
        "thesis_7", "Tables 7.1 to 7.15, measures over all partitions", f"{SOURCE}, chapter 7", cells_of_chapter_7,
        slow=True, by_group=True, shares="partitions",
    ),
    Table(
        "thesis_b", "Tables B.1 to B.5, correlations of indicators and measures, k = 10", f"{SOURCE}, Appendix B",
        cells_of_appendix_b, slow=True, by_group=True, shares="partitions",
    ),
)  # fmt: skip
