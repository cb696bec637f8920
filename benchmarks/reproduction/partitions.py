"""All partitions of the Census variables into two blocks, and what correlations say of them.

``python benchmarks/reproduction/partitions.py``: tables 7.1 to 7.15 of the Mateo-Sanz thesis and its Appendix B beside
computed figures, with every masked record paired with the nearest original, as in the thesis, and with its own. A block
is masked once for each k, whatever partitions it is in. All six shapes and three k take some ten minutes.

The thesis programs the last step of its grouping otherwise than it describes it: both readings can be computed, and
how far a figure moves from one to the other is all the tolerance it gets.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from tables import one_thread

from maskwright import Block, Column, Comparison, Dataset, Variable, find_measure, find_partition
from maskwright.experiments.advice.standardisation import Standardised
from maskwright.experiments.advice.variable_partitions import coded, partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

TESTS = Path(__file__).resolve().parents[2] / "tests"
SHAPES = {f"Mic{size}-{13 - size}mul": (size, 13 - size) for size in range(1, 7)}
MEASURES = ("PI", "ERD", "ICN", "ICD", "MG")
PAIRINGS = ("nearest", "identity")
"""Original with which a masked record is compared; the thesis takes the nearest one."""
READINGS = ("farthest", "opposite")
"""Record around which one of the last two clusters is made: as the text has it, and as most of its figures have it."""
RNG = np.random.default_rng(0)


class Masks:
    """Masked columns of blocks, each made once."""

    def __init__(self, census: pd.DataFrame, last: str = READINGS[0]) -> None:
        self.values = census.to_numpy(float)
        self._variables = tuple(Variable(name) for name in census)
        self._scale, self._center = self.values.std(axis=0, ddof=1), self.values.mean(axis=0)
        self._mdav = find_partition("mdav")
        self._params = self._mdav.params.model_validate({"last": last})
        self._known: dict[tuple[tuple[int, ...], int], np.ndarray] = {}

    def masked(self, blocks: tuple[tuple[int, ...], ...], k: int) -> np.ndarray:
        """Masked file of a partition."""
        result = np.empty_like(self.values)
        for block in blocks:
            if (block, k) not in self._known:
                self._known[block, k] = self._block(list(block), k)
            result[:, list(block)] = self._known[block, k]
        return result

    def _block(self, block: list[int], k: int) -> np.ndarray:
        values = np.ascontiguousarray(self.values[:, block])
        part = Block(
            values, np.zeros(values.shape, bool), tuple(self._variables[each] for each in block),
            center=self._center[block], scale=self._scale[block],
        )  # fmt: skip
        labels = self._mdav.cluster(part, k, self._params, RNG)
        sizes = np.bincount(labels)
        means = np.stack([np.bincount(labels, column) / sizes for column in values.T], axis=1)
        return means[labels]

    def __len__(self) -> int:
        return len(self._known)


def measured(original: Dataset, names: tuple[str, ...], masked: np.ndarray, pairing: str) -> dict[str, float]:
    """PI, ERD, ICN, ICD and MG of a masked file."""
    measure = find_measure("mg")
    params = measure.params.model_validate({"pairing": pairing})
    found = measure.compute(Comparison(original, dataset(masked, names), names), params, RNG)
    return {**{name: found.parts[name] for name in MEASURES[:-1]}, "MG": found.value}


def dataset(values: np.ndarray, names: tuple[str, ...]) -> Dataset:
    present = np.zeros(len(values), bool)
    return Dataset(
        tuple(Column(Variable(name), values[:, each].copy(), present.copy()) for each, name in enumerate(names))
    )


def figures(
    census: pd.DataFrame, masks: Masks, shapes: dict[str, tuple[int, ...]], ks: list[int],
    pairings: tuple[str, ...] = PAIRINGS,
) -> pd.DataFrame:  # fmt: skip
    """Measures of every partition of some shapes, one row for each k and pairing."""
    names = tuple(census.columns)
    original = dataset(census.to_numpy(float), names)
    rows = []
    for shape, k in itertools.product(shapes, ks):
        for blocks in partitions(shapes[shape]):
            masked = masks.masked(blocks, k)
            for pairing in pairings:
                found = measured(original, names, masked, pairing)
                rows.append({"variant": shape, "k": k, "blocks": blocks, "pairing": pairing, **found})
    return pd.DataFrame(rows)


def of_the_thesis(census: pd.DataFrame, shapes: dict[str, tuple[int, ...]], ks: list[int]) -> pd.DataFrame:
    """Figures under the thesis's pairing in both readings of its last step, computed in processes."""
    tasks = [(census, k, last, shapes) for k in ks for last in READINGS]
    count = min(len(tasks), os.cpu_count() or 1)
    # Threads of processes that share the processors would only wait for each other.
    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=one_thread) as pool:
        return pd.concat(list(pool.map(_of_one_reading, tasks)), ignore_index=True)


