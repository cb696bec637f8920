"""Compiles the kernels of a usual run, those of the demo: ``python packaging/kernels.py PART``.

Building a wheel runs the parts side by side on a copy of the packages, where Numba keeps the machine code. No two parts
share a large kernel.
"""

from __future__ import annotations

import sys

import numpy as np

RECORDS = 60
SIZE = 3


def mdav() -> None:
    """Clusters around the farthest records."""
    from maskwright_builtin.partitions.mdav.partition import mdav_labels

    mdav_labels(_values(), SIZE, lambda _: None)


def refine() -> None:
    """Moves, swaps and kicks; from any clusters, since MDAV is another part."""
    from maskwright_builtin.partitions.refine.search import nearest_records, searched_labels

    values, generators = _values(), [np.random.default_rng(1)]
    near = nearest_records(values, 15, lambda _: None)
    searched_labels(values, near, np.arange(RECORDS) // SIZE, SIZE, 20, True, generators, lambda _: None)


def others() -> None:
    """Adjusting onto edits, linkage and intervals of ranks."""
    import pandas as pd

    import maskwright as mw

    data = pd.DataFrame(np.random.default_rng(1).integers(1, 100, (RECORDS, SIZE)).astype(float), columns=list("abc"))
    total = data.assign(total=data["a"] + data["b"])
    mw.protect(total, "additive_noise", seed=1, edits=["a + b == total", "c <= 200", "a * c <= 10000"])
    mw.measure(data, data + 0.5, ["distance_record_linkage", "interval_disclosure"])
    # Texts of few numbers are made without it.
    mw.write_numbers(np.zeros(10_000), np.zeros(10_000, dtype=np.bool_), 2)


PARTS = {each.__name__: each for each in (mdav, refine, others)}
"""The longest first."""


def _values() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.random.default_rng(1).normal(size=(RECORDS, SIZE))


if __name__ == "__main__":
    PARTS[sys.argv[1]]()
