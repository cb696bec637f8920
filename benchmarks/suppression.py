"""Local suppression: seconds, growth over three sizes and memory, cells emptied, k counted anew.

Run: ``python benchmarks/suppression.py [records]``. Bars: 1,000,000 records of 6 keys in 30 s, growth at most n^1.2,
2 GB.
"""

from __future__ import annotations

import itertools
import math
import resource
import sys
import time

import numpy as np

import maskwright as mw
from maskwright_builtin.key_counts.frequencies import MissingKeys, count_keys
from maskwright_builtin.methods.suppression.local_suppression import LOCAL_SUPPRESSION, LocalSuppressionParams

CATEGORIES = (6, 2, 19, 6, 12, 5, 24, 3)
COUNTS: tuple[MissingKeys, ...] = ("own", "alpha0", "subset", "wildcard")


def block(n: int, q: int) -> mw.Block:
    """Records of independent keys, category r with a probability in proportion to 1 / (r + 1); 2 % of cells missing."""
    rng = np.random.Generator(np.random.PCG64(7))
    columns = []
    for categories in CATEGORIES:
        shares = 1.0 / np.arange(1, categories + 1)
        columns.append(rng.choice(categories, size=n, p=shares / shares.sum()).astype(np.float64))
    rng.choice((5, 10, 20), size=n)
    values = np.stack(columns, axis=1)
    values[rng.random((n, len(CATEGORIES))) < 0.02] = np.nan
    values = np.ascontiguousarray(values[:, :q])
    variables = tuple(
        mw.Variable(f"key{j}", "nominal", "quasi_identifier", categories=tuple(map(str, range(CATEGORIES[j]))))
        for j in range(q)
    )
    return mw.Block(values, np.isnan(values), variables)


def timed(given: mw.Block, count: MissingKeys) -> float:
    """Suppress once, count anew, and print what it took; CPU seconds."""
    params = LocalSuppressionParams.model_validate({"k": 3, "count": count})
    begin = time.process_time()
    masked = LOCAL_SUPPRESSION.protect(given, params, np.random.default_rng(1))
    used = time.process_time() - begin
    codes = [np.where(np.isnan(column), -1, column).astype(np.int64) for column in masked.values.T]
    smallest = int(count_keys(codes, count).file.min())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{given.n:>9,} x {given.p} {count:8}: {used:6.2f} CPU s, {masked.notes['cells_suppressed']:>9,} cells, "
        f"smallest count {smallest}, peak {peak:.2f} GB",
        flush=True,
    )
    return used


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for q in (6, 8):
        for count in COUNTS:
            LOCAL_SUPPRESSION.protect(
                block(2_000, q), LocalSuppressionParams.model_validate({"count": count}), np.random.default_rng(1)
            )
            seconds = [timed(block(n, q), count) for n in (most // 100, most // 10, most)]
            growth = [math.log10(after / before) for before, after in itertools.pairwise(seconds)]
            print(f"growth n^{growth[0]:.2f}, n^{growth[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
