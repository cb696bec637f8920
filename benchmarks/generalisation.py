"""Speed of the search for the best generalisation: lattices of 270 and of over 10,000 nodes at 1,000,000 records.

Run: ``python benchmarks/generalisation.py [records]``. Bars: 5 s for 270 nodes, 60 s for 10,000 nodes, 2 GB.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import maskwright as mw
from maskwright_builtin.methods.generalisation.generalisation import GENERALISATION, GeneralisationParams

CATEGORIES = (6, 2, 19, 6, 12, 5, 24, 3)


def halves(categories: int, levels: int) -> mw.Hierarchy:
    """Hierarchy in which each level joins two of the one below, and the last all."""
    found = []
    for level in range(1, levels + 1):
        of = tuple(0 if level == levels else leaf >> level for leaf in range(categories))
        found.append(mw.CategoryLevel(tuple(f"{level}.{node}" for node in range(max(of) + 1)), of))
    return mw.CategoryHierarchy(tuple(map(str, range(categories))), tuple(found))


def block(n: int, levels: tuple[int, ...]) -> mw.Block:
    """Records of independent keys, category r with a probability in proportion to 1 / (r + 1)."""
    rng = np.random.Generator(np.random.PCG64(7))
    columns = []
    for categories in CATEGORIES:
        shares = 1.0 / np.arange(1, categories + 1)
        columns.append(rng.choice(categories, size=n, p=shares / shares.sum()).astype(np.float64))
    values = np.stack(columns[: len(levels)], axis=1)
    variables = tuple(
        mw.Variable(f"key{j}", "nominal", "quasi_identifier", categories=tuple(map(str, range(CATEGORIES[j]))),
                    hierarchy=halves(CATEGORIES[j], levels[j]) if levels[j] else None)
        for j in range(len(levels))
    )  # fmt: skip
    return mw.Block(values, np.zeros(values.shape, dtype=np.bool_), variables)


def timed(name: str, method: mw.Method, given: mw.Block, params: object) -> None:
    """Run a method once and print what it took."""
    begin, cpu = time.perf_counter(), time.process_time()
    masked = method.protect(given, params, np.random.default_rng(1))
    elapsed, used = time.perf_counter() - begin, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name}: {used:.1f} CPU s, {elapsed:.1f} s elapsed, peak {peak:.2f} GB; {dict(masked.notes)}", flush=True)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    small, large = (2, 0, 4, 2, 2, 1, 0, 0), (2, 1, 4, 2, 3, 2, 4, 1)
    timed("warm", GENERALISATION, block(10_000, large), GeneralisationParams(k=5))
    for name, levels in (("270 nodes", small), ("10,800 nodes", large)):
        given = block(n, levels)
        for loss in ("entropy", "lm", "discernibility", "height"):
            timed(f"{name}, {n} x 8, {loss}", GENERALISATION, given, GeneralisationParams(k=5, loss=loss))


if __name__ == "__main__":
    main()
