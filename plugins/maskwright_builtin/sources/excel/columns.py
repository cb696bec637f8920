"""Columns of a sheet: what kind of values each holds, and an Arrow array of them."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import DataError, Place, Problem, write_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
EXACT = 2.0**53
NAMES = {float: "numbers", str: "texts", bool: "truth values", dt.date: "dates", dt.datetime: "dates", dt.time: "times"}
KINDS = {"numbers": "number", "texts": "text", "truth values": "truth", "times": "time"}
MARCH_1900 = dt.date(1900, 3, 1)
"""Excel believes in a 29 February 1900: days before are another day for other programs."""


class SheetColumn:
    """The cells of one column, chunk by chunk.

    `letters`: of the column in the sheet.
    """

    def __init__(self, name: str, letters: str, path: str) -> None:
        self.name = name
        self.letters = letters
        self._path = path
        self._chunks: list[tuple[int, Any, frozenset[type]]] = []

    def add(self, cells: Sequence[object], first_row: int) -> None:
        """Take the next cells, of which the first is in `first_row`; the empty text is an empty cell."""
        kinds = set(map(type, cells))
        kept: Any = cells
        if str in kinds:
            kept = [None if cell == "" else cell for cell in cells]
            kinds = set(map(type, kept)) - {type(None)}
        if kinds == {float}:
            kept = pa.array(kept, pa.float64())
        elif kinds == {str}:
            kept = pa.array(kept, pa.string())
        self._chunks.append((first_row, kept, frozenset(kinds)))

    def has_values(self) -> bool:
        """Whether there is anything in it."""
        return any(kinds for _, _, kinds in self._chunks)

    def typed(self, mixed: str, *, is_1904: bool) -> tuple[str, Any]:
        """Kind of the values, and all of them.

        `mixed`: what to do with numbers and texts in one column.
        """
        kinds = frozenset[type]().union(*(each for _, _, each in self._chunks))
        unknown = [kind for kind in kinds if kind not in NAMES]
        if unknown:
            hint = "Store them as numbers, of hours for instance."
            raise self._problem("holds durations", lambda cell: type(cell) in unknown, hint)
        names = {NAMES[kind] for kind in kinds}
        if names == {"numbers", "texts"} and mixed == "text":
            return "mixed", self._mixed()
        if len(names) > 1:
            raise self._several(names)
        if names == {"dates"}:
            return self._dates(kinds, is_1904=is_1904)
        if not names:
            return "empty", self._array(pa.null())
        kind = KINDS[names.pop()]
        types = {"number": pa.float64(), "text": pa.string(), "truth": pa.bool_(), "time": pa.time64("us")}
        array = self._array(types[kind])
        return kind, _whole(array) if kind == "number" else array

    def _array(self, kind: Any) -> Any:
        return pa.chunked_array(
            [
                cells.cast(kind) if isinstance(cells, pa.Array) else pa.array(cells, kind)
                for _, cells, _ in self._chunks
            ],
            kind,
        )

    def _dates(self, kinds: frozenset[type], *, is_1904: bool) -> tuple[str, Any]:
        if not is_1904:

            def is_early(cell: Any) -> bool:
                return cell is not None and (cell.date() if isinstance(cell, dt.datetime) else cell) < MARCH_1900

            if any(is_early(cell) for _, cells, _ in self._chunks for cell in cells):
                hint = (
                    "Excel counts a 29 February 1900 that never was: write days before March 1900 as text (1900-02-28)."
                )
                raise self._problem("has dates before March 1900, or none at all", is_early, hint)
        if dt.datetime in kinds:
            return "moment", self._array(pa.timestamp("us"))
        return "date", self._array(pa.date32())

    def _mixed(self) -> Any:
        def is_number_in_text(cell: object) -> bool:
            return isinstance(cell, str) and NUMBER.fullmatch(cell) is not None

        chunks = []
        for _, cells, _ in self._chunks:
            cells_here = cells.to_pylist() if isinstance(cells, pa.Array) else cells
            if any(map(is_number_in_text, cells_here)):
                hint = "Make them numbers, or all numbers of the column texts: on writing they could not be told apart."
                raise self._problem("holds numbers, and texts that look like numbers", is_number_in_text, hint)
            is_number = np.array([isinstance(cell, float) for cell in cells_here], dtype=np.bool_)
            numbers = np.array([cell if isinstance(cell, float) else 0.0 for cell in cells_here], dtype=np.float64)
            texts = pa.array([cell if isinstance(cell, str) else None for cell in cells_here], pa.string())
            chunks.append(pc.if_else(pa.array(is_number), write_numbers(numbers, ~is_number, None), texts))
        return pa.chunked_array(chunks, pa.string())

    def _several(self, names: set[str]) -> DataError:
        counts = dict.fromkeys(sorted(names), 0)
        for _, cells, kinds in self._chunks:
            if isinstance(cells, pa.Array):
                counts[NAMES[next(iter(kinds))]] += len(cells) - cells.null_count
            else:
                for cell in cells:
                    if cell is not None:
                        counts[NAMES[type(cell)]] += 1
        rare = min(counts, key=lambda each: counts[each])
        hint = f"Correct the {rare}, or the column's type."
        if names == {"numbers", "texts"}:
            hint = "Correct them; or declare `mixed: text`, and the variable's type and missing codes."
        message = f"holds {' and '.join(f'{count} {name}' for name, count in counts.items())}: the first of the {rare}"
        return self._problem(message, lambda cell: cell is not None and NAMES[type(cell)] == rare, hint, joined=" is")

    def _problem(
        self, message: str, wanted: Callable[[Any], bool], hint: str, joined: str = ", the first"
    ) -> DataError:
        row = 0
        for first, cells, _ in self._chunks:
            values = cells.to_pylist() if isinstance(cells, pa.Array) else cells
            row = next((first + place for place, cell in enumerate(values) if wanted(cell)), 0)
            if row:
                break
        text = f"column {self.name!r} {message}{joined} in {self.letters}{row}"
        return DataError(Problem(text, Place(self._path, row), hint))


def _whole(array: Any) -> Any:
    """Integers where all numbers are: the workbook knows binary64 numbers only."""
    numbers = np.asarray(pc.fill_null(array, 0.0))
    if np.all(np.abs(numbers) < EXACT) and np.array_equal(numbers, np.rint(numbers)):
        return array.cast(pa.int64())
    return array
