"""Time of the disclosure risks, beside SciPy's k-d tree and the package recordlinkage, in one run.

    python benchmarks/linkage.py [--records 100000] [--large 1000000] [--variables 10] [--without-peers]
    python benchmarks/linkage.py --only ties [--large 0]

Prints the machine; record linkage on all variables and in the seven cumulative scenarios, on noise N(0, 0.3),
clusters of ten (MDAV), whole numbers with many ties, and mostly zeros, each with a tenth and three tenths of the
records too, and the exponents of growth; SciPy's cKDTree on the same standardised data; probabilistic linkage and its
pattern counts, beside recordlinkage (all pairs, exact comparison of the same cells, its EM) at a size that it can
hold; Mahalanobis linkage, interval disclosure and the order-statistics attack. CPU s are of the whole process, all
threads, after a warm-up that compiles; wall s depend on who else uses the machine. Peak memory is of the process so
far. Input is generated (seed 20261121); `--large 0` leaves the large file out.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import resource
import time

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from maskwright import Column, Comparison, Dataset, Variable
from maskwright.masking.protecting.variable_group import kd_blocks
from maskwright_builtin.measures.attribute_disclosure.interval_disclosure import INTERVAL_DISCLOSURE
from maskwright_builtin.measures.attribute_disclosure.order_statistics_attack import ORDER_STATISTICS_ATTACK
from maskwright_builtin.measures.record_linkage.distance_record_linkage import (
    DISTANCE_RECORD_LINKAGE,
    MAHALANOBIS_RECORD_LINKAGE,
)
from maskwright_builtin.measures.record_linkage.fellegi_sunter import same_cell_patterns
from maskwright_builtin.measures.record_linkage.probabilistic_record_linkage import PROBABILISTIC_RECORD_LINKAGE
from maskwright_builtin.partitions.mdav.partition import mdav_labels

SEED = 20261121
PEER_RECORDS = 2000
KNOWN = 8
BLOCK = 125_000


def dataset(values):
    absent = np.zeros(len(values), dtype=np.bool_)
    return Dataset(tuple(Column(Variable(f"v{j + 1}"), column.copy(), absent) for j, column in enumerate(values.T)))


def compare(original, masked):
    files = dataset(original), dataset(masked)
    return Comparison(*files, files[0].names)


def file(n, p):
    return np.random.default_rng(SEED).normal(size=(n, p))


def noise(original):
    return original + 0.3 * np.random.default_rng(SEED + 1).normal(size=original.shape)


def clusters_of_ten(original):
    """Cluster means of MDAV, k = 10; files above BLOCK records in blocks of neighbours."""
    z = (original - original.mean(axis=0)) / original.std(axis=0, ddof=1)
    blocks = kd_blocks(z, BLOCK)
    masked = np.empty_like(original)
    for block in range(blocks.max() + 1):
        members = np.flatnonzero(blocks == block)
        labels = mdav_labels(z[members], 10, lambda share: None)
        sizes = np.bincount(labels)
        for j, column in enumerate(original[members].T):
            masked[members, j] = (np.bincount(labels, weights=column) / sizes)[labels]
    return masked


def ranked(original, k):
    """Individual ranking with groups of k."""
    masked = original.copy()
    for j, column in enumerate(original.T):
        order = np.argsort(column)[: len(column) // k * k]
        masked[order, j] = np.repeat(column[order].reshape(-1, k).mean(axis=1), k)
    return masked


def spent(action):
    """Processor seconds, wall seconds and the result."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = action()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def measured(measure, comparison, **params):
    cpu, wall, found = spent(lambda: measure.compute(comparison, measure.params(**params), np.random.default_rng(0)))
    return cpu, wall, found


def memory():
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"


def tenths(n):
    """A tenth of n, three tenths, and n."""
    return n // 10, 3 * n // 10, n


def exponents(seconds, sizes):
    """Seconds of each size, and the exponents of growth between them."""
    found = np.diff(np.log(np.maximum(seconds, 1e-9))) / np.diff(np.log(sizes))
    return f"CPU {' '.join(f'{each:.2f}' for each in seconds)} s, growth {' '.join(f'{each:.2f}' for each in found)}"


def growth(after, before, factor):
    return f"growth {math.log(after / max(before, 1e-9)) / math.log(factor):.2f}"


def scipy_seconds(original, masked):
    """Processor seconds of building a cKDTree and finding every nearest neighbour; one thread, no ties."""
    scale = original.std(axis=0, ddof=1)
    built, _, tree = spent(lambda: cKDTree(masked / scale))
    asked, _, _ = spent(lambda: tree.query(original / scale))
    return built + asked


def cells_of(original, values, count=10):
    """Cells of the grid of quantiles, as the measure makes them."""
    shares = np.arange(1, count) / count
    cuts = [np.quantile(column, shares, method="higher") for column in original.T]
    return np.column_stack(
        [np.searchsorted(cut, column, side="right") for cut, column in zip(cuts, values.T, strict=True)]
    )


def recordlinkage_seconds(queries, targets):
    """Processor seconds of comparing all pairs on their cells and of EM, with the package recordlinkage."""
    import recordlinkage

    left, right = pd.DataFrame(queries), pd.DataFrame(targets)

    def compared():
        index = recordlinkage.Index()
        index.full()
        pairs = index.index(left, right)
        comparing = recordlinkage.Compare()
        for j in range(queries.shape[1]):
            comparing.exact(j, j)
        return comparing.compute(pairs, left, right)

    first, _, vectors = spent(compared)
    second, _, _ = spent(lambda: recordlinkage.ECMClassifier(init="jaro").fit_predict(vectors))
    return first, second


