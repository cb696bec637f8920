"""Records of the original and of the masked file in one row: pairs, changed cells, and the cells of some rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright import Column, Dataset

    Rows = NDArray[np.int64]
    Truths = NDArray[np.bool_]

HOW = "Write `key_map: keys.csv` under output, and run it again: the map says which original each record is."
"""Remedy where rows belong together in a way that nothing at hand says."""

NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which masked record each original one is.

    `place`: 0-based, -1 where it is none; None where that is not known; shape (n,). `by`: in words, how it is known.
    `why`: it is not.
    """

    place: Rows | None = None
    by: str = ""
    why: str = ""


def paired(before: Dataset, after: Dataset, known: Mapping[str, Any], origin: Rows | None) -> Pairs:
    """Pair records by what the run says of them; never by likeness.

    `known`: of the run that wrote the masked file, as `maskwright_studio.worker.rows_of` has it. `origin`: what
    its map of keys says: the original record of each masked one, -1 where it names none; shape (m,).
    """
    found = _pairs(before, after, known, origin)
    if found.place is None:
        return found
    is_there = found.place >= 0
    for name in known["untouched"]:
        if name in before and name in after:
            one, other = before[name].taken(np.flatnonzero(is_there)), after[name].taken(found.place[is_there])
            if (changed_cells(one, other) & ~one.missing & ~other.missing).any():
                return Pairs(why=f"{name} is published as it is, and would differ in rows that were put side by side")
    return found


def _pairs(before: Dataset, after: Dataset, known: Mapping[str, Any], origin: Rows | None) -> Pairs:
    if known["is_drawn"]:
        return Pairs(why="its records are drawn anew, and none of them is one of the original")
    if origin is not None:
        is_fit = len(origin) == len(after) and _are_places(origin, len(before))
        mapped = Pairs(_turned(origin, len(before)), "by the map of keys that the run wrote") if is_fit else None
        return mapped or Pairs(why="the map of keys is not of this file")
    if known["is_kept"] and not known["left_out"] and len(before) == len(after):
        return Pairs(np.arange(len(before), dtype=np.int64), "by their order, which the run kept")
    for name in known["untouched"]:
        if name in before and name in after and before[name].variable.identifies:
            first, second = _alike(before[name], after[name])
            if _is_key(first) and _is_key(second) and np.isin(second, first).all():
                order = np.argsort(first)
                origin = order[np.searchsorted(first[order], second)]
                return Pairs(_turned(origin, len(before)), f"by {name}, which is published as it is")
    left_out = "some records of the original are not in it, and nothing says which"
    return Pairs(why=left_out if known["is_kept"] else "its records are in random order")


def _are_places(origin: Rows, records: int) -> bool:
    """Whether these are different records of an original, apart from those that are not known."""
    given = origin[origin >= 0]
    return len(np.unique(given)) == len(given) and bool((origin < records).all())


def _turned(origin: Rows, records: int) -> Rows:
    place = np.full(records, -1, dtype=np.int64)
    is_known = origin >= 0
    place[origin[is_known]] = np.flatnonzero(is_known)
    return place


def _is_key(codes: NDArray[np.int64]) -> bool:
    return bool((codes >= 0).all()) and len(np.unique(codes)) == len(codes)


def mapped_records(path: str, column: str) -> Rows | None:
    """Original records, from 0, that a map of keys names in a column, in the order of its lines."""
    try:
        found = arrow_csv.read_csv(path, convert_options=arrow_csv.ConvertOptions(include_columns=[column]))
        return np.asarray(pc.cast(found[column].combine_chunks(), pa.int64()), dtype=np.int64) - 1
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None


