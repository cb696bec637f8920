"""Bounds that methods enforce, counted again by pandas on random files; the best levels, found again by brute force.

What is enforced is counted from its definition on the frame that is returned; every node of a lattice is evaluated from
the leaves in plain numpy. 8 files and lattices in the tests, 200 with ``pytest -m slow``, or by hand::

    python tests/properties/test_enforced_bounds.py 200 [first]
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright_builtin.methods.generalisation.generalisation import GENERALISATION, GeneralisationParams

MOST_NODES = 5_000
LOSSES = ("entropy", "lm", "discernibility", "height")
DEGREES = ["low", "middle", "high", "top"]
ASKED: list[dict[str, Any]] = [
    {}, {"l": {"s": 2}}, {"l": {"s": {"entropy": 1.5}}}, {"l": {"s": {"recursive": 2, "c": 3}}}, {"t": {"s": 0.35}},
    {"t": {"s": {"most": 0.4, "distance": "equal"}}, "l": {"s": 2}},
]  # fmt: skip


class RandomFile:
    """Keys with random hierarchies and a sensitive variable with four degrees."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng([20261122, 17, seed])
        self.n = int(rng.integers(40, 201))
        self.q = int(rng.integers(2, 7))
        self.levels: list[list[np.ndarray]] = []
        columns: dict[str, Any] = {}
        while not self.levels or math.prod(map(len, self.levels)) > MOST_NODES:
            self.levels = [self._hierarchy(int(rng.integers(3, 11))) for _ in range(self.q)]
        for j, levels in enumerate(self.levels):
            leaves = len(levels[0])
            columns[f"x{j}"] = rng.choice(leaves, self.n, p=rng.dirichlet(np.ones(leaves) / 2))
        columns["s"] = rng.choice(4, self.n, p=[0.45, 0.3, 0.15, 0.1])
        self.codes = pd.DataFrame(columns)
        self._leaves = [columns[f"x{j}"] for j in range(self.q)]
        self._sensitive = columns["s"]
        self._known: dict[tuple[int, ...], bool] = {}
        self.nodes = math.prod(map(len, self.levels))
        self.asked = ASKED[seed % len(ASKED)]
        self.params = {
            "k": int(rng.integers(2, 6)), "loss": str(rng.choice(LOSSES)),
            "suppression_limit": float(rng.choice([0.0, 0.05, 0.2, 1.0])),
        } | self.asked  # fmt: skip

    def _hierarchy(self, leaves: int) -> list[np.ndarray]:
        """Of each level the category of each leaf; the last is one for all, in most files."""
        of = np.arange(leaves)
        levels = [of]
        for _ in range(int(self.rng.integers(0, 5))):
            now = int(of.max()) + 1
            fewer = max(now - int(self.rng.integers(1, 4)), 1)
            of = self.rng.permutation(np.arange(now) % fewer)[of]
            levels.append(of)
        if self.rng.random() < 0.8 and levels[-1].max() > 0:
            levels.append(np.zeros(leaves, dtype=np.int64))
        return levels

    def block(self) -> mw.Block:
        """What the method sees."""
        variables = []
        for j, levels in enumerate(self.levels):
            names = tuple(f"{code}" for code in range(len(levels[0])))
            above = tuple(
                mw.CategoryLevel(tuple(f"{number}.{code}" for code in range(int(of.max()) + 1)), tuple(of.tolist()))
                for number, of in enumerate(levels[1:], 1)
            )
            hierarchy = mw.CategoryHierarchy(names, above) if above else None
            variables.append(mw.Variable(f"x{j}", "nominal", "quasi_identifier", categories=names, hierarchy=hierarchy))
        values = self.codes[[f"x{j}" for j in range(self.q)]].to_numpy(dtype=float)
        sensitive = {"s": self.codes["s"].to_numpy(dtype=float)}
        known = {"s": mw.Variable("s", "ordinal", categories=tuple(DEGREES))}
        return mw.Block(
            values, np.isnan(values), tuple(variables), companions=sensitive, companion_variables=known
        )  # fmt: skip

    def is_met(self, values: np.ndarray) -> bool:
        """Whether a class with these sensitive values fulfils what is asked."""
        return self._meets(tuple(np.bincount(values, minlength=4).tolist()))

    def _meets(self, counted: tuple[int, ...]) -> bool:
        if counted not in self._known:
            self._known[counted] = self._fulfils(np.array(counted))
        return self._known[counted]

    def _fulfils(self, counts: np.ndarray) -> bool:
        p, q = counts / counts.sum(), np.bincount(self.codes["s"], minlength=4) / self.n
        found = counts.sum() >= self.params["k"]
        least = self.asked.get("l", {}).get("s")
        if isinstance(least, int):
            found &= np.count_nonzero(counts) >= least
        elif least is not None and "entropy" in least:
            found &= math.exp(-sum(each * math.log(each) for each in p[p > 0])) >= least["entropy"] - 1e-9
        elif least is not None:
            falling = np.sort(counts)[::-1]
            found &= falling[0] < least["c"] * falling[least["recursive"] - 1 :].sum()
        most = self.asked.get("t", {}).get("s")
        if isinstance(most, float):
            there = q > 0
            found &= np.abs(np.cumsum((p - q)[there])).sum() / (there.sum() - 1) <= most + 1e-9
        elif most is not None:
            found &= np.abs(p - q).sum() / 2 <= most["most"] + 1e-9
        return bool(found)

    def loss(self, node: tuple[int, ...]) -> float | None:
        """Loss of a node; None where it may not be published."""
        columns = [self.levels[j][level] for j, level in enumerate(node)]
        published = [of[self._leaves[j]] for j, of in enumerate(columns)]
        together = np.ravel_multi_index(published, [int(of.max()) + 1 for of in columns])
        _, place, sizes = np.unique(together, return_inverse=True, return_counts=True)
        sensitive = self._sensitive
        fails = sizes < self.params["k"]
        if self.asked:
            counts = np.bincount(place * 4 + sensitive, minlength=4 * len(sizes)).reshape(-1, 4)
            fails = np.array([not self._meets(tuple(own)) for own in counts.tolist()])
        out = fails[place]
        if out.sum() > self.params["suppression_limit"] * self.n + 1e-9 or (
            out.any() and not self.is_met(sensitive[out])
        ):
            return None
        match self.params["loss"]:
            case "height":
                return float(np.mean([level / max(len(self.levels[j]) - 1, 1) for j, level in enumerate(node)]))
            case "discernibility":
                return float((sizes[~fails] ** 2).sum() + self.n * out.sum())
        total = 0.0
        for j in range(self.q):
            leaf, leaves = self._leaves[j], len(self.levels[j][0])
            if self.params["loss"] == "lm":
                values = np.bincount(self.levels[j][node[j]])[published[j]]
                total += np.where(out, 1.0, (values - 1) / (leaves - 1)).sum() / (self.n * self.q)
            else:
                of_leaf, of_band = np.bincount(leaf)[leaf], np.bincount(published[j])[published[j]]
                total += np.log2(np.where(out, self.n, of_band) / of_leaf).sum()
        return float(total)

    def best(self) -> tuple[tuple[int, ...], float] | None:
        """The first of the best nodes, of all."""
        found: tuple[tuple[int, ...], float] | None = None
        for node in itertools.product(*(range(len(levels)) for levels in self.levels)):
            loss = self.loss(node)
            if loss is not None and (found is None or loss < found[1] - 1e-9 * max(abs(found[1]), 1.0)):
                found = node, loss
        return found


