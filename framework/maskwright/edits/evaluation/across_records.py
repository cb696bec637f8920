"""What records of a file have together: values that occur once, sums of groups; exact where the data are decimals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskwright.edits.evaluation import exact_numbers
from maskwright.edits.evaluation.exact_vectors import INT64_BOUND, Approximate, Exact, settled
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.record_chunk import Cells, RecordChunk
    from maskwright.edits.evaluation.exact_vectors import Numbers

Booleans = NDArray[np.bool_]
WHOLE_IN_BINARY64 = 2.0**53
_REDUCED: dict[str, Any] = {"sum": np.add, "mean": np.add, "min": np.minimum, "max": np.maximum}


@dataclass(frozen=True, eq=False)
class Groups:
    """Records with the same values.

    `of_record`: number of a record's group, arbitrary where unknown; shape (n,). `unknown`: a value is missing; shape
    (n,). `count`: of groups.
    """

    of_record: NDArray[np.int64]
    unknown: Booleans
    count: int


def groups_of(columns: RecordChunk, names: Sequence[str]) -> Groups:
    """Groups of the records that have the same values of these variables."""
    numbers = np.zeros(columns.n, dtype=np.int64)
    unknown = np.zeros(columns.n, dtype=np.bool_)
    count = min(columns.n, 1)
    for name in names:
        cells = columns[name]
        codes = _codes(cells)
        unknown |= cells.missing
        wide = int(codes.max(initial=0)) + 1
        # Numbered anew each time: the product stays below the square of the number of records.
        found, numbers = np.unique(numbers * wide + codes, return_inverse=True)
        count = len(found)
    return Groups(numbers.astype(np.int64).reshape(columns.n), unknown, count)


def _codes(cells: Cells) -> NDArray[np.int64]:
    """Number of a cell's value: equal for equal numbers, and for equal texts that say none."""
    # Of whole numbers that binary64 does not hold, the digits count.
    said = np.isfinite(cells.numbers) & (np.abs(np.nan_to_num(cells.numbers)) < WHOLE_IN_BINARY64) & ~cells.missing
    codes = np.zeros(len(said), dtype=np.int64)
    values, inverse = np.unique(cells.numbers[said], return_inverse=True)
    codes[said] = inverse.reshape(-1)
    others = np.flatnonzero(~said & ~cells.missing)
    if len(others):
        texts = cells.text()
        flat = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        codes[others] = len(values) + flat.take(pa.array(others)).dictionary_encode().indices.to_numpy()
    return codes


def unique(columns: RecordChunk, names: Sequence[str]) -> tuple[Booleans, Booleans]:
    """Whether no other record is known to have a record's values, and where its own are not known."""
    groups = groups_of(columns, names)
    sizes = np.bincount(groups.of_record[~groups.unknown], minlength=groups.count)
    return sizes[groups.of_record] <= 1, groups.unknown


def aggregated(
    function: str, terms: Numbers, groups: Groups, counted: Booleans | None, undecided: Booleans | None
) -> Numbers:
    """Sum, mean, smallest or largest term of each record's group.

    `counted`, `undecided`: which terms count, and of which that is unknown; None: all do. It is unknown where a term
    is, or whether it counts; of no term there is a sum, 0, and nothing else.
    """
    n = len(groups.of_record)
    chosen = ~groups.unknown & (True if counted is None else np.broadcast_to(counted, (n,)))
    lost = chosen & np.broadcast_to(terms.unknown, (n,))
    if undecided is not None:
        lost |= ~groups.unknown & np.broadcast_to(undecided, (n,))
    members = np.flatnonzero(chosen)
    members = members[np.argsort(groups.of_record[members], kind="stable")]
    sizes = np.bincount(groups.of_record[members], minlength=groups.count)
    gone = np.bincount(groups.of_record[lost], minlength=groups.count) > 0
    if function != "sum":
        gone |= sizes == 0
    unknown = groups.unknown | gone[groups.of_record]
    reduce = _REDUCED[function]
    if isinstance(terms, Approximate):
        values = _reduced(reduce, terms.values, members, sizes)[groups.of_record]
        size = _reduced(np.add, terms.sizes, members, sizes)[groups.of_record]
        found: Numbers = Approximate(np.where(unknown, 0.0, values), np.where(unknown, 0.0, size), unknown)
    else:
        if not isinstance(terms.denominators, int):
            raise EditError("only a variable can stand before 'by'")
        bound = terms.bound * max(int(sizes.max(initial=1)), 1)
        numerators = terms.numerators if bound < INT64_BOUND else terms.numerators.astype(object)
        totals = _reduced(reduce, numerators, members, sizes)[groups.of_record]
        found = settled(Exact(totals, terms.denominators, unknown, bound, terms.denominator_bound))
    if function != "mean":
        return found
    count = np.maximum(sizes, 1)[groups.of_record]
    return exact_numbers.divide(found, Exact(count, 1, unknown, int(count.max(initial=1)), 1))


def _reduced(reduce: Any, values: NDArray[Any], members: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[Any]:
    """What the terms of each group give, 0 where it has none; `members` are in the order of their groups."""
    found = np.zeros(len(sizes), dtype=values.dtype)
    present = np.flatnonzero(sizes)
    if len(present):
        starts = np.cumsum(sizes[present]) - sizes[present]
        found[present] = reduce.reduceat(values[members], starts)
    return found
