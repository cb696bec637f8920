"""Whole columns of a written file in few bytes, and cells of columns made comparable with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maskwright.data.classes.classes import Classes
from maskwright.edits.evaluation.reference_values import Undetermined
from maskwright.release.reference_reader import BinaryColumn, TextColumn, text_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.release.reference_reader import Block, Column, Readable

    Booleans = NDArray[np.bool_]
    Rows = NDArray[np.int64]


PART = 1 << 16
"""Records that are looked at together."""
WORD = 8
LONGEST = 8 * WORD
"""Bytes of cells that are compared as numbers of eight bytes; longer ones are compared as texts."""
ZEROS = np.frombuffer(b"".join(text.ljust(WORD, b"\0") for text in (b"0", b"0.0")), dtype=np.uint64)
SPACE, MOST_ASCII = ord(" "), 0x7F


@dataclass(frozen=True, eq=False)
class TakenColumn:
    """Cells of other records.

    `rows`: of which record each cell is; negative: there is none; shape (n,).
    """

    column: Readable
    rows: Rows

    def text(self, row: int) -> str | None:
        """Text of a cell; None: there is no cell."""
        there = int(self.rows[row])
        return None if there < 0 else self.column.text(there)

    def taken(self, rows: Rows) -> TakenColumn:
        """Cells of these records, in this order."""
        return TakenColumn(self.column, self.rows[rows])

    def numbers(self, decimals: int | None) -> tuple[NDArray[np.float64], Booleans]:
        """Numbers, and which cells are to be looked at one by one."""
        is_there = self.rows >= 0
        return self._of(is_there, *self.column.taken(self.rows[is_there]).numbers(decimals))

    def days(self, date_format: str) -> tuple[NDArray[np.float64], Booleans]:
        """Days, and which cells are to be looked at one by one."""
        is_there = self.rows >= 0
        return self._of(is_there, *self.column.taken(self.rows[is_there]).days(date_format))

    def _of(
        self, is_there: Booleans, found: NDArray[np.float64], strange: Booleans
    ) -> tuple[NDArray[np.float64], Booleans]:
        values, odd = np.full(len(self.rows), np.nan), np.zeros(len(self.rows), dtype=np.bool_)
        values[is_there], odd[is_there] = found, strange
        return values, odd


class Compared(NamedTuple):
    """Cells as numbers that are equal where the cells are.

    `values`: shape (n,). `empty`, `zero`: cells that say nothing, and those that say 0; shape (n,).
    """

    values: NDArray[Any]
    empty: Booleans
    zero: Booleans


def whole_columns(blocks: Iterable[Block], names: Sequence[str]) -> dict[str, Readable]:
    """Columns of a file, of its blocks."""
    found = WholeColumns(names)
    for block in blocks:
        found.add(block)
    return found.joined()


class WholeColumns:
    """Columns that grow block by block."""

    def __init__(self, names: Sequence[str]) -> None:
        self._pieces: dict[str, list[Column]] = {name: [] for name in names}

    def add(self, block: Block) -> None:
        """Take the cells of further records."""
        for name, pieces in self._pieces.items():
            pieces.append(_alone(block[name]))

    def joined(self) -> dict[str, Readable]:
        """All of them, once."""
        if not all(self._pieces.values()):
            raise Undetermined
        return {name: _joined(self._pieces.pop(name)) for name in tuple(self._pieces)}


def parts(n: int) -> Iterator[Rows]:
    """Consecutive records, as many as are looked at together."""
    for start in range(0, n, PART):
        yield np.arange(start, min(start + PART, n))


def comparable(columns: Sequence[Readable], counts: Sequence[int]) -> list[Compared]:
    """Cells to compare with each other: as numbers where all are, else as texts without spaces around them."""
    try:
        return [_as_numbers(column, n) for column, n in zip(columns, counts, strict=True)]
    except Undetermined:
        return _as_texts(columns, counts)


def differing_rows(column: Readable, others: Rows) -> Booleans:
    """Which records are not, byte for byte, what others of the same column are.

    `others`: for each record another one; shape (n,).
    """
    unlike = np.ones(len(others), dtype=np.bool_)
    for part in parts(len(others)):
        words = _words([column.taken(part), column.taken(others[part])])
        if words is not None:
            one, other = np.split(words, 2)
            unlike[part] = (one != other).any(axis=1)
    return unlike


def _alone(column: Column) -> Column:
    """Column that holds no bytes of others, nor between its own."""
    if isinstance(column, BinaryColumn):
        return column
    lengths = column.ends - column.starts
    ends = np.cumsum(lengths)
    places = np.repeat(column.starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
    return TextColumn(column.data[places], (ends - lengths).astype(np.uint32), ends.astype(np.uint32), column.notation)


def _joined(pieces: list[Column]) -> Readable:
    """One column of consecutive pieces."""
    binary = [each for each in pieces if isinstance(each, BinaryColumn)]
    if len(binary) == len(pieces):
        return BinaryColumn(np.concatenate([each.values for each in binary]))
    texts = [
        text_column([each.text(row) for row in range(len(each))]) if isinstance(each, BinaryColumn) else each
        for each in pieces
    ]
    # Cells without anything between them: where one ends the next begins.
    before = np.cumsum([0, *(len(each.data) for each in texts)])
    kind = np.uint32 if before[-1] <= np.iinfo(np.uint32).max else np.int64
    ends = [each.ends.astype(kind) + shift for each, shift in zip(texts, before[:-1].astype(kind), strict=True)]
    borders = np.concatenate([np.zeros(1, dtype=kind), *ends])
    return TextColumn(np.concatenate([each.data for each in texts]), borders[:-1], borders[1:], texts[0].notation)


def _as_numbers(column: Readable, n: int) -> Compared:
    """Cells as numbers."""
    values = np.empty(n)
    for part in parts(n):
        values[part], odd = column.taken(part).numbers(0)
        if odd.any():
            raise Undetermined
    return Compared(values, np.isnan(values), values == 0)


def _as_texts(columns: Sequence[Readable], counts: Sequence[int]) -> list[Compared]:
    """Cells as numbers of their texts."""
    words, ends = _words(columns), np.cumsum(counts)
    if words is not None and all(map(_is_bare, columns)):
        codes, nothing = Classes.of(list(words.T)).codes, ~words.any(axis=1)
        zero = ~words[:, 1:].any(axis=1) & np.isin(words[:, 0], ZEROS)
    else:
        codes, nothing, zero = _of_texts(columns, counts, words)
    pieces = (np.split(each, ends[:-1]) for each in (codes, nothing, zero))
    return [Compared(*each) for each in zip(*pieces, strict=True)]


def _of_texts(
    columns: Sequence[Readable], counts: Sequence[int], words: NDArray[np.uint64] | None
) -> tuple[NDArray[np.int64], Booleans, Booleans]:
    """Numbers of texts without the spaces around them, and which are empty and 0; of equal words one text is read."""
    import pandas as pd

    ends, n = np.cumsum(counts), int(sum(counts))
    codes = np.arange(n) if words is None else Classes.of(list(words.T)).codes
    firsts = np.full(int(codes.max(initial=-1)) + 1, n, dtype=np.int64)
    np.minimum.at(firsts, codes, np.arange(n))
    texts = []
    for first in firsts.tolist():
        which = int(np.searchsorted(ends, first, side="right"))
        texts.append((columns[which].text(first - int(ends[which] - counts[which])) or "").strip())
    merged, distinct = pd.factorize(np.array(texts, dtype=object))
    nothing, zero = (np.isin(distinct.astype(str), text)[merged][codes] for text in ([""], ["0", "0.0"]))
    return merged[codes].astype(np.int64), nothing, zero


def _words(columns: Sequence[Readable]) -> NDArray[np.uint64] | None:
    """Bytes of the cells of columns, one after the other, as numbers of eight bytes; None: no texts, or long ones."""
    bare = [_bytes_of(column) for column in columns]
    if any(text is None for text, _ in bare):
        return None
    longest = max(int((text.ends - text.starts).max(initial=0)) for text, _ in bare if text is not None)
    if longest > LONGEST:
        return None
    width = max(WORD, -(-longest // WORD) * WORD)
    found = []
    for text, is_there in bare:
        assert text is not None
        padded = np.append(text.data, np.zeros(width, dtype=np.uint8))
        cells = np.lib.stride_tricks.sliding_window_view(padded, width)[text.starts]
        cells[np.arange(width) >= (text.ends - text.starts)[:, None]] = 0
        words = np.zeros((len(is_there), width // WORD), dtype=np.uint64)
        words[is_there] = cells.view(np.uint64)
        found.append(words)
    return np.concatenate(found)


def _bytes_of(column: Readable) -> tuple[TextColumn | None, Booleans]:
    """Cells as texts of a file, and which records have one."""
    if isinstance(column, TextColumn):
        return column, np.ones(len(column), dtype=np.bool_)
    if isinstance(column, TakenColumn) and isinstance(column.column, TextColumn):
        is_there = column.rows >= 0
        return column.column.taken(column.rows[is_there]), is_there
    return None, np.zeros(0, dtype=np.bool_)


def _is_bare(column: Readable) -> bool:
    """Whether cells that are equal as texts without spaces around them have the same bytes."""
    text, _ = _bytes_of(column)
    if text is None or text.notation is not None or text.data.max(initial=0) > MOST_ASCII:
        return False
    filled = text.ends > text.starts
    return bool((text.data[text.starts[filled]] > SPACE).all() and (text.data[text.ends[filled] - 1] > SPACE).all())