def optimum(seed: int, tally: Counter[str]) -> list[str]:
    """What is wrong with the levels that are chosen for a random file."""
    file = RandomFile(seed)
    params = GeneralisationParams(**file.params)
    expected = file.best()
    tally["lattices"] += 1
    tally["nodes"] += file.nodes
    tally["largest lattice"] = max(tally["largest lattice"], file.nodes)
    try:
        masked = GENERALISATION.protect(file.block(), params, np.random.default_rng(1))
    except mw.InputError:
        tally["no node may be published"] += 1
        return [] if expected is None else [f"lattice {seed}: refused, and {expected[0]} may be published"]
    chosen = tuple(int(each.split()[1]) for each in str(masked.notes["levels"]).split(", "))
    if expected is None:
        return [f"lattice {seed}: {chosen} may not be published"]
    tally["optima with coarser levels"] += any(expected[0])
    return [] if chosen == expected[0] else [f"lattice {seed}: {chosen}, and {expected[0]} is best ({file.params})"]


def recounted(seed: int, tally: Counter[str]) -> list[str]:
    """What pandas finds wrong with files in which three methods enforce bounds."""
    file = RandomFile(seed)
    frame = file.codes.astype(str)
    keys = [f"x{j}" for j in range(file.q)]
    frame["s"] = np.array(DEGREES)[file.codes["s"]]
    groups: dict[str, Any] = {}
    for j, levels in enumerate(file.levels):
        listed = []
        for below, of in itertools.pairwise(levels):
            number = len(listed) + 1
            pairs = sorted(set(zip(below.tolist(), of.tolist(), strict=True)))
            level: dict[str, list[str]] = {}
            for low, high in pairs:
                level.setdefault(f"{number}.{high}", []).append(f"{number - 1}.{low}" if number > 1 else str(low))
            listed.append(level)
        groups[f"x{j}"] = {"hierarchy": {"groups": listed}} if listed else {}
    ordered = {"type": "ordinal", "categories": DEGREES, "role": "other"}
    found: list[str] = []
    tally["files"] += 1
    for method in ("generalisation", "mondrian", "local_suppression"):
        number = method == "mondrian"
        data = file.codes[keys].assign(s=frame["s"]) if number else frame
        declared: dict[str, dict[str, Any]] = {
            key: {"role": "quasi_identifier", "type": "integer" if number else "nominal"}
            | ({} if number else groups[key])
            for key in keys
        } | {"s": ordered}
        params = {"k": file.params["k"]} if number else {"k": file.params["k"]} | file.asked
        if method == "generalisation":
            params = dict(file.params)
        try:
            masked = mw.protect(data, method, declared=declared, params=params, variables=keys, seed=1)
        except mw.MaskwrightError as error:
            tally[f"{method}: {type(error).__name__}"] += 1
            continue
        tally[f"{method}: released"] += 1
        shown = masked[keys].astype(object).where(masked[keys].notna(), "-").astype(str)
        sensitive = masked["s"].astype(str).map(DEGREES.index)
        for _, values in sensitive.groupby([shown[key] for key in keys]):
            tally["classes"] += 1
            met = len(values) >= file.params["k"] if number else file.is_met(values.to_numpy())
            if not met:
                found.append(f"file {seed}: {method}: a class of {len(values)} fails {params}")
    return found


@pytest.mark.parametrize("first", [0, pytest.param(8, marks=pytest.mark.slow)])
def test_what_is_enforced_is_counted_again(first: int) -> None:
    assert [each for seed in range(first, first + 8) for each in recounted(seed, Counter())] == []


@pytest.mark.parametrize("first", [0, pytest.param(8, marks=pytest.mark.slow)])
def test_the_best_levels_are_those_of_brute_force(first: int) -> None:
    assert [each for seed in range(first, first + 8) for each in optimum(seed, Counter())] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_bounds_and_optima_of_two_hundred_files() -> None:
    tally: Counter[str] = Counter()
    assert [each for seed in range(200) for each in (*recounted(seed, tally), *optimum(seed, tally))] == []


def main() -> None:
    """Run by hand."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tally: Counter[str] = Counter()
    faults = [each for seed in range(first, first + count) for each in (*recounted(seed, tally), *optimum(seed, tally))]
    print(dict(tally))
    print(f"{len(faults)} faults")
    for each in faults:
        print(" ", each)


if __name__ == "__main__":
    main()
