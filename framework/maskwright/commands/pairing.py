"""Pairs of records of two files: by a key, or in order, where nothing says that the order is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.record_groups import paired, shared_codes
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import notify

if TYPE_CHECKING:
    from maskwright.data.dataset import Dataset
    from maskwright.foundation.progress import Reporter

FEWEST = 20
"""Records of which it can be said that they are in another order."""
SAME_DISTRIBUTION = 0.05
"""Share of the records whose values only one of the files has, at most, where a variable is published as it was."""


def pair_files(original: Dataset, masked: Dataset, key: str | None, reporter: Reporter) -> tuple[Dataset, Dataset]:
    """Pair the records of two files by a key; without one, in order, and say so where it seems to be another one."""
    if key is not None:
        return paired(original, masked, key)
    name = _displaced(original, masked)
    if name is not None:
        message = (
            f"records are paired in order, and both files have the values of {name} in other records: if the masked "
            "file is in another order, what is found is wrong; name a variable that identifies a record in both files "
            "as key (--key). It is right if values were swapped or drawn anew"
        )
        notify(reporter, [Notice("paired-in-order", name, message)])
    return original, masked


def _displaced(original: Dataset, masked: Dataset) -> str | None:
    """A variable that is published as it was, but in other records, where none is mostly in its own."""
    if len(original) != len(masked) or len(original) < FEWEST:
        return None
    found = None
    for name in (name for name in masked.names if name in original):
        before, after = shared_codes([original[name], masked[name]])
        size = max(int(before.max()), int(after.max())) + 2
        shares = [np.bincount(codes + 1, minlength=size) / len(before) for codes in (before, after)]
        by_chance = 1.0 - float(np.dot(*shares))
        differing = float(np.mean(before != after))
        if by_chance > 0.0 and differing < 0.5 * by_chance:
            return None
        is_as_it_was = float(np.abs(shares[0] - shares[1]).sum()) <= 2.0 * SAME_DISTRIBUTION
        if found is None and differing > 0.0 and is_as_it_was:
            found = name
    return found