def _alike(one: Column, other: Column) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes that are equal where the cells of two columns have the same text; -1 where there is no value."""
    (texts, codes), (others, second) = _coded(one), _coded(other)
    known = {text: code for code, text in enumerate(texts)}
    places = [known.setdefault(text, len(known)) for text in others]
    return codes, np.array([*places, -1], dtype=np.int64)[second]


def _coded(column: Column) -> tuple[Sequence[str], NDArray[np.int64]]:
    if not column.variable.is_numeric:
        return column.variable.categories, np.where(column.missing, -1, column.values).astype(np.int64)
    used, codes = np.unique(column.values[~column.missing], return_inverse=True)
    found = np.full(len(column), -1, dtype=np.int64)
    found[~column.missing] = codes
    return _texts(column, used, np.zeros(len(used), dtype=bool)), found


def changed_cells(one: Column, other: Column) -> Truths:
    """Cells of a variable that are not as they were, missing codes included; shape (n,), as both columns."""
    if one.variable.is_numeric and other.variable.is_numeric:
        differ = np.asarray(one.values != other.values)
    else:
        first, second = _alike(one, other)
        differ = first != second
    found = np.where(one.missing | other.missing, one.missing != other.missing, differ)
    if (one.missing & other.missing).any():
        texts, others = (pc.fill_null(each.nothing(slice(0, len(each))), "") for each in (one, other))
        found |= one.missing & other.missing & np.asarray(pc.not_equal(texts, others), dtype=np.bool_)
    return np.asarray(found, dtype=np.bool_)


def _texts(column: Column, values: NDArray[np.float64], missing: Truths) -> list[str]:
    """Numbers and dates as a file has them: all their digits, or what was changed would look the same."""
    if column.variable.is_date:
        found = mw.write_dates(values, missing, column.variable.date_text)
    else:
        found = mw.write_numbers(values, missing, column.variable.decimals, column.digits)
    return [each or "" for each in found.to_pylist()]


def cells_of(column: Column, rows: Rows) -> list[dict[str, str]]:
    """Cells of some records: their text, what a code means in words, and whether there is no value."""
    part, variable = column.taken(rows), column.variable
    words, meanings = dict(variable.labels), dict(variable.empty_meanings)
    nothing = [each or "" for each in part.nothing(slice(0, len(rows))).to_pylist()]
    texts = (
        _texts(part, part.values, part.missing) if variable.is_numeric
        else [variable.categories[code] if code >= 0 else "" for code in part.values.tolist()]
    )  # fmt: skip
    return [
        {"kind": "missing" if code else "empty", "text": code, "words": meanings.get(code, "")} if is_missing
        else {"kind": "", "text": text, "words": words.get(text, "")}
        for text, code, is_missing in zip(texts, nothing, part.missing.tolist(), strict=True)
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class RecordTable:
    """Records of one level of the original, with the masked one of each.

    `after`: None where there is no masked file. `violated`, `violated_after`: records, from 0, that violate each edit,
    of the original and, by number of the masked record, of the masked file; ascending. `sizes`, `risks`: class of
    equal keys and individual risk of each record; `sizes_after`: those of masked records; None where they are not
    known. `renewed`: keys of records that are published with new values, which masks nothing.
    `unlisted`: edits of which not all violations are known by record.
    """

    before: Dataset
    after: Dataset | None
    pairs: Pairs
    violated: Mapping[str, Rows]
    violated_after: Mapping[str, Rows]
    sizes: NDArray[np.int64] | None = None
    risks: NDArray[np.float64] | None = None
    sizes_after: NDArray[np.int64] | None = None
    renewed: frozenset[str] = frozenset()
    unlisted: tuple[str, ...] = ()

    @cached_property
    def _is_violating(self) -> Truths:
        found = np.zeros(len(self.before), dtype=np.bool_)
        for rows in self.violated.values():
            found[rows] = True
        place = self.pairs.place
        if place is not None and self.violated_after:
            found |= np.isin(place, np.concatenate(list(self.violated_after.values()))) & (place >= 0)
        return found

    def _violating(self, edit: str) -> Rows:
        if not edit:
            return np.flatnonzero(self._is_violating)
        found = self.violated.get(edit, NO_ROWS)
        if self.pairs.place is None or edit not in self.violated_after:
            return found
        return np.union1d(found, np.flatnonzero(np.isin(self.pairs.place, self.violated_after[edit])))

    @cached_property
    def _is_in_place(self) -> bool:
        """Whether each record stands in the masked file where it stood."""
        place, after = self.pairs.place, self.after
        return place is not None and after is not None and np.array_equal(place, np.arange(len(after)))

    def changed_in(self, name: str) -> Truths:
        """Records in which a variable is published otherwise; shape (n,)."""
        place, after = self.pairs.place, self.after
        found = np.zeros(len(self.before), dtype=np.bool_)
        if place is None or after is None or name not in after or name not in self.before:
            return found
        if self._is_in_place:
            return changed_cells(self.before[name], after[name])
        there = np.flatnonzero(place >= 0)
        found[there] = changed_cells(self.before[name].taken(there), after[name].taken(place[there]))
        return found

    @cached_property
    def _changed(self) -> tuple[Truths, dict[str, int]]:
        """Records with any changed cell, and in how many records each variable has one."""
        found, counts = np.zeros(len(self.before), dtype=np.bool_), {}
        for name in (each for each in self.before.names if each not in self.renewed):
            own = self.changed_in(name)
            found |= own
            if number := int(np.count_nonzero(own)):
                counts[name] = number
        return found, counts

    def chosen(self, show: str, k: int, edit: str, name: str) -> Rows:
        """Records that are shown: in the order of the file, or those at risk with the smallest class first."""
        every, place = np.arange(len(self.before), dtype=np.int64), self.pairs.place
        rows = every
        match show:
            case "violating":
                rows = self._violating(edit)
            case "changed":
                rows = every[self.changed_in(name) if name else self._changed[0]]
            case "left-out":
                rows = NO_ROWS if place is None else every[place < 0]
            case "risk":
                rows = self._below(k, every, self.sizes, self.risks)
            case "masked-risk":
                there = NO_ROWS if place is None else every[place >= 0]
                sizes = None if place is None or self.sizes_after is None else self.sizes_after[place[there]]
                rows = self._below(k, there, sizes)
        return rows

    @staticmethod
    def _below(k: int, rows: Rows, sizes: NDArray[np.int64] | None, risks: NDArray[np.float64] | None = None) -> Rows:
        """Those of some records whose class is smaller than k: the smallest first, then the largest risk."""
        if sizes is None:
            return NO_ROWS
        is_below = sizes < k
        single = np.zeros(len(rows)) if risks is None else risks
        return rows[is_below][np.lexsort((rows[is_below], -single[is_below], sizes[is_below]))]

    def counts(self, k: int) -> dict[str, Any]:
        """How many records each choice shows, without anything that is said of one of them."""
        shown = ["violating"]
        if self.pairs.place is not None:
            shown = ["changed", "left-out", *shown]
        if self.sizes is not None:
            shown.append("risk")
            if self.sizes_after is not None and self.pairs.place is not None:
                shown.append("masked-risk")
        return {
            "records": len(self.before), "masked": None if self.after is None else len(self.after),
            "counts": {show: len(self.chosen(show, k, "", "")) for show in shown},
            "changed_in": self._changed[1], "names": list(self.before.names),
            "violated": {name: len(self._violating(name)) for name in {**self.violated, **self.violated_after}},
            "unlisted": list(self.unlisted), "paired_by": self.pairs.by, "not_paired": self.pairs.why,
        }  # fmt: skip

    def rows(self, rows: Rows, names: Sequence[str]) -> dict[str, Any]:
        """Some records, cell by cell: only what a click has requested asks for it."""
        place, after = self.pairs.place, self.after
        columns = []
        for name in names:
            column: dict[str, Any] = {"name": name, "label": self.before[name].variable.label or "", "after": None}
            column["before"] = cells_of(self.before[name], rows)
            if place is not None and after is not None and name in after:
                there = np.maximum(place[rows], 0)
                changed = changed_cells(self.before[name].taken(rows), after[name].taken(there))
                column["after"] = [
                    {**cell, "changed": bool(differs)}
                    for cell, differs in zip(cells_of(after[name], there), changed.tolist(), strict=True)
                ]
            columns.append(column)
        return {
            "is_paired": place is not None, "is_moved": place is not None and not self._is_in_place, "columns": columns,
            "rows": [self._about(int(row), -1 if place is None else int(place[row])) for row in rows],
        }  # fmt: skip

    def _about(self, row: int, place: int) -> dict[str, Any]:
        def of(values: NDArray[Any] | None, at: int) -> Any:
            return None if values is None or at < 0 else values[at].item()

        return {
            "record": row + 1, "masked": place + 1, "size": of(self.sizes, row), "risk": of(self.risks, row),
            "size_after": of(self.sizes_after, place),
            "violates": [name for name, rows in self.violated.items() if _holds(rows, row)],
            "violates_after": [name for name, rows in self.violated_after.items() if _holds(rows, place)],
        }  # fmt: skip


def _holds(ascending: Rows, row: int) -> bool:
    at = int(np.searchsorted(ascending, row))
    return at < len(ascending) and int(ascending[at]) == row
