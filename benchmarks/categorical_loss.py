"""Time, memory and growth of the losses of categories, and of trees.

    python benchmarks/categorical_loss.py [--records N] [--variables Q]

Three sizes, each ten times the one before; process CPU seconds and elapsed seconds of one run after the kernels were
compiled, growth as the exponent between two sizes, and the memory that the call allocates at its peak (traced at the
middle size). The keys are those that the categorical benchmarks share: independent, with 2 to 24 categories, P(category
r) proportional to 1 / (r + 1); a fifth of the cells of every second one is exchanged.
"""

from __future__ import annotations

import argparse
import math
import time
import tracemalloc

import numpy as np

from maskwright import Column, Comparison, Dataset, Variable
from maskwright_builtin.measures import MEASURES as OFFERED

MEASURES = tuple(each.record() for each in OFFERED)

SIZES = (6, 2, 19, 6, 12, 5, 24, 3)
WANTED = (
    ("contingency_tables", {"ways": 2}),
    ("contingency_tables", {"ways": 3}),
    ("contingency_table_loss", {"ways": 3}),
    ("cramers_v", {}),
    ("distance_based_loss", {}),
    ("entropy_based_loss", {}),
    ("propensity", {}),
    ("propensity", {"model": "tree", "permutations": 5}),
)


def files(n, q):
    """Return the comparison of n records with q keys."""
    rng = np.random.Generator(np.random.PCG64(7))
    before, after = [], []
    for j in range(q):
        size = SIZES[j % len(SIZES)]
        share = 1.0 / np.arange(1, size + 1)
        codes = rng.choice(size, n, p=share / share.sum()).astype(np.int32)
        variable = Variable(f"key{j + 1}", "nominal", "quasi_identifier", categories=tuple(map(str, range(size))))
        before.append(Column(variable, codes, np.zeros(n, dtype=bool)))
        moved = np.where(rng.random(n) < 0.2, rng.permutation(codes), codes) if j % 2 else codes
        after.append(Column(variable, moved.astype(np.int32), np.zeros(n, dtype=bool)))
    names = tuple(column.name for column in before)
    return Comparison(Dataset(tuple(before)), Dataset(tuple(after)), (), categorical=names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--variables", type=int, default=20)
    options = parser.parse_args()
    by_name = {measure.name: measure for measure in MEASURES}
    sizes = [options.records // 100, options.records // 10, options.records]
    compared = [files(n, options.variables) for n in (1000, *sizes)]
    print(f"{', '.join(f'{n:,}' for n in sizes)} records x {options.variables} categorical variables")
    for name, params in WANTED:
        measure = by_name[name]
        chosen = measure.params(**params)
        text, last = f"  {' '.join([name, *map(str, params.values())]):30s}", math.nan
        for number, comparison in enumerate(compared):
            clock, start = time.perf_counter(), time.process_time()
            measure.compute(comparison, chosen, np.random.default_rng(1))
            spent, elapsed = time.process_time() - start, time.perf_counter() - clock
            if number:
                growth = "" if math.isnan(last) else f" n^{math.log10(spent / last):.2f}"
                text += f"  CPU {spent:7.3f} s (elapsed {elapsed:.3f}){growth}"
                last = spent
        tracemalloc.start()
        measure.compute(compared[2], chosen, np.random.default_rng(1))
        text += f"  memory {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB at {sizes[1]:,}"
        tracemalloc.stop()
        print(text, flush=True)


if __name__ == "__main__":
    main()
