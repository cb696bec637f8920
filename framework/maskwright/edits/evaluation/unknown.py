"""Why verdicts are unknown: cells that are missing, texts where numbers are computed with, results without a value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.edits.expression import (
    Arithmetic,
    Comparison,
    Expression,
    Function,
    InInterval,
    InSet,
    IsInteger,
    KindCondition,
    Negative,
    Number,
    VariableReference,
    children,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.record_chunk import Cells, RecordChunk
    from maskwright.edits.edit import Edit

Cause = Literal["missing", "text", "comma", "date", "no value"]
Causes = Counter[tuple[str, Cause]]

COMMA_NUMBER = r"^[ \t\r\n]*-?[0-9]+(,[0-9]+)+[ \t\r\n]*$"
DATE = r"^[ \t\r\n]*(?:[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{4})"

_SAID: dict[Cause, str] = {
    "missing": "missing",
    "text": "text, not a number,",
    "comma": "text, not a number (it has a comma),",
    "date": "text, not a number (it looks like a date),",
    "no value": "a result without a value, as of a division by zero,",
}
_REMEDIES: dict[Cause, str] = {
    "missing": "where a cell may be missing, the rule has to say so (`if x is not missing then ...`)",
    "text": "declare the texts that mean 'no value' (`missing: [NA]`), or compare with texts",
    "comma": "declare the decimal sign of the file (`decimal: ','`), or remove signs between thousands",
    "date": "declare how its dates are written (`type: date, format: '%d.%m.%Y'`, with times of day `type: datetime`)",
    "no value": "say in the rule which records it is for",
}


@dataclass(frozen=True)
class UnknownBecause:
    """Why an edit is unknown in some records.

    `variable`: empty where a result has no value although every operand has one. `records`: in which the verdict is
    unknown and the variable's cell is so.
    """

    variable: str
    cause: Cause
    records: int


def unknown_because(reasons: Sequence[UnknownBecause], total: int) -> list[str]:
    """Sentences on why verdicts are unknown, with remedies and without values.

    `total`: records that the edit is for.
    """
    together: dict[tuple[Cause, int], list[str]] = {}
    for each in reasons:
        together.setdefault((each.cause, each.records), []).append(each.variable)
    return [
        f"{', '.join(names)}: ".removeprefix(": ")
        + f"{_SAID[cause]} in {records} of {total} records"
        + f"; {_REMEDIES[cause]}"
        for (cause, records), names in together.items()
    ]


def numeric_variables(expression: Expression) -> frozenset[str]:
    """Variables that a rule computes with or compares as numbers; two variables that are equated may be texts."""
    found: set[str] = set()
    stack: list[Expression] = [expression]
    while stack:
        node = stack.pop()
        found.update(each.name for each in _operands(node) if isinstance(each, VariableReference))
        stack.extend(children(node))
    return frozenset(found)


def _operands(node: Expression) -> tuple[Expression, ...]:
    """Operands of a node that have to be numbers."""
    match node:
        case Arithmetic() | Negative() | InInterval() | IsInteger():
            return children(node)
        case KindCondition(_, _, columns):
            return columns
        case Function(name, arguments):
            return () if name in ("string", "boolean", "normalize-space") else arguments
        case Comparison(operator, left, right):
            sides = (left, right)
            computed = any(isinstance(side, Number | Arithmetic | Negative) for side in sides)
            return sides if computed or operator not in ("==", "!=") else ()
        case InSet(operand, members):
            return (operand,) if all(isinstance(member, Number) for member in members) else ()
        case _:
            return ()


def causes_of(edit: Edit, columns: RecordChunk, unknown: NDArray[np.bool_]) -> Causes:
    """Count the causes in the records where an edit's verdict is unknown.

    `unknown`: shape (n,).
    """
    found: Causes = Counter()
    explained = np.zeros(columns.n, dtype=np.bool_)
    numeric = numeric_variables(edit.expression)
    names = edit.variables if edit.engine is None else edit.engine.names
    for name in names:
        if name not in columns:
            found[name, "missing"] += int(np.count_nonzero(unknown))
            explained |= unknown
            continue
        cells = columns[name]
        gone = unknown & cells.missing
        wordy = unknown & ~cells.missing & np.isnan(cells.numbers) if name in numeric else np.zeros_like(gone)
        found[name, "missing"] += int(np.count_nonzero(gone))
        if wordy.any():
            found.update({(name, cause): count for cause, count in _kinds(cells, wordy)})
        explained |= gone | wordy
    found["", "no value"] += int(np.count_nonzero(unknown & ~explained))
    return +found


def _kinds(cells: Cells, chosen: NDArray[np.bool_]) -> Iterator[tuple[Cause, int]]:
    texts = cells.text()
    flat = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    taken = pc.filter(flat, pa.array(chosen))
    commas = pc.sum(pc.match_substring_regex(taken, COMMA_NUMBER)).as_py() or 0
    dates = pc.sum(pc.match_substring_regex(taken, DATE)).as_py() or 0
    yield "comma", commas
    yield "date", dates
    yield "text", len(taken) - commas - dates


def reasons_of(causes: Causes) -> tuple[UnknownBecause, ...]:
    """Causes as reasons, the most frequent first."""
    return tuple(UnknownBecause(name, cause, count) for (name, cause), count in causes.most_common())
