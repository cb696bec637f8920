"""Time of the measures, its growth with the number of records, and record linkage against SciPy's k-d tree.

    python benchmarks/measures.py [--records N] [--variables P] [--quick]

Times are process CPU seconds of one run after a warm-up that compiles; ratios to SciPy are taken in the same run,
on the same standardised data. Input is generated (seed 20261121).
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from scipy.spatial import cKDTree

from maskwright import Column, Comparison, Dataset, Variable
from maskwright_builtin.measures import MEASURES as OFFERED

MEASURES = tuple(each.record() for each in OFFERED)

SEED = 20261121


def dataset(values):
    names = [f"v{j + 1}" for j in range(values.shape[1])]
    absent = np.zeros(len(values), dtype=np.bool_)
    return Dataset(tuple(Column(Variable(name), values[:, j].copy(), absent) for j, name in enumerate(names)))


def compare(original, masked):
    files = dataset(original), dataset(masked)
    return Comparison(*files, files[0].names)


def file(n, p):
    return np.random.default_rng(SEED).normal(size=(n, p))


def noise(original, size):
    return original + size * np.random.default_rng(SEED + 1).normal(size=original.shape)


def clusters_of_ten(original):
    """Means of ten neighbours along the first axis: many equal rows, as after microaggregation."""
    order = np.argsort(original[:, 0])
    masked = original.copy()
    whole = len(order) // 10 * 10
    means = original[order[:whole]].reshape(-1, 10, original.shape[1]).mean(axis=1)
    masked[order[:whole]] = np.repeat(means, 10, axis=0)
    return masked


def swapped(original):
    """Every column permuted: the heaviest masking, own records are far."""
    generator = np.random.default_rng(SEED + 2)
    return np.column_stack([generator.permutation(column) for column in original.T])


MASKED = {
    "noise 0.05": lambda original: noise(original, 0.05),
    "noise 0.3": lambda original: noise(original, 0.3),
    "noise 1": lambda original: noise(original, 1.0),
    "clusters of 10": clusters_of_ten,
    "swapped": swapped,
    "whole numbers": lambda original: np.rint(3 * noise(original, 0.3)) / 3,
    "one cluster": np.zeros_like,
}


def seconds(action):
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def compute(measure, comparison, **params):
    return measure.compute(comparison, measure.params(**params), np.random.default_rng(0))


def scipy_seconds(original, masked):
    """Return the seconds of building a cKDTree and finding every nearest neighbour, from a sample of the queries."""
    scale = original.std(axis=0, ddof=1)
    built, tree = seconds(lambda: cKDTree(masked / scale))
    sample = original[:: max(1, len(original) // 5000)] / scale
    asked, _ = seconds(lambda: tree.query(sample))
    return built + asked * len(original) / len(sample)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="skip SciPy and the sizes for the growth")
    options = parser.parse_args()
    n, p = options.records, options.variables
    by_name = {measure.name: measure for measure in MEASURES}
    linkage = by_name["distance_record_linkage"]
    compute(linkage, compare(file(100, 2), file(100, 2)))

    print(f"measures, {n} records x {p} variables, noise 0.3 (CPU s; growth: exponent from a quarter of the records)")
    original = file(n, p)
    comparison = compare(original, noise(original, 0.3))
    small = compare(original[: n // 4], noise(original, 0.3)[: n // 4])
    for measure in (each for each in MEASURES if not each.claims.of_levels):
        if measure.kind == "loss" or any(field.is_required() for field in measure.params.model_fields.values()):
            continue  # losses: benchmarks/information_loss.py
        spent, found = seconds(lambda measure=measure: compute(measure, comparison))
        growth = ""
        if not options.quick:
            before, _ = seconds(lambda measure=measure: compute(measure, small))
            growth = f"  growth {math.log(spent / max(before, 1e-9)) / math.log(4):5.2f}"
        print(f"  {measure.name:26s} {spent:8.3f}{growth}  value {found.value:8.3f}")

    print("record linkage, one scenario (CPU s; SciPy: cKDTree build and nearest neighbour, no ties)")
    for d in sorted({3, 5, 7, p}):
        if d > p:
            continue
        for kind, mask in MASKED.items():
            masked = mask(original)
            spent, found = seconds(lambda d=d, masked=masked: compute(linkage, compare(original, masked), known=d))
            line = f"  d={d:2d} {kind:15s} {spent:8.3f}  linked {found.value:7.3f} %"
            if not options.quick and kind != "one cluster":
                other = scipy_seconds(original[:, :d], masked[:, :d])
                line += f"  SciPy {other:8.3f} (est)  ratio {other / spent:6.1f}"
            print(line)


if __name__ == "__main__":
    main()
