"""How fast and how large exact MDAV is: ``python benchmarks/mdav.py [--largest 100000] [--k 3] [--block-size N]``.

Prints the machine; for n = 10 000, 30 000, 100 000 (300 000, 1 000 000) records of 10 standardised Gaussian columns the
seconds of processor time of all threads after compilation and the seconds by the clock, the peak memory, and the loss;
the growth exponent of processor time between sizes; the ratio to a plain numpy MDAV, run in the same process at the
smallest size, whose labels must be equal; and how long merely reading the binary32 coordinates once for every query
would take one thread at the memory bandwidth measured here. With ``--block-size`` only the largest size, cut into
blocks of neighbours as ``execution: {block_size: N}`` cuts it, and its loss.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import resource
import sys
import time
from pathlib import Path

import numpy as np

from maskwright import processors
from maskwright.masking.protecting.variable_group import kd_blocks
from maskwright_builtin.partitions.mdav.partition import mdav_labels

SEED = 20261121
COLUMNS = 10


def gaussian(n):
    """Standardised Gaussian records, ddof = 1."""
    values = np.random.default_rng(SEED).standard_normal((n, COLUMNS))
    return (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)


def plain_mdav(z, k):
    """MDAV with numpy, without any pruning: the peer."""
    labels = np.full(len(z), -1)
    rest, values = np.arange(len(z)), z.copy()
    label = 0

    def distances(point):
        total = np.zeros(len(values))
        for j in range(values.shape[1]):
            total += (values[:, j] - point[j]) ** 2
        return total

    def take(at):
        nonlocal rest, values, label
        near = np.lexsort((rest, distances(values[at])))
        near = np.concatenate([[at], near[near != at][: k - 1]])
        labels[rest[near]] = label
        label += 1
        rest, values = np.delete(rest, near), np.delete(values, near, axis=0)

    def centroid():
        return values.mean(axis=0)

    while len(rest) >= 3 * k:
        first = int(np.argmax(distances(centroid())))
        point = values[first].copy()
        take(first)
        take(int(np.argmax(distances(point))))
    if len(rest) >= 2 * k:
        take(int(np.argmax(distances(centroid()))))
    labels[rest] = label
    return labels


def loss(z, labels):
    """100 * within-cluster sum of squares / total."""
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in z.T], axis=1)
    return 100.0 * float(((z - means[labels]) ** 2).sum()) / (z.shape[1] * (len(z) - 1))


def blocked_labels(z, k, size):
    """MDAV in each block."""
    labels, first = np.empty(len(z), dtype=np.int64), 0
    blocks = kd_blocks(z, size)
    for block in range(blocks.max() + 1):
        members = np.flatnonzero(blocks == block)
        found = mdav_labels(z[members], k, lambda share: None)
        labels[members] = first + found
        first += found.max() + 1
    return labels


def seconds_of(function, *arguments):
    """Processor time of a call on all threads, time by the clock, and the result."""
    start, start_by_clock = time.process_time(), time.perf_counter()
    result = function(*arguments)
    return time.process_time() - start, time.perf_counter() - start_by_clock, result


def bandwidth():
    """Bytes per second that one thread reads from 4 MB of binary32, the coordinates of 100 000 records."""
    table = np.ones(1_000_000, dtype=np.float32)
    best = min(seconds_of(lambda: [table.max() for _ in range(50)])[0] for _ in range(5))
    return 50 * table.nbytes / best


def peak_megabytes():
    """Largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def processor():
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    parser = argparse.ArgumentParser(description="Benchmark of exact MDAV.")
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--block-size", type=int, help="records of a block, at most")
    chosen = parser.parse_args()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"machine: {processor()}, {os.cpu_count()} cores, load {load}; {platform.platform()}")
    print(f"python {platform.python_version()}, numpy {np.__version__}; {processors()} threads")
    print(f"{COLUMNS} columns, k = {chosen.k}")
    compiling, _, _ = seconds_of(mdav_labels, gaussian(500), chosen.k, lambda share: None)
    print(f"first call, compiling or reading the cache: {compiling:.1f} s CPU")
    print(f"before: peak memory {peak_megabytes():.0f} MB (Python, numpy, compiler)")
    if chosen.block_size:
        z = gaussian(chosen.largest)
        seconds, by_clock, labels = seconds_of(blocked_labels, z, chosen.k, chosen.block_size)
        took = f"{seconds:.1f} s CPU, {by_clock:.1f} s by the clock"
        print(f"blocks of {chosen.block_size}, n = {len(z)}: {took}, loss {loss(z, labels):.4f} %")
        return
    speed = bandwidth()
    print(f"reading 4 MB again and again: {speed / 1e9:.0f} GB/s")
    heads = f"{'n':>9} {'CPU s':>8} {'clock s':>8} {'peak MB':>8} {'loss %':>8}"
    print(f"{heads} {'exponent':>9} {'limit s':>8} {'limit/CPU':>9}")
    before = None
    smallest = None
    for n in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        if n > chosen.largest:
            break
        z = gaussian(n)
        seconds, by_clock, labels = min(
            (seconds_of(mdav_labels, z, chosen.k, lambda share: None) for _ in range(3 if n <= 100_000 else 1)),
            key=lambda t: t[0],
        )
        peak = peak_megabytes()
        # Every cluster asks once for its nearest records, every second one also for its farthest in the same pass.
        limit = n / chosen.k * n / 2 * COLUMNS * 4 / speed
        exponent = math.log(seconds / before[1]) / math.log(n / before[0]) if before else math.nan
        figures = f"{seconds:>8.3f} {by_clock:>8.3f} {peak:>8.0f} {loss(z, labels):>8.4f} {exponent:>9.2f}"
        print(f"{n:>9} {figures} {limit:>8.2f} {limit / seconds:>9.2f}")
        before = (n, seconds)
        smallest = smallest or (z, seconds, labels)
    if smallest:
        z, seconds, labels = smallest
        plain_seconds, _, plain = seconds_of(plain_mdav, z, chosen.k)
        same = "equal" if np.array_equal(labels, plain) else "DIFFERENT"
        ratio = plain_seconds / seconds
        print(f"peer, plain numpy MDAV, n = {len(z)}: {plain_seconds:.2f} s CPU, {ratio:.0f} times ours; labels {same}")
        if same != "equal":
            sys.exit(1)


if __name__ == "__main__":
    main()
