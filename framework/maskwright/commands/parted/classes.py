"""The k report of a file in parts: records that are published alike, counted exactly by a shuffle of their hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.parted.spilling import spill, spilled, together
from maskwright.data.sketches.class_hashes import class_hashes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset

DISTINCT_AT_ONCE = 250_000
"""Classes that one task counts: about 30 MB."""


def spill_classes(path: Path, data: Dataset, names: Sequence[str], tasks: int) -> None:
    """Write the classes of one part and how many of its records are in each, sorted by the task that counts them."""
    one, other, counts = _distinct(*class_hashes(data, names), np.ones(len(data), dtype=np.int64))
    spill(path, {"one": one, "other": other, "records": counts}, (one % np.uint64(tasks)).astype(np.int64), tasks)


def _distinct(
    one: NDArray[np.uint64], other: NDArray[np.uint64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]:
    order = np.argsort(one)
    ordered = one[order], other[order]
    if ((ordered[0][1:] == ordered[0][:-1]) & (ordered[1][1:] != ordered[1][:-1])).any():
        # Next to never: sorting by one number alone is twenty times as fast.
        order = np.lexsort((other, one))
        ordered = one[order], other[order]
    one, other, counts = *ordered, counts[order]
    new = np.ones(len(one), dtype=np.bool_)
    new[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    starts = np.flatnonzero(new)
    return one[starts], other[starts], np.add.reduceat(counts, starts) if len(starts) else counts


def count_classes(
    folders: tuple[str, ...],
    least: tuple[int, ...],
    tasks: int,
    folder: Path,  # noqa: ARG001
    key: str,
) -> Mapping[str, object]:
    """Count the classes of one share of the hashes; a task.

    `folders`: of the finished parts; "" for one without records. `least`: for each set of variables, the size that its
    classes should have. `key`: set of variables, and share: ``2-17``. Returns ``smallest`` class, null without any, and
    records ``below`` the size.
    """
    from pathlib import Path as FilePath

    which, share = (int(each) for each in key.split("-"))
    assert share < tasks
    pieces = [spilled(FilePath(each) / f"k{which}", share, share + 1) for each in folders if each]
    found = together(pieces)
    _, _, counts = _distinct(
        found["one"].astype(np.uint64), found["other"].astype(np.uint64), found["records"].astype(np.int64)
    )
    if not len(counts):
        return {"smallest": None, "below": 0}
    return {"smallest": int(counts.min()), "below": int(counts[counts < least[which]].sum())}
