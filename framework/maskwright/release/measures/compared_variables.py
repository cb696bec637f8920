"""Which variables of two files are compared, and which of them changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.shared_codes import shared_codes
from maskwright.foundation.errors import InputError, Problem
from maskwright.release.measures.measured_variables import JUDGED, OF_CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset


MOST_DESCRIBED = 8
"""Variables that are listed when none can be measured."""


def compared_variables(original: Dataset, masked: Dataset) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Variables of both files that are measured without a plan, in the original's order: numeric and categorical ones.

    Of numbers those are the quasi-identifiers and confidential variables; of categories, few of which are declared to
    be either, all but identifiers.
    """
    return released_variables(original, masked), released_categories(original, masked, original.names)


def nothing_to_measure(original: Dataset, masked: Dataset) -> InputError:
    """Error where no variable can be compared; it says what the two files have instead."""
    return InputError(
        Problem(
            "there is no variable to measure: none is numeric in both files, with the role quasi_identifier or "
            f"confidential in the original. The original has {_described(original)}; the masked file has "
            f"{_described(masked)}",
            hint="Are these two files of the same data, and the names spelt alike? For XML, --record names the "
            f"element of one record{OF_CATEGORIES}.",
        )
    )


def released_variables(
    original: Dataset, released: Dataset, masked: Collection[str] = (), recoded: Collection[str] = ()
) -> tuple[str, ...]:
    """Numeric variables of a released file that are measured, in the original's order; recoded ones hold categories.

    Besides the masked ones they are the quasi-identifiers and confidential variables that are published as they are: an
    intruder knows, and finds, those too.

    `masked`: names of the variables that some step masks. `recoded`: names of those that are published as categories.
    """
    return tuple(
        column.name
        for column in original
        if column.variable.is_numeric
        and column.name not in recoded
        and (column.name in masked or column.variable.role in JUDGED)
        and column.name in released
        and released[column.name].variable.is_numeric
    )


def released_categories(original: Dataset, released: Dataset, masked: Collection[str] = ()) -> tuple[str, ...]:
    """Variables of a released file that are measured as categories, recoded numbers among them.

    Besides the masked ones they are the quasi-identifiers and confidential variables that are published as they are.

    `masked`: names of the variables that some step masks.
    """
    return tuple(
        column.name
        for column in original
        if column.name in released
        and not released[column.name].variable.is_numeric
        and column.variable.role != "identifier"
        and (column.name in masked or column.variable.role in JUDGED)
    )


def unmasked_variable_notices(names: Collection[str], masked: Collection[str]) -> tuple[str, ...]:
    """Say which of the variables compared are published as they are: a note for every measure."""
    open_ones = [name for name in names if name not in masked]
    if not open_ones:
        return ()
    more = f" and {len(open_ones) - MOST_DESCRIBED} more" if len(open_ones) > MOST_DESCRIBED else ""
    said = (
        f"{len(open_ones)} of the {len(names)} variables compared are published unmasked, which lowers losses and "
        f"raises risks: {', '.join(open_ones[:MOST_DESCRIBED])}{more}"
    )
    return (said,)


def _described(data: Dataset) -> str:
    """Names of variables, with what keeps them from being measured."""
    shown = [
        column.name
        + ("" if column.variable.is_numeric else f" ({column.variable.type})")
        + (
            f" (role {column.variable.role})"
            if column.variable.is_numeric and column.variable.role not in JUDGED
            else ""
        )
        for column in list(data)[:MOST_DESCRIBED]
    ]
    more = len(data.names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def changed_variables(original: Dataset, masked: Dataset) -> tuple[str, ...]:
    """Names of the variables of both files whose values differ in some record; none where records are not paired."""
    if masked.origin is None and len(original) != len(masked):
        return ()
    both = [column for column in original if column.name in masked]
    return tuple(column.name for column in both if _differ(column, masked[column.name], masked.origin))


def _differ(before: Column, after: Column, origin: NDArray[np.int64] | None) -> bool:
    if before.variable.is_numeric != after.variable.is_numeric:
        return True
    if before.variable.is_numeric:
        old, new = (np.where(column.missing, np.nan, column.values) for column in (before, after))
        return not np.array_equal(old if origin is None else old[origin], new, equal_nan=True)
    codes, others = shared_codes([before, after])
    return not np.array_equal(codes if origin is None else codes[origin], others)
