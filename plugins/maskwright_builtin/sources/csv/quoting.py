"""Cells with their quotes and without, and by which rule the cells of each column are quoted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import WrittenBatch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from maskwright_builtin.sources.csv.dialect import CsvDialect

FEW = 4
"""Different texts of a column, at most, that are an exception from how the others are quoted."""


@dataclass(frozen=True)
class QuotingRule:
    """Which cells of a column stand in quotes although no reader would need them.

    `exceptions`: texts of which the opposite holds: ``NA`` and nothing else is bare in many files.
    """

    quoted: bool = False
    exceptions: frozenset[str] = frozenset()


@dataclass
class _Seen:
    """Different texts of a column that stand in quotes without need, and that do not; None: more than a few."""

    quoted: set[str] | None = field(default_factory=set)
    bare: set[str] | None = field(default_factory=set)

    def rule(self) -> QuotingRule:
        """Take the more varied of both for the rule, and the other for exceptions from it."""
        quoted, bare = self.quoted, self.bare
        if bare is not None and (quoted is None or len(quoted) >= len(bare)) and quoted != set():
            return QuotingRule(quoted=True, exceptions=frozenset(bare - (quoted or set())))
        return QuotingRule(quoted=False, exceptions=frozenset((quoted or set()) - (bare or set())))


class Quotes:
    """Takes the quotes off the cells of a file, batch by batch, and learns how its columns are quoted."""

    def __init__(self, dialect: CsvDialect, names: Iterable[str]) -> None:
        quote = dialect.quote or ""
        self._quote = quote.encode()
        self._delimiter = dialect.delimiter.encode()
        self._seen = {name: _Seen() for name in names}

    def rules(self) -> dict[str, QuotingRule]:
        """Rules of the columns that have cells in quotes without need."""
        rules = {name: seen.rule() for name, seen in self._seen.items()}
        return {name: rule for name, rule in rules.items() if rule != QuotingRule()}

    def without(self, batch: Any, *, any_quoted: bool) -> WrittenBatch:
        """Cells of a batch as they are meant, and as they are written where they have quotes.

        `batch`: marked string columns; see `mark_quoted`. `any_quoted`: whether the file has had a quote so far.
        """
        if not any_quoted:
            for seen in self._seen.values():
                seen.bare = None
            return WrittenBatch(batch)
        columns, written = [], {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            parts = _buffers(column)
            if self._quote in parts[0].tobytes():
                written[name], cells, forms = self._separated(*parts)
                self._learn(self._seen[name], cells, forms)
                columns.append(cells)
            else:
                self._learn(self._seen[name], column, None)
                columns.append(column)
        return WrittenBatch(pa.record_batch(columns, schema=batch.schema), written)

    def _separated(self, data: NDArray[np.uint8], offsets: NDArray[np.int32]) -> tuple[Any, Any, NDArray[np.uint8]]:
        """Cells as written, as meant, and the form of each."""
        from maskwright_builtin.sources.csv import quoting_kernel as kernel

        n = len(offsets) - 1
        text, new_offsets = np.empty(len(data), dtype=np.uint8), np.empty(n + 1, dtype=np.int32)
        forms = np.empty(n, dtype=np.uint8)
        quote, delimiter = self._quote[0], self._delimiter[0]
        kernel.unquote(data, offsets, quote, delimiter, text, new_offsets, forms)
        marks = bytes((kernel.DELIMITER_MARK, kernel.LINE_FEED_MARK, kernel.CARRIAGE_RETURN_MARK))
        raw = data.tobytes().translate(bytes.maketrans(marks, self._delimiter + b"\n\r"))
        as_written = pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(raw))
        as_meant = pa.StringArray.from_buffers(n, pa.py_buffer(new_offsets), pa.py_buffer(text[: new_offsets[-1]]))
        return as_written, as_meant, forms

    def _learn(self, seen: _Seen, cells: Any, forms: NDArray[np.uint8] | None) -> None:
        from maskwright_builtin.sources.csv.quoting_kernel import IS_BARE, IS_QUOTED

        if seen.bare is not None:
            seen.bare = _few(seen.bare, cells if forms is None else _having(cells, forms == IS_BARE))
        if forms is not None and seen.quoted is not None:
            seen.quoted = _few(seen.quoted, _having(cells, forms == IS_QUOTED))


def _having(cells: Any, which: NDArray[np.bool_]) -> Any:
    return cells if which.all() else cells.filter(pa.array(which))


def _few(known: set[str], cells: Any) -> set[str] | None:
    """Different texts with those known before; None where they are not few."""
    # A column of many different texts tells so by its first cells already.
    for part in (cells.slice(0, 10 * FEW), cells):
        found = known | set(pc.unique(part).slice(0, FEW + 1).to_pylist())
        if len(found) > FEW:
            return None
    return found


def _buffers(column: Any) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Bytes of a string column, and where in them its cells begin and end."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    held = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    return held[bounds[0] : bounds[-1]], bounds - bounds[0]


def quoted_cells(column: Any, dialect: CsvDialect, rule: QuotingRule, needs: Any) -> Any:
    """Cells with quotes, by the rule of their column and where they need them.

    `column`: shape (n,). `needs`: which cells hold a delimiter, a quote or a line end; shape (n,).
    """
    quote = pa.scalar(dialect.quote)
    among = pc.is_in(column, value_set=pa.array(sorted(rule.exceptions), pa.string()))
    which = pc.or_(needs, pc.invert(among) if rule.quoted else among)
    doubled = pc.replace_substring(column, dialect.quote, 2 * quote.as_py())
    return pc.if_else(which, pc.binary_join_element_wise(quote, doubled, quote, ""), column)
