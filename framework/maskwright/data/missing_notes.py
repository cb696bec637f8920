"""What reading says of missing cells: how many there are, with which codes, and which codes never occur."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from maskwright.data.missing import is_code_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.data.dataset import Column

MOST_SHOWN = 20


@dataclass(frozen=True)
class MissingCounts:
    """How many cells of a variable are missing.

    `codes`: each declared missing code, and how many cells hold it. `suppressed_as`: what cells that steps suppress are
    written as: this code need not occur.
    """

    name: str
    cells: int
    codes: tuple[tuple[str, int], ...]
    suppressed_as: str | None

    @classmethod
    def of(cls, column: Column) -> Self:
        """What a column says of its variable, as it was read."""
        counts = tuple(code_counts(column))
        return cls(column.name, int(np.count_nonzero(column.missing)), counts, column.variable.suppressed_as)

    def __add__(self, other: MissingCounts) -> MissingCounts:
        """Of two parts of a file."""
        codes = dict(self.codes)
        for code, count in other.codes:
            codes[code] = codes.get(code, 0) + count
        return replace(self, cells=self.cells + other.cells, codes=tuple(codes.items()))

    def __str__(self) -> str:
        shown = ", ".join(f"{code!r} {count}" for code, count in self.codes if count)
        return f"{self.name} {self.cells}" + (f" ({shown})" if shown else "")


def missing_notes(columns: Sequence[Column]) -> Iterator[str]:
    """Sentences about the missing cells of each variable; none when there are none."""
    yield from missing_sentences([MissingCounts.of(column) for column in columns], len(columns[0]) if columns else 0)


def missing_sentences(counts: Sequence[MissingCounts], records: int) -> Iterator[str]:
    """Sentences about the missing cells of each variable; none when there are none."""
    shown = [str(each) for each in counts if each.cells]
    if shown:
        listed = ", ".join(shown[:MOST_SHOWN])
        more = f", and {len(shown) - MOST_SHOWN} more variables" if len(shown) > MOST_SHOWN else ""
        yield f"missing cells, of {records} records: {listed}{more}"
    yield from _never_seen(counts)


def code_counts(column: Column) -> Iterator[tuple[str, int]]:
    """Each declared missing code of a column, and how many cells hold it."""
    codes = column.variable.empty_texts
    if column.blank is None or not codes:
        yield from ((code, 0) for code in codes)
        return
    texts = pa.array(column.blank.texts, pa.string())
    cells = np.bincount(column.blank.codes[column.blank.codes >= 0], minlength=len(texts))
    for code in codes:
        yield code, int(cells[is_code_text(texts, [code])].sum())


def _never_seen(counts: Sequence[MissingCounts]) -> Iterator[str]:
    """Codes that are declared and that no cell of any of these variables holds."""
    where: dict[str, list[str]] = {}
    seen: set[str] = set()
    for each in counts:
        for code, count in each.codes:
            where.setdefault(code, []).append(each.name)
            if count:
                seen.add(code)
    hidden = {each.suppressed_as for each in counts}
    never = {code: names for code, names in where.items() if code.strip() and code not in seen and code not in hidden}
    if never:
        listed = ", ".join(
            f"{code!r} ({', '.join(names[:3])}{', ...' * (len(names) > 3)})" for code, names in never.items()
        )
        yield f"declared missing codes that no cell holds: {listed}"
