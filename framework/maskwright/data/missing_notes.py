"""What reading says of missing cells: how many there are, with which codes, and which codes never occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskwright.data.missing import is_code_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright.data.dataset import Column

MOST_SHOWN = 20


def missing_notes(columns: Sequence[Column]) -> Iterator[str]:
    """Sentences about the missing cells of each variable; none when there are none.

    Parameters
    ----------
    columns : sequence of Column
        As they were read.
    """
    shown = [_counted(column) for column in columns if column.missing.any()]
    if shown:
        listed = ", ".join(shown[:MOST_SHOWN])
        more = f", and {len(shown) - MOST_SHOWN} more variables" if len(shown) > MOST_SHOWN else ""
        yield f"missing cells, of {len(columns[0])} records: {listed}{more}"
    yield from _never_seen(columns)


def _counted(column: Column) -> str:
    """Number of missing cells, and how many of them hold each declared code."""
    missing = f"{column.name} {int(np.count_nonzero(column.missing))}"
    counts = dict(code_counts(column))
    shown = ", ".join(f"{code!r} {count}" for code, count in counts.items() if count)
    return f"{missing} ({shown})" if shown else missing


def code_counts(column: Column) -> Iterator[tuple[str, int]]:
    """Each declared missing code of a column, and how many cells hold it.

    Parameters
    ----------
    column : Column
        As it was read.
    """
    codes = column.variable.empty_texts
    if column.blank is None or not codes:
        yield from ((code, 0) for code in codes)
        return
    texts = pa.array(column.blank.texts, pa.string())
    cells = np.bincount(column.blank.codes[column.blank.codes >= 0], minlength=len(texts))
    for code in codes:
        yield code, int(cells[is_code_text(texts, [code])].sum())


def _never_seen(columns: Iterable[Column]) -> Iterator[str]:
    """Codes that are declared and that no cell of any of these variables holds."""
    where: dict[str, list[str]] = {}
    seen: set[str] = set()
    for column in columns:
        for code, count in code_counts(column):
            where.setdefault(code, []).append(column.name)
            if count:
                seen.add(code)
    hidden = {column.variable.suppressed_as for column in columns}
    never = {code: names for code, names in where.items() if code.strip() and code not in seen and code not in hidden}
    if never:
        listed = ", ".join(
            f"{code!r} ({', '.join(names[:3])}{', ...' * (len(names) > 3)})" for code, names in never.items()
        )
        yield f"declared missing codes that no cell holds: {listed}"
