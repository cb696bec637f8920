"""Classes of records that are equal in some variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset


def class_codes(data: Dataset, names: Sequence[str]) -> NDArray[np.int64]:
    """Class of each record, 0 to c - 1: its records are equal in the named variables; shape (n,).

    Missing cells are values too: one where all are published alike, else one for each text that stands in them.
    """
    import pandas as pd  # heavy: `maskwright validate` does without

    codes = np.zeros(len(data), dtype=np.int64)
    for name in names:
        column = data[name]
        values = np.where(column.missing, 0, column.values).astype(np.float64)
        code, found = pd.factorize(values)
        kinds = column.missing_kinds()
        code = np.where(column.missing, len(found) + kinds, code)
        codes, _ = pd.factorize(codes * (len(found) + int(kinds.max(initial=0)) + 1) + code)
    return np.asarray(codes, dtype=np.int64)


def varying(values: NDArray[Any], classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Records whose class has several values of a variable; shape (n,).

    `values`: numbers or codes; no NaN; shape (n,). `classes`: 0 to c - 1; shape (n,).
    """
    if not len(values):
        return np.zeros(0, dtype=np.bool_)
    count = int(classes.max()) + 1
    low, high = np.full(count, values.max()), np.full(count, values.min())
    np.minimum.at(low, classes, values)
    np.maximum.at(high, classes, values)
    return np.asarray((high > low)[classes], dtype=np.bool_)
