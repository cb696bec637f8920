"""Which original record each masked record comes from, by a key that both files hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.shared_codes import shared_codes
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset


def paired(original: Dataset, masked: Dataset, key: str) -> tuple[Dataset, Dataset]:
    """Pair records by a key: the masked file gets the origin of each record; the key is left out of both.

    Numbers pair by value and texts by text, also when one file holds numbers and the other texts that say them.

    `original`, `masked`: both with the variable `key`. `key`: its values name each record once.
    """
    files = (("original", original), ("masked file", masked))
    for what, data in files:
        if key not in data:
            raise InputError(f"the key is not in the {what}: {unknown_name('variable', key, data.names)}")
    codes = shared_codes([original[key], masked[key]])
    for (what, _), found in zip(files, codes, strict=True):
        _refuse_ambiguous(what, key, found)
    position = np.full(int(max(found.max(initial=-1) for found in codes)) + 1, -1, dtype=np.int64)
    position[codes[0]] = np.arange(len(original))
    origin = position[codes[1]]
    lost = int((origin < 0).sum())
    if lost:
        raise InputError(
            Problem(
                f"{lost} of {len(masked)} masked record(s) have a {key!r} that no original record has",
                hint="a key must be published unmasked; or is this the masked version of another file?",
            )
        )
    return original.without([key]), replace(masked.without([key]), origin=origin)


def _refuse_ambiguous(what: str, key: str, codes: NDArray[np.int64]) -> None:
    missing = int((codes < 0).sum())
    if missing:
        raise InputError(f"key {key!r} is missing in {missing} record(s) of the {what}")
    repeats = len(codes) - len(np.unique(codes))
    if repeats:
        raise InputError(
            Problem(
                f"key {key!r} is not unique: {repeats} repeats in the {what}",
                hint="name a variable that identifies each record",
            )
        )
