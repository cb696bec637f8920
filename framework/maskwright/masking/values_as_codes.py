"""Masked values that anyone would read as a missing code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskwright.data.missing import is_code_number, is_code_text
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from maskwright.data.dataset import Column


def value_as_code_doubts(columns: Iterable[Column]) -> Iterator[Doubt]:
    """Doubts about columns in which a value, as it is to be published, is a declared missing code.

    `columns`: of the masked records, rounded.
    """
    for column in columns:
        codes = column.variable.empty_texts
        if not codes:
            continue
        if column.variable.is_numeric:
            found = is_code_number(column.values, codes)
        else:
            is_code = is_code_text(pa.array(column.variable.categories, pa.string()), codes)
            found = np.append(is_code, False)[column.values]
        count = int(np.count_nonzero(found & ~column.missing))
        if count:
            message = f"{count} masked values are declared missing codes, and would be read as such"
            hint = f"Declare bounds that leave the codes outside: `{column.name}: {{min: ..., max: ...}}`."
            yield Doubt("value-is-a-missing-code", column.name, message, count, len(column), hint=hint)
