"""Columns of numbers: the published grid they are on, and what a declaration says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from maskwright.data.binary_decimals import (
    EXACT,
    FEW_PLACES,
    GridFacts,
    exceed_binary64,
    have_few_digits,
    notice_of,
    on_grid,
)
from maskwright.data.dataset import Column
from maskwright.data.declaration import variable_of
from maskwright.foundation.arrays import arrow_array, truths_of
from maskwright.foundation.errors import DataError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.missing import MissingCells
    from maskwright.data.variable import VariableType

SHOWN_RECORDS = 5
FIRST = 1000


def first_records(where: NDArray[np.bool_]) -> str:
    """Numbers of the first records where something holds, 1-based: ``record 3`` or ``records 3, 8, 9, ...``."""
    positions = np.flatnonzero(where)[: SHOWN_RECORDS + 1] + 1
    shown = ", ".join(str(position) for position in positions[:SHOWN_RECORDS].tolist())
    more = ", ..." if len(positions) > SHOWN_RECORDS else ""
    return f"record{'' if len(positions) == 1 else 's'} {shown}{more}"


def first_record(where: NDArray[np.bool_]) -> int:
    """Number of the first record where something holds, 1-based."""
    return int(np.argmax(where)) + 1


def stored_decimals(values: NDArray[np.float64]) -> int | None:
    """Smallest number of decimals, at most 6, that all stored numbers have (none NaN); None: they are on no grid."""
    largest = largest_of(values)
    for decimals in range(FEW_PLACES + 1):
        if largest * 10.0**decimals >= EXACT:
            return None
        scale = 10.0**decimals
        # Most columns tell by their first numbers how many decimals are too few.
        if all(np.array_equal(np.rint(part * scale) / scale, part) for part in (values[:FIRST], values)):
            return decimals
    return None


def largest_of(values: NDArray[np.float64]) -> float:
    """Largest magnitude of some numbers; 0 where there are none, NaN where one of them is."""
    return max(float(np.max(values)), -float(np.min(values))) if len(values) else 0.0


def is_at_end(values: NDArray[np.float64]) -> bool:
    """Whether a number is the last one of which its neighbours are known apart, 2**53, or minus that."""
    return bool(np.any(values == EXACT) or np.any(values == -EXACT))


def seen_beyond(values: NDArray[np.float64], texts: Any) -> NDArray[np.float64]:
    """Numbers, those moved one up that binary64 would round to 2**53 although their texts are beyond it."""
    if not is_at_end(values):
        return values
    at_end = np.abs(values) == EXACT
    digits = pc.utf8_trim(texts.filter(arrow_array(at_end)), characters=" \t\r\n-")
    rounded = np.zeros(len(values), dtype=np.bool_)
    rounded[at_end] = ~truths_of(pc.match_substring_regex(digits, r"^0*9007199254740992(\.0*)?$"))
    return np.where(rounded, np.nextafter(values, np.copysign(np.inf, values)), values)


def number_column(
    name: str,
    values: NDArray[np.float64],
    missing: NDArray[np.bool_],
    seen: int | None,
    declared: VariableDeclaration,
    blank: MissingCells | None = None,
    digits: int | None = None,
    *,
    has_grid: bool = True,
) -> tuple[Column, list[str]]:
    """Column of a numeric variable. `has_grid`: decimals that none declares may be seen. `values`, `missing`: (n,)."""
    present = values[~missing] if missing.any() else values
    largest = largest_of(present)
    if not np.isfinite(largest):
        infinite = ~missing & ~np.isfinite(values)
        message = (
            f"variable {name!r}: {np.count_nonzero(infinite)} of {len(values)} cells are infinite or too large "
            f"({first_records(infinite)})"
        )
        hint = "Correct them, or empty them if they mean 'no value'."
        raise DataError(Problem(message, hint=hint, variable=name, record=first_record(infinite)))
    if largest > EXACT:
        _refuse_rounding(name, values, missing, seen, declared)
    notes: list[str] = []
    is_declared = declared.decimals is not None or declared.type == "integer"
    found = _decimals_meant(name, present, len(values), seen, declared) if has_grid or is_declared else None
    stored = None
    if found is not None:
        seen, notice = found
        if notice is not None:
            notes.append(notice)
            stored, values, digits = values, on_grid(values, seen), None
    decimals = declared.decimals
    if decimals is None:
        decimals = _grid(name, largest, seen, notes)
    elif seen is not None and seen > decimals:
        notes.append(
            f"{name}: cells have up to {seen} decimals, and masked values are rounded to the {decimals} declared"
        )
    kind = _numeric_type(name, values, missing, seen, declared)
    facts = {"renewed": declared.release == "new", "lower": declared.lower, "upper": declared.upper}
    variable = variable_of(name, kind, "confidential", declared, decimals=decimals, **facts)
    held = np.where(missing, np.nan, values) if missing.any() else values
    return Column(variable, held, missing, blank, digits, stored=stored), notes


def _decimals_meant(
    name: str, present: NDArray[np.float64], cells: int, seen: int | None, declared: VariableDeclaration
) -> tuple[int, str | None] | None:
    """Decimals that numbers have up to rounding of binary arithmetic, and what is said of it; None: as they are."""
    if seen is not None and have_few_digits(largest_of(present), seen):
        return None
    facts = GridFacts.of(present, seen, cells)
    places = facts.places(0 if declared.type == "integer" and declared.decimals is None else declared.decimals)
    return None if places is None else (places, facts.notice(name, places))


def decimal_notices(columns: Iterable[Column]) -> tuple[str, ...]:
    """What is said of columns whose numbers are read as the decimals that they stand for."""
    return tuple(
        notice_of(
            each.name, each.variable.decimals or 0, int(np.sum((each.stored != each.values) & ~each.missing)), len(each)
        )
        for each in columns
        if each.stored is not None
    )


def _refuse_rounding(
    name: str, values: NDArray[np.float64], missing: NDArray[np.bool_], seen: int | None, declared: VariableDeclaration
) -> None:
    """Stop at whole numbers that binary64 would round, unless they are declared continuous."""
    beyond = ~missing & (np.abs(values) > EXACT)
    if seen != 0 or declared.type == "continuous" or not np.any(beyond):
        return
    message = (
        f"variable {name!r} is declared a number, and {np.count_nonzero(beyond)} of {len(values)} cells have more "
        f"digits than a number can hold ({first_records(beyond)})"
    )
    hint = f"Declare `{name}: {{type: nominal}}`: codes keep all digits; `type: continuous` rounds them."
    raise DataError(Problem(message, hint=hint, variable=name, record=first_record(beyond)))


def _grid(name: str, largest: float, seen: int | None, notes: list[str]) -> int | None:
    if seen is None:
        return None
    if exceed_binary64(largest, seen):
        notes.append(f"{name}: cells have more digits than a number can hold; masked values are not rounded to a grid")
        return None
    return seen


def _numeric_type(
    name: str,
    values: NDArray[np.float64],
    missing: NDArray[np.bool_],
    seen: int | None,
    declared: VariableDeclaration,
) -> VariableType:
    if declared.type == "integer":
        broken = ~missing & (np.rint(values) != values)
        if np.any(broken):
            raise DataError(
                Problem(
                    f"variable {name!r} is declared integer, and {np.count_nonzero(broken)} of {len(values)} cells "
                    f"are not ({first_records(broken)})",
                    hint=f"Declare `{name}: {{type: continuous}}`, or correct the cells.",
                    variable=name,
                    record=first_record(broken),
                )
            )
        if declared.decimals:
            hint = f"Declare `{name}: {{type: continuous}}`, or leave out decimals."
            message = f"variable {name!r} is declared integer and to have {declared.decimals} decimals"
            raise DataError(Problem(message, hint=hint, variable=name))
        return "integer"
    if declared.type == "continuous" or seen != 0 or np.all(missing):
        return "continuous"
    return "integer" if declared.decimals in (None, 0) else "continuous"
