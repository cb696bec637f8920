"""Writing of records inside the records of another level, as the original file was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright_builtin.sources.files import writing
from maskwright_builtin.sources.xml.writing import (
    element_tags,
    encoded,
    encoding_of,
    form_of_layout,
    head,
    joined_cells,
    parts,
    tail,
    with_commas,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from maskwright import Layout, Variable


def write_nested(
    path: Path,
    tables: Mapping[str, Iterable[Any]],
    variables: Mapping[str, tuple[Variable, ...]],
    groups: NDArray[np.int64],
    layouts: Mapping[str, Layout],
) -> None:
    """Write records of two levels as XML, those of the lower inside those of the upper, in the encoding of `write_xml`.

    `tables`: cell texts, the upper level first; null is written as no element. `groups`: position in the upper level of
    the group of each record of the lower; ascending; shape (n,). `layouts`: of the original file, one level at a time.
    """
    top, bottom = tables
    upper, lower = form_of_layout(layouts[top]), form_of_layout(layouts[bottom])
    if layouts[bottom].format != "xml":
        lower = {**lower, "record": "Member", "before_record": "\n    "}
        upper = {**upper, "after_cells": "\n  "}
    groups_text = _Groups(path, variables[top], layouts[top], upper, layouts[bottom].details.get("follow", ()))
    tags = element_tags(path, variables[bottom], lower)
    names = [variable.name for variable in variables[bottom]]
    literal = f"{lower['before_record']}<{lower['record']}>", f"{lower['after_cells']}</{lower['record']}>"
    absent = names if layouts[bottom].format == "xml" else ()
    commas, encoding = (
        with_commas(lower, variables[bottom]),
        encoding_of(upper, (*tags, lower["record"], *groups_text.tags)),
    )
    members = _Members(
        joined_cells(commas(part), names, tags, absent, lower["before_cell"], *literal)
        for batch in tables[bottom]
        for part in parts(batch, sum(map(len, tags)))
    )
    done = written = 0
    with writing(path) as file:
        file.write(head(upper, encoding).encode(encoding))
        for batch in tables[top]:
            for part in parts(batch, groups_text.markup):
                starts = np.searchsorted(groups, np.arange(done, done + len(part) + 1))
                own = members.next(int(starts[-1]) - written)
                _write(file, *groups_text.around(part), own, np.diff(starts), encoding)
                done, written = done + len(part), int(starts[-1])
        file.write(tail(upper).encode(encoding))


class _Groups:
    """Texts of the upper level's records, before their members and after them."""

    def __init__(
        self,
        path: Path,
        variables: tuple[Variable, ...],
        layout: Layout,
        form: Mapping[str, Any],
        followed: Collection[str],
    ) -> None:
        names = [variable.name for variable in variables]
        tags = element_tags(path, variables, form)
        self._columns = list(zip(names, tags, strict=True))
        # Members stand where they stood, though the element just before them may not be published.
        self._before = max((place for place, name in enumerate(names, 1) if name in followed), default=0)
        if layout.format != "xml":
            self._before = len(names)
        self._absent = names if layout.format == "xml" else ()
        self._form = form
        self._commas = with_commas(form, variables)
        self.tags = tags
        self.markup = sum(map(len, tags))

    def around(self, batch: Any) -> tuple[Any, Any]:
        """Texts before and after the members of each record of a batch."""
        form, batch = self._form, self._commas(batch)
        start, stop = f"{form['before_record']}<{form['record']}>", f"{form['after_cells']}</{form['record']}>"
        before, after = self._columns[: self._before], self._columns[self._before :]
        return self._cells(batch, before, start, ""), self._cells(batch, after, "", stop)

    def _cells(self, batch: Any, columns: list[tuple[str, str]], start: str, stop: str) -> Any:
        names, tags = [name for name, _ in columns], [tag for _, tag in columns]
        return joined_cells(batch, names, tags, self._absent, self._form["before_cell"], start, stop)


class _Members:
    """Texts of the lower level's records, handed out by number."""

    def __init__(self, texts: Iterator[Any]) -> None:
        self._texts = texts
        self._rest = pa.array([], pa.string())

    def next(self, count: int) -> Any:
        """Texts of the next records."""
        found = [self._rest]
        held = len(self._rest)
        while held < count:
            found.append(next(self._texts))
            held += len(found[-1])
        whole = pa.concat_arrays(found)
        self._rest = whole.slice(count)
        return whole.slice(0, count)


def _write(file: BinaryIO, before: Any, after: Any, members: Any, sizes: NDArray[np.int64], encoding: str) -> None:
    """Write records of the upper level with their members between the two texts of each."""
    n = len(sizes)
    ends = np.cumsum(sizes + 2)
    order = np.full(int(ends[-1]) if n else 0, -1, dtype=np.int64)
    order[ends - 1] = n + np.arange(n)
    order[ends - sizes - 2] = np.arange(n)
    order[order < 0] = 2 * n + np.arange(len(members))
    pieces = pa.concat_arrays([pc.cast(each, pa.large_string()) for each in (before, after, members)])
    text = pieces.take(pa.array(order))
    offsets = memoryview(text.buffers()[1]).cast("q")
    if n:
        file.write(encoded(memoryview(text.buffers()[2])[offsets[0] : offsets[len(text)]], encoding))
