"""How fast fuzzy clustering is, and what it loses: ``python benchmarks/fuzzy.py [--threads 2] [--large] [--loss]``.

Prints the machine; the time of one step of fuzzy c-means at 10 000 records, 1 000 centroids and 10 columns for several
m, in binary64 and binary32, with pairs of record and centroid per second, the ratio to scikit-fuzzy (m = 2, same
process, same start) by wall time and by processor time (which other work on the machine disturbs less), and the
difference of the centroids after the same steps; the draw; with ``--large`` 20 steps at 100 000 records, 10 000
centroids and m = 1.1 in binary32, with the peak memory; and with ``--loss`` the loss of fuzzy microaggregation beside
MDAV's at equal mean size, on the reference files (and ``--tarragona FILE``, which is not part of the project).
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import skfuzzy

import maskwright
from maskwright_builtin.methods.microaggregation.fuzzy_clustering import draw_centroids, fuzzy_c_means

REFERENCE = Path(__file__).resolve().parents[1] / "tests" / "reference"
SEED = 20261121
COLUMNS = 10
STEPS = 6


def seconds_of(function, repeats=1):
    """Best wall time and best processor time of a call, and its last result."""
    best, result = np.full(2, np.inf), None
    for _ in range(repeats):
        start = np.array([time.perf_counter(), time.process_time()])
        result = function()
        best = np.minimum(best, np.array([time.perf_counter(), time.process_time()]) - start)
    return best, result


def step_seconds(x, start, threads, repeats=5, **fuzziness):
    """Wall and processor seconds of one step: the difference between `STEPS` + 1 steps and one, over `STEPS`."""

    def run(steps):
        return lambda: fuzzy_c_means(x, start, tolerance=0, max_iterations=steps, threads=threads, **fuzziness)

    one, _ = seconds_of(run(1), repeats)
    many, _ = seconds_of(run(STEPS + 1), repeats)
    return (many - one) / STEPS


def memberships(x, centroids):
    """Memberships for m = 2, shape (c, n), for scikit-fuzzy to start with."""
    squared = np.stack([((x - each) ** 2).sum(axis=1) for each in centroids])
    inverse = 1.0 / np.maximum(squared, 1e-300)
    return inverse / inverse.sum(axis=0)


def peak_megabytes():
    """Largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main():
    parser = argparse.ArgumentParser(description="Benchmark of fuzzy clustering.")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--loss", action="store_true")
    parser.add_argument("--tarragona", type=Path, help="the Tarragona file of CASC, for --loss")
    chosen = parser.parse_args()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"machine: {platform.machine()}, {os.cpu_count()} cores, load {load}; {platform.platform()}")
    print(f"python {platform.python_version()}, numpy {np.__version__}, threads {chosen.threads or 'all'}")
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((10_000, COLUMNS))
    start = x[:1000] + 0.1 * rng.standard_normal((1000, COLUMNS))
    compiling, _ = seconds_of(
        lambda: [step_seconds(x[:600], start[:300], 1, 1, m=2, float32=each) for each in (True, False)]
    )
    print(f"compiling, or reading the cache: {compiling[1]:.1f} s of processor time")
    if chosen.large:
        large(rng, chosen.threads)
    u = memberships(x, start)
    peer_one, _ = seconds_of(lambda: skfuzzy.cluster.cmeans(x.T, 1000, 2, error=0, maxiter=1, init=u), 2)
    peer_many, peer = seconds_of(lambda: skfuzzy.cluster.cmeans(x.T, 1000, 2, error=0, maxiter=4, init=u), 2)
    peer_step = (peer_many - peer_one) / 3
    ours = fuzzy_c_means(x, start, m=2, tolerance=0, max_iterations=4, threads=chosen.threads)
    gap = np.abs(peer[0] - ours.centroids).max()
    print(
        f"scikit-fuzzy {skfuzzy.__version__}, m = 2: {peer_step[0]:.3f} s a step, {peer_step[1]:.3f} s of processor "
        f"time; centroids differ by {gap:.1e} after 4"
    )
    print(
        f"{'n = 10 000, c = 1 000':<22} {'precision':>9} {'s a step':>9} {'Gpair/s':>8} {'ratio':>6} "
        f"{'processor s':>12} {'ratio':>6}"
    )
    for fuzziness in ({"m": 2.0}, {"m": 1.1}, {"m": 1.37}, {"lambda_": 10.0}):
        for float32 in (False, True):
            step = step_seconds(x, start, chosen.threads, **fuzziness, float32=float32)
            ratios = [f"{ratio:.0f}" if fuzziness == {"m": 2.0} else "" for ratio in peer_step / step]
            name = ", ".join(f"{key.rstrip('_')} = {value}" for key, value in fuzziness.items())
            precision = "binary32" if float32 else "binary64"
            print(
                f"{name:<22} {precision:>9} {step[0]:>9.4f} {1e-2 / step[0]:>8.2f} {ratios[0]:>6} "
                f"{step[1]:>12.4f} {ratios[1]:>6}"
            )
    sizes = (1000, 3000, 10_000)
    steps = [step_seconds(x[:size], start[: size // 10], chosen.threads, m=2.0, float32=True)[1] for size in sizes]
    grown = np.diff(np.log(steps)) / np.diff(np.log(sizes))
    print(
        f"{sizes} records, c = n / 10, m = 2, binary32: processor s {np.round(steps, 5)}, growth {np.round(grown, 2)}"
    )
    drawing, _ = seconds_of(lambda: draw_centroids(x, start, rng.random(10_000), m=1.1, threads=chosen.threads), 3)
    print(f"draw, m = 1.1, binary64: {drawing[0]:.3f} s")
    if chosen.loss:
        losses(chosen.tarragona)


def losses(tarragona: Path | None):
    """100 times the mean squared deviation in standard deviations; one group of all variables, seed 1."""
    compared = {
        "MDAV": ("microaggregation", {"partition": "mdav"}),
        "fuzzy": ("fuzzy_microaggregation", {}),
        "m2 = 1.3": ("fuzzy_microaggregation", {"m2": 1.3}),
        "floor = k": ("fuzzy_microaggregation", {"floor": None}),
    }
    print(f"{'loss (sse, percent)':<20} {'k':>3} " + " ".join(f"{name:>10}" for name in compared))
    files = [(REFERENCE / "census.csv", 0), (REFERENCE / "eia.csv", 5)]
    for path, first in [*files, *([(tarragona, 0)] if tarragona else [])]:
        data = maskwright.read(path)
        if path == tarragona:
            # It is sorted by FIXED.ASSETS, which its order would show.
            data = replace(data.taken(np.random.default_rng(1).permutation(len(data))), origin=None)
        variables = list(data.names)[first:]
        for k in (3, 5, 10):
            row = []
            for method, given in compared.values():
                params = {"k": k, "group_size": "all", **{key: value or k for key, value in given.items()}}
                masked = maskwright.protect(data, method, seed=1, params=params, variables=variables)
                row.append(maskwright.measure(data, masked, ["sse"], variables=variables)["sse"].value)
            print(f"{path.stem:<20} {k:>3} " + " ".join(f"{value:>10.3f}" for value in row))


def large(rng, threads):
    """20 steps at 100 000 records and 10 000 centroids; before the peer, whose memory would hide ours."""
    x = rng.standard_normal((100_000, COLUMNS))
    start = x[:10_000] + 0.1 * rng.standard_normal((10_000, COLUMNS))
    seconds, found = seconds_of(
        lambda: fuzzy_c_means(x, start, m=1.1, tolerance=0, max_iterations=20, float32=True, threads=threads)
    )
    fall = f"objective {found.objective[0]:.6g} -> {found.objective[-1]:.6g}"
    memory = f"peak memory {peak_megabytes():.0f} MB"
    print(
        f"n = 100 000, c = 10 000, m = 1.1, 20 steps, 19 in binary32: {seconds[0]:.1f} s, {seconds[1]:.1f} s of "
        f"processor time, {memory}, {fall}"
    )


if __name__ == "__main__":
    main()
