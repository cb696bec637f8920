"""All partitions of the Census variables into 1 + 12, 2 + 11 and 3 + 10, and what correlations tell of them.

``python benchmarks/reproduction/partitions.py``: tables 7.1 to 7.15 of the Mateo-Sanz thesis and its Appendix B beside
computed figures, in both pairings. A block is masked once for each k, whatever partitions it is in.

The thesis keeps one copy of each distinct masked record and pairs it with the nearest original; the intervals of ICD
have the standard deviation of the whole masked file. ICN under that protocol is not reproducible: its window is not
stated, and the rule tried here (ranks among the distinct records) is off by about one point.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from maskwright import Block, Column, Comparison, Dataset, Variable, find_measure, find_partition
from maskwright.experiments.advice.variable_partitions import coded, partitions

TESTS = Path(__file__).resolve().parents[2] / "tests"
SHAPES = {"Mic1-12mul": (1, 12), "Mic2-11mul": (2, 11), "Mic3-10mul": (3, 10)}
WEIGHTS = {"PI": 0.5, "ERD": 0.25, "ICN": 0.125, "ICD": 0.125}
PROTOCOLS = ("thesis-protocol", "all-records")
RNG = np.random.default_rng(0)


class Masks:
    """Masked columns of blocks, each made once."""

    def __init__(self, census: pd.DataFrame) -> None:
        self.values = census.to_numpy(float)
        self._variables = tuple(Variable(name) for name in census)
        self._scale, self._center = self.values.std(axis=0, ddof=1), self.values.mean(axis=0)
        self._mdav = find_partition("mdav")
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
        labels = self._mdav.cluster(part, k, self._mdav.params(), RNG)
        sizes = np.bincount(labels)
        means = np.stack([np.bincount(labels, column) / sizes for column in values.T], axis=1)
        return means[labels]

    def __len__(self) -> int:
        return len(self._known)


def measured(original: Dataset, names: tuple[str, ...], masked: np.ndarray, protocol: str) -> dict[str, float]:
    """PI, ERD, ICN, ICD and MG of a masked file under a protocol."""
    whole = Comparison(original, dataset(masked, names), names)
    if protocol == "all-records":
        found = compute(whole, "mg").parts
        return score({name: found[name] for name in WEIGHTS})
    distinct = np.unique(masked, axis=0)
    # Pairing by the nearest original is of the measure; `origin` only says how many records there are.
    few = Comparison(original, dataset(distinct, names), names, origin=np.zeros(len(distinct), np.int64))
    loss = compute(whole, "pi", pairing="nearest").parts | {"PI1": compute(few, "pi", pairing="nearest").parts["PI1"]}
    return score(
        {
            "PI": loss["PI1"] / 3 + sum(loss[f"PI{number}"] for number in range(2, 6)) / 6,
            "ERD": compute(few, "mg", pairing="nearest").parts["ERD"],
            "ICN": compute(few, "interval_disclosure", by="rank", pairing="nearest").value,
            "ICD": deviation_intervals(original.matrix(names), distinct, masked.std(axis=0)),
        }
    )


def deviation_intervals(original: np.ndarray, distinct: np.ndarray, deviation: np.ndarray) -> float:
    """ICD of distinct masked records: the library's measure takes the standard deviation of what it is given."""
    scale = original.std(axis=0)
    nearest = original[cKDTree(original / scale).query(distinct / scale)[1]]
    far = np.abs(nearest - distinct) / deviation
    return float(np.mean([100.0 * np.mean(far <= percent / 100.0) for percent in range(1, 11)]))


def score(parts: dict[str, float]) -> dict[str, float]:
    return parts | {"MG": sum(weight * parts[name] for name, weight in WEIGHTS.items())}


def compute(comparison: Comparison, name: str, **params: object):
    measure = find_measure(name)
    return measure.compute(comparison, measure.params.model_validate(params), RNG)


