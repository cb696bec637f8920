"""Consecutive records of a file, as they are understood and as the file holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, eq=False)
class WrittenBatch:
    """Consecutive records as they are understood, and as the file holds them.

    Attributes
    ----------
    cells : pyarrow.RecordBatch
        As `Reading.batches` yields them.
    written : mapping of name to pyarrow.Array
        Of the columns whose cells the file holds in another form (quoted, with a decimal comma): those, in whatever
        form the source's `write` takes back.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from maskwright import WrittenBatch
    >>> batch = WrittenBatch(pa.record_batch({"wage": ["1.5"]}), {"wage": pa.array(['"1,5"'])})
    >>> batch.cells.num_rows
    1
    """

    cells: Any
    written: Mapping[str, Any] = field(default_factory=dict)
