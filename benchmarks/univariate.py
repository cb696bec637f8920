"""How fast optimal univariate microaggregation is: ``python benchmarks/univariate.py [--records 1000000]``.

Prints the machine; for columns of Gaussian, of skewed and of few distinct values, k = 3 and 10: processor seconds of
one thread after compilation, the ratio to merely sorting the column, and the loss beside that of clusters of k; then
ten columns on one and two threads, and the whole method individual_ranking on them.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from maskwright import Block, Variable
from maskwright.plugins.registry import find_method
from maskwright_builtin.partitions.records import consecutive_groups
from maskwright_builtin.partitions.univariate.partition import univariate_labels

SEED = 20261121
COLUMNS = 10
KINDS = {
    "gauss": lambda rng, n: rng.standard_normal(n),
    "lognormal": lambda rng, n: np.exp(2 * rng.standard_normal(n)),
    "100 values": lambda rng, n: rng.integers(0, 100, n).astype(float),
}


def seconds_of(work, times=3):
    """Least processor time of a few calls, and the result."""
    best, result = np.inf, None
    for _ in range(times):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def loss(values, labels):
    """100 * within-cluster sum of squares / total."""
    sizes = np.bincount(labels)
    means = np.bincount(labels, values) / sizes
    return 100.0 * float(((values - means[labels]) ** 2).sum() / ((values - values.mean()) ** 2).sum())


def main():
    parser = argparse.ArgumentParser(description="Benchmark of optimal univariate microaggregation.")
    parser.add_argument("--records", type=int, default=1_000_000)
    n = parser.parse_args().records
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; {platform.platform()}; python {platform.python_version()}; one thread")
    compiling, _ = seconds_of(lambda: univariate_labels(np.arange(9.0), 3), 1)
    print(f"first call, compiling or reading the cache: {compiling:.1f} s CPU")
    print(f"{'column':<12} {'n':>9} {'k':>3} {'CPU s':>8} {'sort s':>8} {'ratio':>6} {'loss %':>12} {'fixed %':>12}")
    for name, make in KINDS.items():
        values = make(np.random.default_rng(SEED), n)
        sorting, _ = seconds_of(lambda values=values: np.argsort(values, kind="stable"))
        for k in (3, 10):
            seconds, labels = seconds_of(lambda values=values, k=k: univariate_labels(values, k))
            figures = f"{loss(values, labels):>12.4g} {loss(values, consecutive_groups(values, k)):>12.4g}"
            print(f"{name:<12} {n:>9} {k:>3} {seconds:>8.3f} {sorting:>8.3f} {seconds / sorting:>6.1f} {figures}")
    method = find_method("individual_ranking")
    columns = np.random.default_rng(SEED).standard_normal((n, COLUMNS))
    alone = [univariate_labels(column, 3) for column in columns.T]
    for threads in (1, 2):
        wall, start = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(threads) as pool:
            together = list(pool.map(lambda column: univariate_labels(column, 3), columns.T))
        wall, seconds = time.perf_counter() - wall, time.process_time() - start
        same = all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))
        print(f"{COLUMNS} columns, {threads} thread(s): {wall:.2f} s, CPU {seconds:.2f} s; labels as alone: {same}")
    blocks = [
        Block(column[:, None], np.zeros((n, 1), bool), (Variable("x"),), center=np.zeros(1), scale=np.ones(1))
        for column in columns.T
    ]
    for groups in ("optimal", "fixed"):
        params = method.params(k=3, groups=groups)
        rng = np.random.default_rng(0)
        seconds, _ = seconds_of(lambda p=params, r=rng: [method.protect(block, p, r) for block in blocks], 1)
        print(f"individual_ranking, {groups}, k = 3, {n} x {COLUMNS}: {seconds:.2f} s CPU with representatives")


if __name__ == "__main__":
    main()
