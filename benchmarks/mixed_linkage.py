"""Time, growth and memory of record linkage over mixed keys, beside every pair compared with NumPy and SciPy.

    python benchmarks/mixed_linkage.py [--largest 1000000] [--only "8 mixed"] [--peer-queries 200]

CPU seconds of the linkage alone, all threads, after a warm-up that compiles; the growth exponent is that from the size
before; peak memory is of the process so far. Files: eight independent keys with 6, 2, 19, 6, 12, 5, 24 and 3
categories, P(category r) proportional to 1 / (r + 1), 2 percent of the cells missing; mixed: the third is a number and
the eighth an amount with 1,000 values. Masked: each of half of the keys drawn anew in 20 percent of the records.

Peers: Gower distances of some queries to all records by NumPy, key by key, and, where missing cells are distant and all
keys categorical, Hamming distances of the same codes by SciPy. Each query is compared with all records, so that the
time for all queries is extrapolated in proportion, and printed as extrapolated.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import resource
import time
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist

from maskwright import Column, Comparison, Dataset, Variable
from maskwright_builtin.measures.record_linkage.mixed.mixed_probabilistic_record_linkage import (
    MIXED_PROBABILISTIC_RECORD_LINKAGE,
)
from maskwright_builtin.measures.record_linkage.mixed.mixed_record_linkage import MIXED_RECORD_LINKAGE

SIZES = (6, 2, 19, 6, 12, 5, 24, 3)
HOLES = 0.02
WARM_UP = 200
PEER_RECORDS = 100_000
SEED = 7


def files(n, q, *, mixed):
    generator = np.random.Generator(np.random.PCG64(SEED))
    original, masked = [], []
    for j, own in enumerate(SIZES[:q]):
        numeric = mixed and j in (2, 7)
        size = 1000 if mixed and j == 7 else own
        shares = 1.0 / np.arange(1, size + 1)
        values = generator.choice(size, n, p=shares / shares.sum())
        changed = values.copy()
        if j % 2 == 0:
            drawn = generator.random(n) < 0.2
            changed[drawn] = generator.choice(size, int(drawn.sum()), p=shares / shares.sum())
        name = f"k{j + 1}"
        if numeric:
            variable = Variable(name, "integer", "quasi_identifier", decimals=0)
        else:
            variable = Variable(name, "nominal", "quasi_identifier", categories=tuple(map(str, range(size))))
        for columns, cells in ((original, values), (masked, changed)):
            kind = np.float64 if numeric else np.int32
            columns.append(Column(variable, cells.astype(kind), generator.random(n) < HOLES))
    return Comparison(Dataset(tuple(original)), Dataset(tuple(masked)), ())


def spent(action):
    """Processor seconds, wall seconds and the result."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = action()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def every_pair(comparison, queries, missing):
    """Expected percent of the queries linked to their own, all distances by NumPy."""
    names = comparison.original.names
    linked = 0.0
    for query in queries:
        total, common = np.zeros(len(comparison.masked)), np.zeros(len(comparison.masked))
        for name in names:
            before, after = comparison.original[name], comparison.masked[name]
            if before.variable.is_numeric:
                span = np.ptp(before.values[~before.missing])
                far = np.abs(after.values - before.values[query]) / span
            else:
                far = (after.values != before.values[query]).astype(np.float64)
            there = ~after.missing & ~before.missing[query]
            total += np.where(there, far, 1.0 if missing == "distant" else 0.0)
            common += there
        mean = total / (common if missing == "left_out" else len(names))
        # Sums in binary64 differ in the last digits: nearest is what is nearest but for them.
        nearest = np.isclose(mean, mean[common > 0].min(), rtol=1e-12, atol=1e-12) & (common > 0)
        linked += nearest[query] / nearest.sum()
    return 100.0 * linked / len(queries)


def hamming(comparison, queries):
    """Expected percent of the queries linked to their own, all distances by SciPy."""
    sides = [
        np.column_stack([np.where(column.missing, gone, column.values) for column in file.columns]).astype(np.float64)
        for file, gone in ((comparison.original, -1), (comparison.masked, -2))
    ]
    linked = 0.0
    for query in queries:
        far = cdist(sides[0][query : query + 1], sides[1], "hamming")[0]
        nearest = far == far.min()
        linked += nearest[query] / nearest.sum()
    return 100.0 * linked / len(queries)


def beside(comparison, params, count, own_seconds, per_record):
    """Print how long the peers take for some queries, and what all queries would take."""
    n = len(comparison.masked)
    queries = np.linspace(0, n - 1, count).astype(np.int64)
    expected = per_record[queries].mean()
    peers = [("NumPy", lambda: every_pair(comparison, queries, params["missing"]))]
    categorical = not any(column.variable.is_numeric for column in comparison.original.columns)
    if params["missing"] == "distant" and categorical:
        peers.append(("SciPy cdist", lambda: hamming(comparison, queries)))
    for name, action in peers:
        cpu, _, found = spent(action)
        whole = cpu / count * n
        print(
            f"    {name}: {count} queries {cpu:.2f} CPU s, extrapolated to all {n:,} {whole:,.0f} s, "
            f"{whole / own_seconds:,.0f} times as long; linked {found:.3f} %, ours of the same {expected:.3f} %",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="part of the names of the cases to run")
    parser.add_argument("--peer-queries", type=int, default=200, help="0: without peers")
    asked = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, {os.cpu_count()} cores")
    cases = [
        (f"{q} {'mixed' if mixed else 'categorical'}, {missing}", MIXED_RECORD_LINKAGE, q, mixed, {"missing": missing})
        for q, mixed in ((6, False), (8, False), (8, True))
        for missing in ("left_out", "distant")
    ]
    cases += [
        (
            f"{q} {'mixed' if mixed else 'categorical'}, probabilistic, {estimate}",
            MIXED_PROBABILISTIC_RECORD_LINKAGE,
            q,
            mixed,
            {"estimate": estimate},
        )
        for q, mixed in ((8, False), (8, True))
        for estimate in ("true_pairs", "em")
    ]
    for name, measure, q, mixed, params in cases:
        if asked.only not in name:
            continue
        before = None
        for n in (WARM_UP, asked.largest // 100, asked.largest // 10, asked.largest):
            comparison = files(n, q, mixed=mixed)
            cpu, wall, found = spent(
                partial(measure.compute, comparison, measure.params(**params), np.random.default_rng(0))
            )
            if n == WARM_UP:
                continue
            grown = "" if before is None else f"  growth {math.log10(cpu / before):.2f}"
            before = cpu
            print(
                f"{name:38} n {n:9,}  {cpu:7.2f} CPU s {wall:7.2f} s  peak {peak():.2f} GB  "
                f"linked {found.value:.3f} %{grown}",
                flush=True,
            )
            if n == min(PEER_RECORDS, asked.largest) and measure is MIXED_RECORD_LINKAGE and asked.peer_queries:
                beside(comparison, params, min(asked.peer_queries, n), cpu, found.per_record)


if __name__ == "__main__":
    main()
