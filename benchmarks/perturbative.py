"""How fast methods that perturb values are: ``python benchmarks/perturbative.py [--records 1000000] [--columns 10]``.

Prints the machine; for each method processor seconds of one thread after compilation, before adjustment, all columns
together, the ratio to sorting the columns, the growth from a quarter of the records (an exponent; 1 is linear), and the
peak memory of the process so far; then whole runs on a tenth, three tenths and all of the records with 500 patterns of
missing cells. The limit of the project is 5 s for a million records of ten columns. Rank swapping is also done the
naive way, with a list of free ranks, at the smallest size, as its peer.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import time

import numpy as np
import pandas as pd

from maskwright import Block, Variable, protect
from maskwright.plugins.registry import find_method

SEED = 20261121
PEER_RECORDS = 5000
METHODS = {
    "additive_noise": [{"p": 0.1}, {"p": 0.1, "correction": "mean_and_variance"}],
    "correlated_noise": [{"p": 0.1}, {"p": 0.1, "correction": "mean_and_variance"}],
    "multiplicative_noise": [{"p": 0.1}],
    "rank_swapping": [{"p": 1}, {"p": 15}],
    "rounding": [{"base": 5}, {"base": 5, "kind": "random"}],
    "individual_ranking": [{"k": 3}, {"k": 3, "groups": "fixed"}],
    "data_swapping": [{"rate": 0.2}],
    "data_shuffling": [{}],
    "resampling": [{"t": 3}],
    "probability_distribution": [{}],
    "lossy_compression": [{"quality": 55}],
    "top_and_bottom_coding": [{"top_share": 0.05, "bottom_share": 0.05}],
}


def blocks_of(values, scope):
    """Blocks as the framework hands them out: a column each, or the table."""
    parts = [values[:, [j]] for j in range(values.shape[1])] if scope == "variable" else [values]
    return [
        Block(
            np.ascontiguousarray(part), np.zeros(part.shape, bool),
            tuple(Variable(f"x{j}") for j in range(part.shape[1])), center=part.mean(axis=0), scale=part.std(axis=0),
        )
        for part in parts
    ]  # fmt: skip


def seconds_of(work, times):
    """Least processor time of a few calls."""
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def run(name, params, values, times):
    method = find_method(name)
    given = method.params(**params)
    blocks = blocks_of(values, method.scope)
    return seconds_of(lambda: [method.protect(block, given, np.random.default_rng(SEED)) for block in blocks], times)


def of_patterns(n, columns, patterns=500):
    """Processor seconds of whole runs on n records, half of which lack cells in one of so many ways."""
    rng = np.random.default_rng(SEED)
    holes = np.unique(rng.random((20 * patterns, columns)) < 0.35, axis=0)
    holes = rng.permutation(holes[holes.any(axis=1) & ~holes.all(axis=1)])[:patterns]
    values = rng.standard_normal((n, columns)) @ np.linalg.cholesky(np.eye(columns) / 2 + 0.5)
    values[: n // 2][holes[rng.integers(len(holes), size=n // 2)]] = np.nan
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])
    return {
        name: seconds_of(lambda name=name: protect(frame, name, seed=1), 1) for name in ("correlated_noise", "ipso")
    }


def print_patterns(n, columns):
    """Growth with the records where cells are missing: n, 3 n and 10 n."""
    of_patterns(1000, columns)
    sizes = [n, 3 * n, 10 * n]
    found = [of_patterns(size, columns) for size in sizes]
    for name in found[0]:
        seconds = [each[name] for each in found]
        grown = np.diff(np.log(seconds)) / np.diff(np.log(sizes))
        said = f"{name}, 500 patterns of missing cells, {sizes} records"
        print(f"{said}: CPU {np.round(seconds, 2)} s, growth {np.round(grown, 2)}")


def naive_rank_swapping(column, p):
    """Moore's walk as it is told, with the free ranks of each window listed."""
    rng = np.random.default_rng(SEED)
    order = np.argsort(column, kind="stable")
    m, partners = len(column), list(range(len(column)))
    free, reach = [True] * m, int(p * m / 100)
    for rank in range(m):
        if free[rank]:
            window = [other for other in range(rank + 1, min(m, rank + reach + 1)) if free[other]]
            if window:
                other = window[rng.integers(len(window))]
                partners[rank], partners[other] = other, rank
                free[other] = False
            free[rank] = False
    swapped = np.empty_like(column)
    swapped[order] = column[order[partners]]
    return swapped


def main():
    parser = argparse.ArgumentParser(description="Benchmark of methods that perturb values.")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; {platform.platform()}; python {platform.python_version()}; one thread")
    rng = np.random.default_rng(SEED)
    values = np.exp(rng.standard_normal((options.records, options.columns))) * 100.0
    sorting = seconds_of(lambda: [np.argsort(column) for column in values.T.copy()], options.times)
    print(f"{options.records} x {options.columns}: sorting the columns takes {sorting:.2f} s CPU")
    print(f"{'method':<26} {'parameters':<42} {'CPU s':>7} {'/ sort':>7} {'growth':>7} {'peak MB':>8}")
    for name, variants in METHODS.items():
        run(name, variants[0], values[:1000], 1)
        for params in variants:
            quarter = run(name, params, values[: options.records // 4], options.times)
            seconds = run(name, params, values, options.times)
            growth = np.log(seconds / quarter) / np.log(4.0)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{name:<26} {params!s:<42} {seconds:>7.2f} {seconds / sorting:>7.1f} {growth:>7.2f} {peak:>8.0f}")
    print_patterns(options.records // 10, options.columns)
    small = values[:PEER_RECORDS, 0].copy()
    naive = seconds_of(lambda: naive_rank_swapping(small, 15), 1)
    own = run("rank_swapping", {"p": 15}, small[:, None], 5)
    print(
        f"rank swapping, {PEER_RECORDS} values, p = 15: naive {naive:.2f} s, ours {own:.4f} s, {naive / own:.0f} times"
    )


if __name__ == "__main__":
    main()