def _of_one_reading(task: tuple[pd.DataFrame, int, str, dict[str, tuple[int, ...]]]) -> pd.DataFrame:
    census, k, last, shapes = task
    return figures(census, Masks(census, last), shapes, [k], PAIRINGS[:1]).assign(last=last)


def indicators(
    census: pd.DataFrame, found: Sequence[tuple[tuple[int, ...], ...]], codes: list[tuple[int, int]]
) -> np.ndarray:
    """Indicators of partitions, shape (partitions, codes); they do not depend on what is masked."""
    of = Standardised(np.corrcoef(census.to_numpy(float).T), np.zeros(census.shape[1]))
    return np.array([[coded(of, blocks, a, b) for a, b in codes] for blocks in found])


def correlations(
    known: np.ndarray, found: pd.DataFrame, codes: list[tuple[int, int]]
) -> dict[tuple[int, int, str], float]:
    """Correlation of each indicator with each measure over the partitions of one shape; NaN where it is constant."""
    result = {}
    for (a, b), indicator in zip(codes, known.T, strict=True):
        varies = np.std(indicator) > 1e-9 and not np.isnan(indicator).any()
        for measure in MEASURES:
            result[a, b, measure] = float(np.corrcoef(indicator, found[measure])[0, 1]) if varies else np.nan
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", type=int, nargs="+", default=[3, 10, 20])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    chosen = parser.parse_args()
    start = time.process_time()
    census = pd.read_csv(TESTS / "reference" / "census.csv")
    masks = Masks(census)
    found = figures(census, masks, {shape: SHAPES[shape] for shape in chosen.shapes}, chosen.k)
    long = found.melt(["variant", "k", "blocks", "pairing"], var_name="measure")
    summary = long.groupby(["variant", "measure", "k", "pairing"])["value"].agg(["mean", "min", "max", "std"])
    wide = summary.unstack("pairing")
    wide.columns = [f"{figure} {pairing}" for figure, pairing in wide.columns]
    printed = pd.read_csv(TESTS / "golden" / "thesis_tables_7_1_to_7_15.csv", comment="#")
    printed = printed.set_index(["variant", "measure", "k"])
    shown = printed[["mean", "min", "max", "sd"]].join(wide, how="inner").round(2)
    pd.set_option("display.width", 240, "display.max_columns", 20, "display.max_rows", 100)
    print(shown.sort_index().to_string())
    if 10 in chosen.k:
        _appendix_b(found.query("k == 10"), census)
    print(f"{len(masks)} blocks masked, {len(found) // 2} partitions, CPU {time.process_time() - start:.0f} s")


def _appendix_b(found: pd.DataFrame, census: pd.DataFrame) -> None:
    """Differences from the printed correlations of indicators and measures, k = 10."""
    reference = pd.read_csv(TESTS / "golden" / "thesis_appendix_b_k10.csv", comment="#")
    codes = list(reference[["A", "B"]].drop_duplicates().itertuples(index=False, name=None))
    rows = []
    for (variant, pairing), group in found.groupby(["variant", "pairing"]):
        computed = correlations(indicators(census, list(group["blocks"]), codes), group, codes)
        for row in reference.dropna(subset=variant).to_dict("records"):
            difference = abs(computed[row["A"], row["B"], row["measure"]] - row[variant])
            rows.append((variant, pairing, row["measure"], difference, difference <= 0.02))
    table = pd.DataFrame(rows, columns=["variant", "pairing", "measure", "difference", "within 0.02"])
    grouped = table.groupby(["variant", "pairing", "measure"])
    print(grouped.agg({"difference": ["count", "mean", "max"], "within 0.02": "sum"}).round(4).to_string())


if __name__ == "__main__":
    main()
