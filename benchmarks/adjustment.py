"""How fast adjustment is: ``python benchmarks/adjustment.py [--largest 1000000] [--profile]``.

Records of 16 variables under 3 equalities, 4 inequalities and a box for each variable, most of them violated. Prints
the machine, wall and processor seconds of bringing all records onto all edits, peak memory, the largest residual of an
edit relative to its largest term, the growth, and how many times as long DAQP and SciPy's SLSQP take per record on a
sample, with the largest difference of the distances.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import time

import daqp
import numpy as np
from scipy.optimize import minimize

import maskwright as mw

SEED = 20261121
NAMES = [f"x{number}" for number in range(16)]
RULES = [
    "x0 + x1 + x2 == x3", "x4 + x5 == x6", "x3 + x6 == x7",
    "x8 <= x9", "x10 + x11 <= x12", "x0 <= x8", "2 * x13 <= x14 + x15",
]  # fmt: skip
LOW, HIGH = 0.0, 5000.0
EQUAL = [([0, 1, 2, 3], [1, 1, 1, -1]), ([4, 5, 6], [1, 1, -1]), ([3, 6, 7], [1, 1, -1])]
BELOW = [([8, 9], [1, -1]), ([10, 11, 12], [1, 1, -1]), ([0, 8], [1, -1]), ([13, 14, 15], [2, -1, -1])]


def dense(rows):
    """Matrix of the listed coefficients."""
    matrix = np.zeros((len(rows), len(NAMES)))
    for number, (columns, values) in enumerate(rows):
        matrix[number, columns] = values
    return matrix


def records(n):
    """Noisy records: near the edits, seldom on them."""
    rng = np.random.default_rng(SEED)
    x = np.exp(rng.normal(6, 0.8, (n, len(NAMES))))
    for columns, values in EQUAL:
        x[:, columns[-1]] = x[:, columns[:-1]] @ np.array(values[:-1])
    return x + rng.normal(size=x.shape) * 100


def residual(points):
    """Largest violation of an edit, relative to its largest term."""
    worst = 0.0
    for rows, equality in ((EQUAL, True), (BELOW, False)):
        for columns, values in rows:
            terms = points[:, columns] * np.array(values)
            gap = np.abs(terms.sum(axis=1)) if equality else np.maximum(terms.sum(axis=1), 0)
            worst = max(worst, float((gap / np.maximum(np.abs(terms).max(axis=1), 1)).max()))
    return max(worst, float(np.maximum(LOW - points, points - HIGH).max() / HIGH))


def by_daqp(point, scale):
    """Distance of the projection that DAQP finds."""
    rows = np.ascontiguousarray(np.vstack([dense(EQUAL), dense(BELOW)]) * scale)
    upper = np.concatenate([np.full(len(scale), HIGH) / scale, np.zeros(7)])
    lower = np.concatenate([np.full(len(scale), LOW) / scale, np.zeros(3), np.full(4, -1e30)])
    sense = np.concatenate([np.zeros(16, np.int32), np.full(3, 5, np.int32), np.zeros(4, np.int32)])
    target = point / scale
    found = daqp.solve(np.eye(len(scale)), -target, rows, upper, lower, sense)[0]
    return float(np.linalg.norm(found - target))


def by_scipy(point, scale):
    """Distance of the projection that SLSQP finds."""
    equal, below, target = dense(EQUAL) * scale, dense(BELOW) * scale, point / scale
    found = minimize(
        lambda x: 0.5 * np.sum((x - target) ** 2), np.clip(target, LOW, HIGH / scale), jac=lambda x: x - target,
        method="SLSQP", bounds=[(LOW, HIGH / s) for s in scale],
        constraints=[
            {"type": "eq", "fun": lambda x: equal @ x, "jac": lambda x: equal},
            {"type": "ineq", "fun": lambda x: -below @ x, "jac": lambda x: -below},
        ],
    ).x  # fmt: skip
    return float(np.linalg.norm(found - target))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=200)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    edits = mw.EditSet.parse(RULES + [f"{LOW:g} <= {name} <= {HIGH:g}" for name in NAMES])
    variables = [mw.Variable(name) for name in NAMES]
    mw.project(records(25_000), variables, edits)  # compiles
    before = None
    n = options.largest // 100
    while n <= options.largest:
        x = records(n)
        scale = x.std(axis=0, ddof=1)
        wall, cpu = time.perf_counter(), time.process_time()
        points, found = mw.project(x, variables, edits, scale)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        growth = "" if before is None else f", growth exponent {np.log(cpu / before) / np.log(10):.2f}"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)
        print(
            f"{n:>9} records: {wall:.2f} s wall, {cpu:.2f} s CPU, peak {peak:.2f} GB, found {found.mean():.4%}, "
            f"residual {residual(points):.1e}{growth}"
        )
        before, n = cpu, n * 10
    each = cpu / len(x)
    moved = np.linalg.norm((points - x) / scale, axis=1)
    for name, peer in (("DAQP", by_daqp), ("SciPy SLSQP", by_scipy)):
        sample = range(options.sample)
        start = time.process_time()
        distances = np.array([peer(x[number], scale) for number in sample])
        seconds = (time.process_time() - start) / options.sample
        difference = np.abs(distances - moved[: options.sample]).max()
        print(
            f"{name}: {seconds * 1e6:.0f} us a record, {seconds / each:.0f} times; distances differ by {difference:.1e}"
        )


if __name__ == "__main__":
    main()
