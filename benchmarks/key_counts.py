"""Time, growth and memory of counts on keys with missing cells, and of individual and household risk on them.

    python benchmarks/key_counts.py [--records N]

Eight independent keys with 6 to 24 categories, weights of 5, 10 and 20, and 2 percent of missing cells.
Times are process CPU seconds of one run after a warm-up that compiles. Growth is the exponent between sizes a factor 10
apart. Memory is what the process holds at its largest, less what it held with the input made.
"""

from __future__ import annotations

import argparse
import math
import resource
import time

import numpy as np

from maskwright import Column, Comparison, Dataset, Variable, find_measure
from maskwright_builtin.key_counts.frequencies import count_keys, individual_risk, sampling_fraction
from maskwright_builtin.measures.key_variables.individual_risk import household_risk

CATEGORIES = (6, 2, 19, 6, 12, 5, 24, 3)


def keys(n):
    """Complete keys, weights, and the same keys with holes."""
    generator = np.random.Generator(np.random.PCG64(7))
    complete = []
    for count in CATEGORIES:
        share = 1.0 / np.arange(1, count + 1)
        complete.append(generator.choice(count, size=n, p=share / share.sum()))
    weights = generator.choice(np.array([5.0, 10.0, 20.0]), size=n)
    gone = generator.random((n, len(CATEGORIES))) < 0.02
    return complete, weights, [np.where(gone[:, j], -1, code) for j, code in enumerate(complete)]


def comparison(codes, weights, households):
    """The keys as a file, as measures get it."""
    columns = []
    for j, (code, count) in enumerate(zip(codes, CATEGORIES, strict=True)):
        variable = Variable(f"k{j}", "nominal", "quasi_identifier", categories=tuple(str(c) for c in range(count)))
        columns.append(Column(variable, code.astype(np.int32), code < 0))
    data = Dataset(tuple(columns))
    return Comparison(data, data, (), weights=weights, households=households)


def tasks(n):
    complete, weights, holes = keys(n)
    households = np.arange(n, dtype=np.int64) // 3
    counts = count_keys(complete, "own", weights)
    yield "own, complete", lambda: count_keys(complete, "own", weights)
    for rule in ("own", "alpha0", "subset", "wildcard"):
        yield f"{rule}, 2 % missing", lambda rule=rule: count_keys(holes, rule, weights)
    yield "wildcard, households", lambda: count_keys(holes, "wildcard", weights, households)
    yield (
        "risk after counts",
        lambda: household_risk(
            individual_risk(counts.file, sampling_fraction(counts.file, counts.population)[0]), households
        ),
    )
    measure, file = find_measure("individual_risk"), comparison(holes, weights, households)
    generator = np.random.default_rng(1)
    yield "individual_risk, whole measure", lambda: measure.compute(file, measure.params(), generator)


def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    largest = parser.parse_args().records
    sizes = (largest // 100, largest // 10, largest)
    for _, task in tasks(1000):
        task()
    took, memory = {}, {}
    for n in sizes:
        for name, task in tasks(n):
            before, start = held(), time.process_time()
            task()
            took.setdefault(name, []).append(time.process_time() - start)
            memory[name] = held() - before
    print(f"{'':32}" + "".join(f"{n:>12,}" for n in sizes) + "   growth    MB more")
    for name, seconds in took.items():
        growth = math.log10(max(seconds[2], 1e-9) / max(seconds[1], 1e-9))
        print(f"{name:32}" + "".join(f"{each:12.3f}" for each in seconds) + f"{growth:9.2f}{memory[name]:11.0f}")


if __name__ == "__main__":
    main()
