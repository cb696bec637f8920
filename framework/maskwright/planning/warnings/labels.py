"""Labels of codes that steps suppress: they say the same as the code, and are emptied in the same records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes
from maskwright.planning.model import key_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.planning.model import Group, Step


def labels_of_suppressed(
    names: Iterable[str],
    groups: Sequence[Group],
    steps: Sequence[Step],
    known: Mapping[str, Variable],
    data: Dataset | None,
) -> dict[str, str]:
    """Variables that have one value for each value of a key of a step that suppresses cells, and the other way round.

    `names`: variables that may be labels. `data`: the original; None: nothing is known of its values. Returns for each
    label the code that it says the same as.
    """
    if data is None:
        return {}
    keys = dict.fromkeys(
        key for group in groups if "cells" in steps[group.step - 1].method.removes
        for key in key_names(steps[group.step - 1], [known[name] for name in group.variables]) if key in data
    )  # fmt: skip
    codes = ValueCodes(data)
    found = {}
    for name in names:
        if name in keys or name not in data:
            continue
        for key in keys:
            if _say_the_same(codes.of(name), codes.of(key)):
                found[name] = key
                break
    return found


def _say_the_same(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Whether each value of either stands with one value of the other; values that hardly repeat show nothing."""
    ours, theirs = int(one.max(initial=-1)) + 2, int(other.max(initial=-1)) + 2
    if ours != theirs or 2 * ours > len(one):
        return False
    pairs = np.unique((one + 1) * theirs + other + 1)
    return len(np.unique(pairs // theirs)) == len(np.unique(pairs % theirs)) == len(pairs)
