"""Time of SUDA and of the models of population uniques, and its growth with the number of records.

    python benchmarks/singling_out.py [--records 10000 100000 1000000]

Eight independent keys with 6, 2, 19, 6, 12, 5, 24 and 3 categories of chances proportional to 1/r (seed 7). Processor
seconds of one run after a warm-up that compiles; the growth is the exponent from one size to the next; the peak memory
is that of the process less the interpreter's with the data.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import time

import numpy as np

from maskwright import Column, Comparison, Dataset, Variable, find_measure

LEVELS = (6, 2, 19, 6, 12, 5, 24, 3)
TASKS = {
    "suda, sets of all sizes": ("suda", {"sampling_fraction": 0.1}),
    "suda, up to 3 keys": ("suda", {"sampling_fraction": 0.1, "largest": 3}),
    "population_uniques, main effects": (
        "population_uniques",
        {"sampling_fraction": 0.1, "model": "main_effects"},
    ),
    "population_uniques, all pairs": ("population_uniques", {"sampling_fraction": 0.1, "model": "all_pairs"}),
    "population_uniques, six keys, all pairs": (
        "population_uniques",
        {"sampling_fraction": 0.1, "model": "all_pairs", "keys": ["k0", "k1", "k2", "k3", "k4", "k5"]},
    ),
    "population_uniques, six keys, searched": (
        "population_uniques",
        {"sampling_fraction": 0.1, "model": "auto", "keys": ["k0", "k1", "k2", "k3", "k4", "k5"]},
    ),
}


def drawn(n):
    generator = np.random.Generator(np.random.PCG64(7))
    columns = []
    for j, levels in enumerate(LEVELS):
        chance = 1.0 / (np.arange(levels) + 1)
        codes = generator.choice(levels, n, p=chance / chance.sum()).astype(np.int32)
        categories = tuple(f"{level:02d}" for level in range(levels))
        columns.append(
            Column(Variable(f"k{j}", "nominal", "quasi_identifier", categories=categories), codes, codes < 0)
        )
    return Dataset(tuple(columns))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(task, n, results):
    """In a process of its own, whose peak is that of this task."""
    name, params = TASKS[task]
    measure = find_measure(name)
    small, data = drawn(300), drawn(n)
    given = {"keys": list(data.names), **params}

    def compute(file):
        return measure.compute(Comparison(file, file, ()), measure.params(**given), np.random.default_rng(0))

    compute(small)
    before, start, elapsed = peak(), time.process_time(), time.perf_counter()
    found = compute(data)
    results.put((time.process_time() - start, time.perf_counter() - elapsed, peak() - before, found.value))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    for task in TASKS:
        print(task)
        last = None
        for n in options.records:
            results = context.Queue()
            process = context.Process(target=measured, args=(task, n, results))
            process.start()
            spent, elapsed, memory, value = results.get()
            process.join()
            growth = "" if last is None else f"  growth n^{math.log(spent / last[1]) / math.log(n / last[0]):.2f}"
            print(f"  {n:>9,} records {spent:7.2f} CPU s {elapsed:7.2f} s  {memory:6.0f} MB  value {value:.4f}{growth}")
            last = n, spent


if __name__ == "__main__":
    main()