def dataset(values: np.ndarray, names: tuple[str, ...]) -> Dataset:
    present = np.zeros(len(values), bool)
    return Dataset(
        tuple(Column(Variable(name), values[:, each].copy(), present.copy()) for each, name in enumerate(names))
    )


def figures(
    census: pd.DataFrame, masks: Masks, shapes: dict[str, tuple[int, ...]], ks: list[int],
    protocols: tuple[str, ...] = PROTOCOLS,
) -> pd.DataFrame:  # fmt: skip
    """Measures of every partition of some shapes, one row for each k and protocol."""
    names = tuple(census.columns)
    original = dataset(census.to_numpy(float), names)
    rows = []
    for shape, k in itertools.product(shapes, ks):
        for blocks in partitions(shapes[shape]):
            masked = masks.masked(blocks, k)
            for protocol in protocols:
                found = measured(original, names, masked, protocol)
                rows.append({"variant": shape, "k": k, "blocks": blocks, "protocol": protocol, **found})
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", type=int, nargs="+", default=[3, 10, 20])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    chosen = parser.parse_args()
    start = time.process_time()
    census = pd.read_csv(TESTS / "reference" / "census.csv")
    masks = Masks(census)
    found = figures(census, masks, {shape: SHAPES[shape] for shape in chosen.shapes}, chosen.k)
    long = found.melt(["variant", "k", "blocks", "protocol"], var_name="measure")
    summary = long.groupby(["variant", "measure", "k", "protocol"])["value"].agg(["mean", "min", "max", "std"])
    wide = summary.unstack("protocol")
    wide.columns = [f"{figure} {protocol}" for figure, protocol in wide.columns]
    printed = pd.read_csv(TESTS / "golden" / "thesis_tables_7_1_to_7_15.csv", comment="#")
    printed = printed.set_index(["variant", "measure", "k"])
    shown = printed[["mean", "min", "max", "sd"]].join(wide, how="inner").round(2)
    pd.set_option("display.width", 240, "display.max_columns", 20, "display.max_rows", 100)
    print(shown.sort_index().to_string())
    _appendix_b(found, census)
    print(f"{len(masks)} blocks masked, {len(found) // 2} partitions, CPU {time.process_time() - start:.0f} s")


def _appendix_b(found: pd.DataFrame, census: pd.DataFrame) -> None:
    """Correlations of indicators and measures, k = 10, beside the printed ones."""
    ten = found[found["k"] == 10]
    reference = pd.read_csv(TESTS / "golden" / "thesis_appendix_b_k10.csv", comment="#")
    correlation = np.corrcoef(census.to_numpy(float).T)
    rows = []
    for (variant, protocol), group in ten.groupby(["variant", "protocol"]):
        codes = reference.query("variant == @variant and protocol == @protocol")
        values = {
            (a, b): [coded(correlation, blocks, a, b) for blocks in group["blocks"]]
            for a, b in codes[["A", "B"]].drop_duplicates().itertuples(index=False)
        }
        for row in codes.itertuples():
            indicator = np.array(values[row.A, row.B])
            varies = np.std(indicator) > 1e-9 and not np.isnan(indicator).any()
            computed = np.corrcoef(indicator, group[row.measure])[0, 1] if varies else np.nan
            rows.append((variant, protocol, row.measure, row.thesis_corr, row.recomputed_corr, computed))
    table = pd.DataFrame(rows, columns=["variant", "protocol", "measure", "printed", "stated", "computed"])
    both = table.dropna()
    grouped = both.assign(
        from_printed=(both["computed"] - both["printed"]).abs(), from_stated=(both["computed"] - both["stated"]).abs()
    ).groupby(["variant", "protocol", "measure"])
    figures = grouped[["from_printed", "from_stated"]].mean().round(3)
    figures["correlation with printed"] = grouped[["computed", "printed"]].corr().iloc[::2, 1].droplevel(-1).round(3)
    print(figures.to_string())


if __name__ == "__main__":
    main()