def linkage(n, p, *, peers):
    original = file(n, p)
    quarter = n // 4
    masked = noise(original)
    cpu, wall, found = measured(DISTANCE_RECORD_LINKAGE, compare(original, masked), known=p)
    before, _, _ = measured(DISTANCE_RECORD_LINKAGE, compare(original[:quarter], masked[:quarter]), known=p)
    line = f"all {p} variables, noise 0.3: CPU {cpu:.2f} s, wall {wall:.2f} s, linked {found.value:.3f} %, {memory()}"
    print(f"{line}, {growth(cpu, before, n / quarter)}")
    if peers:
        other = scipy_seconds(original, masked)
        print(f"  SciPy cKDTree: CPU {other:.2f} s, {other / cpu:.1f} times as long")


def scenarios(n, p, kinds):
    """The seven cumulative scenarios on files of several kinds: a tenth of the records, three tenths and all."""
    for kind in kinds:
        seconds = []
        for size in tenths(n):
            original, masked = KINDS[kind](size, p)
            cpu, wall, found = measured(DISTANCE_RECORD_LINKAGE, compare(original, masked))
            seconds.append(cpu)
        parts = " ".join(f"{value:.3f}" for value in found.parts.values())
        print(f"seven cumulative scenarios, {kind}: {exponents(seconds, tenths(n))}, wall {wall:.2f} s, "
              f"linked {parts}, {memory()}", flush=True)  # fmt: skip


def noisy(n, p):
    original = file(n, p)
    return original, noise(original)


def clustered(n, p):
    original = file(n, p)
    return original, clusters_of_ten(original)


def whole_numbers(n, p):
    """Some 25 different values a variable: many records tie exactly."""
    return tuple(np.rint(3 * values) for values in noisy(n, p))


def mostly_zeros(n, p):
    """Whole numbers of which 70 in 100 are zero, the others moved by at most 3."""
    rng = np.random.default_rng(SEED)
    original = np.where(rng.random((n, p)) < 0.7, 0.0, rng.geometric(0.05, (n, p)))
    return original, np.where(original > 0, np.maximum(original + rng.integers(-3, 4, (n, p)), 0.0), 0.0)


KINDS = {"noise": noisy, "mdav": clustered, "ties": whole_numbers, "zeros": mostly_zeros}


def probabilistic(n, p):
    original = file(n, p)
    masked = noise(original)
    patterns, measures = [], []
    for size in tenths(n):
        one, other = cells_of(original[:size], original[:size]), cells_of(original[:size], masked[:size])
        patterns.append(spent(lambda one=one, other=other: same_cell_patterns(one, other, lambda _: None))[0])
        whole, wall, found = measured(
            PROBABILISTIC_RECORD_LINKAGE, compare(original[:size], masked[:size]), known=p, cells=10
        )
        measures.append(whole)
    print(f"probabilistic, all pairs of {n} x {p}: {exponents(measures, tenths(n))}, of which pattern counts "
          f"{exponents(patterns, tenths(n))}; wall {wall:.2f} s, linked {found.value:.3f} %, {memory()}")  # fmt: skip


def probabilistic_peer(p):
    original = file(PEER_RECORDS, p)
    masked = noise(original)
    cpu, _, _ = measured(PROBABILISTIC_RECORD_LINKAGE, compare(original, masked), known=p, cells=10)
    first, second = recordlinkage_seconds(cells_of(original, original), cells_of(original, masked))
    print(f"probabilistic, {PEER_RECORDS} x {p}: CPU {cpu:.3f} s; recordlinkage: comparing {first:.2f} s, "
          f"EM {second:.2f} s, {(first + second) / cpu:.0f} times as long, {memory()}")  # fmt: skip


def others(n, p):
    original = file(n, p)
    masked = noise(original)
    quarter = n // 4
    rankings = ranked(original, 3)
    for measure, mask, params in (
        (MAHALANOBIS_RECORD_LINKAGE, masked, {"known": min(7, p)}),
        (INTERVAL_DISCLOSURE, masked, {"by": "rank"}),
        (INTERVAL_DISCLOSURE, masked, {"by": "sd"}),
        (ORDER_STATISTICS_ATTACK, rankings, {}),
        (ORDER_STATISTICS_ATTACK, rankings, {"distribution": "fitted"}),
    ):
        before, _, _ = measured(measure, compare(original[:quarter], mask[:quarter]), **params)
        cpu, wall, found = measured(measure, compare(original, mask), **params)
        said = ", ".join(f"{name} {value}" for name, value in params.items())
        print(f"{measure.name} ({said}): CPU {cpu:.2f} s, wall {wall:.2f} s, {found.value:.3f} %, {memory()}, "
              f"{growth(cpu, before, n / quarter)}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--only", choices=KINDS, help="only the seven cumulative scenarios on files of this kind")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    warm = file(200, 3)
    for measure, mask in ((DISTANCE_RECORD_LINKAGE, noise(warm)), (ORDER_STATISTICS_ATTACK, ranked(warm, 3))):
        measured(measure, compare(warm, mask))
    clusters_of_ten(warm)
    peers = not options.without_peers
    for records in filter(None, (options.records, options.large)):
        print(f"-- {records} records", flush=True)
        if options.only is None:
            linkage(records, options.variables, peers=peers and records == options.records)
        scenarios(records, options.variables, [options.only] if options.only else KINDS)
        if options.only is None:
            probabilistic(records, KNOWN)
            others(records, options.variables)
    if peers and options.only is None:
        probabilistic_peer(KNOWN)
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
