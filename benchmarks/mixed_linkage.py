"""Time, growth and memory of record linkage over mixed keys.

    python benchmarks/mixed_linkage.py [--largest 1000000]

CPU seconds of the linkage alone, after a warm-up that compiles, and peak memory of the process less that after the
warm-up. Files: eight independent keys with 6, 2, 19, 6, 12, 5, 24 and 3 categories, P(category r) proportional to
1 / (r + 1), 2 percent of the cells missing; mixed: the third is a number and the eighth an amount with 1,000 values.
Masked: each of half of the keys drawn anew in 20 percent of the records.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from maskwright import Column, Comparison, Dataset, Variable
from maskwright_builtin.measures.record_linkage.mixed.mixed_probabilistic_record_linkage import (
    MIXED_PROBABILISTIC_RECORD_LINKAGE,
)
from maskwright_builtin.measures.record_linkage.mixed.mixed_record_linkage import MIXED_RECORD_LINKAGE

SIZES = (6, 2, 19, 6, 12, 5, 24, 3)
HOLES = 0.02


def files(n, q, *, mixed):
    generator = np.random.Generator(np.random.PCG64(7))
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


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=1_000_000)
    largest = parser.parse_args().largest
    cases = [
        (f"{q} {'mixed' if mixed else 'categorical'}, {missing}", measure, q, mixed, {"missing": missing})
        for q, mixed in ((6, False), (8, False), (8, True))
        for measure, missing in ((MIXED_RECORD_LINKAGE, "left_out"), (MIXED_RECORD_LINKAGE, "distant"))
    ]
    cases += [
        (f"{q} {'mixed' if mixed else 'categorical'}, probabilistic", MIXED_PROBABILISTIC_RECORD_LINKAGE, q, mixed, {})
        for q, mixed in ((8, False), (8, True))
    ]
    for name, measure, q, mixed, params in cases:
        for n in (200, largest // 100, largest // 10, largest):
            comparison = files(n, q, mixed=mixed)
            before, start, elapsed = peak(), time.process_time(), time.perf_counter()
            found = measure.compute(comparison, measure.params(**params), np.random.default_rng(0))
            if n > 200:
                print(
                    f"{name:32} n {n:9,}  {time.process_time() - start:7.2f} CPU s {time.perf_counter() - elapsed:7.2f}"
                    f" s  peak +{peak() - before:6.0f} MB  linked {found.value:.3f} %",
                    flush=True,
                )


if __name__ == "__main__":
    main()
