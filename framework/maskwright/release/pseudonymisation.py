"""Pseudonymisation and record order: new keys in place of identifiers, and records in random order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from maskwright.data.number_text import write_numbers
from maskwright.data.record_groups import household_columns
from maskwright.data.stored_cells import rows_of
from maskwright.data.variable import Variable
from maskwright.foundation.findings import Notice
from maskwright.foundation.randomness import generator
from maskwright.plugins.parts_writing import WRITTEN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.pipeline.file_model import ReleaseSection


LETTERS, MORE = "BCDFGHJKLMNPQRSTVWXZ", "BCDFGHJKLMNPQRSTVWXZ0123456789"
"""Of a text: its first character, and the others. Without vowels there are no words, no NA, no exponents."""
WHOLE_NUMBER, DIGITS = r"^-?(0|[1-9][0-9]*)$", r"^[0-9]+$"
RARE = 100
"""So many times as many keys are possible as there are."""
MOST_DIGITS, MOST_CHARACTERS = 15, 12
"""A number of so many digits is exact in binary64; so many characters are distinguished by 63 bits."""


class KeyKind(NamedTuple):
    """What the keys of a column are made of.

    `characters`: that may stand in each place; the places together are read as a number. `is_number`: whether the
    column holds numbers.
    """

    characters: tuple[str, ...]
    is_number: bool

    @property
    def possible(self) -> int:
        """How many different keys there are."""
        count = 1
        for each in self.characters:
            count *= len(each)
        return count

    def texts(self, drawn: NDArray[np.int64]) -> pa.Array:
        """Texts of keys.

        `drawn`: each less than `possible`; shape (m,).
        """
        cells = np.empty((len(drawn), len(self.characters)), dtype=np.uint8)
        rest = drawn
        for place in range(len(self.characters) - 1, -1, -1):
            alphabet = np.frombuffer(self.characters[place].encode("ascii"), dtype=np.uint8)
            rest, digit = np.divmod(rest, len(alphabet))
            cells[:, place] = alphabet[digit]
        return pa.array(cells.view(f"S{cells.shape[1]}")[:, 0].astype(str), pa.string())


def renewed(column: Column, rng: np.random.Generator) -> Column:
    """Column of new keys: equal for equal old ones, different for different ones, missing where they are missing."""
    codes, old = old_keys(column)
    kind = key_kind(old)
    # Those that are old keys or missing codes are left out, and there are enough for that.
    taken = pa.concat_arrays([old, pa.array(column.variable.empty_texts, pa.string())])
    texts = kind.texts(rng.choice(kind.possible, size=len(old) + len(taken), replace=False))
    new = texts.filter(pc.invert(pc.is_in(texts, value_set=taken)))[: len(old)]
    variable = Variable(
        column.name,
        "integer" if kind.is_number else "nominal",
        "identifier",
        decimals=0 if kind.is_number else None,
        missing_codes=column.variable.missing_codes,
        missing_meanings=column.variable.missing_meanings,
        suppressed_as=column.variable.suppressed_as,
        renewed=True,
    )
    if kind.is_number:
        numbers = np.append(np.asarray(pc.cast(new, pa.float64())), np.nan)
        return column.changed(numbers[codes], variable=variable)
    order = np.asarray(pc.array_sort_indices(new))
    places = np.full(len(new) + 1, -1, dtype=np.int32)
    places[order] = np.arange(len(new), dtype=np.int32)
    categories = tuple(new.take(pa.array(order)).to_pylist())
    return column.changed(places[codes], variable=replace(variable, categories=categories))


def old_keys(column: Column) -> tuple[NDArray[np.int64], pa.Array]:
    """For each record the position of its key among the different ones, -1 where missing; and these, as texts."""
    used, positions = np.unique(column.values[~column.missing], return_inverse=True)
    codes = np.full(len(column), -1, dtype=np.int64)
    codes[~column.missing] = positions
    if column.variable.is_numeric:
        return codes, write_numbers(used, np.zeros(len(used), dtype=bool), column.variable.decimals)
    return codes, pa.array(column.variable.categories, pa.string()).take(pa.array(used))


def key_kind(old: pa.Array) -> KeyKind:
    """Kind of the keys that can take the place of others.

    `old`: different texts; shape (m,).
    """
    width, wanted = int(pc.max(pc.utf8_length(old)).as_py() or 1), RARE * (len(old) + 10)
    if _all(old, WHOLE_NUMBER):
        return _wide_enough("123456789", "0123456789", min(width, MOST_DIGITS), wanted, is_number=True)
    if _all(old, DIGITS):
        return _wide_enough("0123456789", "0123456789", min(width, MOST_DIGITS), wanted, is_number=False)
    return _wide_enough(LETTERS, MORE, min(width, MOST_CHARACTERS), wanted, is_number=False)


def _all(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def _wide_enough(first: str, more: str, width: int, wanted: int, *, is_number: bool) -> KeyKind:
    kind = KeyKind((first, *[more] * (width - 1)), is_number)
    return kind if kind.possible >= wanted else _wide_enough(first, more, width + 1, wanted, is_number=is_number)


@dataclass(frozen=True, eq=False)
class Keys:
    """Variables that are published as keys with new values.

    `old`: their columns, record for record beside the original, and where in the file these stand; perhaps no columns.
    `order`: names of the variables of the original with the keys in their places.
    """

    old: Dataset
    order: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the keys."""
        return self.old.names


@dataclass(frozen=True, eq=False)
class Arranged:
    """Masked data as they are written.

    `data`: `origin` says where each record comes from. `is_shuffled`: whether the records are in random order. `old`:
    old keys of these records, and where in the file these stand.
    """

    data: Dataset
    is_shuffled: bool
    old: Dataset

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the keys."""
        return self.old.names

    def write_map(self, path: Path) -> None:
        """Write which original record, under which old keys, each record is. Confidential."""
        assert self.old.origin is not None
        count = np.arange(1, len(self.data) + 1)
        cells: dict[str, pa.Array] = {"record": pa.array(count), "original_record": pa.array(self.old.origin + 1)}
        details = self.data.layout.details
        written = details.get(WRITTEN, ())
        cells |= _places("", [(each.name, each.records) for each in written], count - 1)
        if "parts" in details:
            cells |= _places("original_", [(each.name, each.records) for each in details["parts"]], self.old.origin)
        for old in self.old:
            cells |= {old.name: key_texts(old), f"new {old.name}": key_texts(self.data[old.name])}
        arrow_csv.write_csv(pa.table(cells), path)


def _places(of: str, parts: Sequence[tuple[str, int]], records: NDArray[np.int64]) -> dict[str, pa.Array]:
    """Columns of the file and the row, from 1, of each of these records; none where there are no parts."""
    if not parts:
        return {}
    offsets = np.cumsum([0, *(n for _, n in parts)])
    at = np.searchsorted(offsets[1:], records, side="right")
    names = pa.array([name for name, _ in parts], pa.string())
    return {f"{of}file": names.take(pa.array(at)), f"{of}row": pa.array(records - offsets[at] + 1)}


def key_names(asked: ReleaseSection, variables: Iterable[Variable], cluster: str | None) -> tuple[str, ...]:
    """Names of the variables that are published as keys with new values."""
    known = tuple(variables)
    of_records = {each.name for each in known if each.renewed or (asked.ids == "new" and each.role == "identifier")}
    for each in known:
        if each.name == cluster and each.role != "identifier" and not each.as_is and (of_records or asked.ids == "new"):
            of_records.add(each.name)
    return tuple(each.name for each in known if each.name in of_records)


def arranged(
    masked: Dataset, original: Dataset, keys: Keys, seed: int, *, is_shuffled: bool, untouched: Collection[str] = ()
) -> Arranged:
    """Masked data with new keys, in the order in which they are published."""
    stream = (dataset_digest(original), dataset_digest(keys.old))
    old, data = keys.old.taken(rows_of(original, masked)), masked
    if keys.names:
        new = {each.name: renewed(each, generator(seed, "release", "keys", each.name, *stream)) for each in old}
        new |= {column.name: column for column in masked if column.name not in new}
        listed = [name for name in keys.order if name in new]
        listed += [name for name in masked.names if name not in listed]
        data = replace(masked, columns=tuple(new[name] for name in listed))
    if is_shuffled:
        homes = masked.households
        are_told = masked.cluster in (*keys.names, *untouched) or bool(household_columns(masked, untouched))
        rows = random_order(len(masked), homes if are_told else None, generator(seed, "release", "order", *stream))
        data, old = data.taken(rows), old.taken(rows)
    return Arranged(data, is_shuffled, old)


def arrangement_notices(released: Arranged) -> Iterator[Notice]:
    """What a person should know of order and keys; nothing where all is as it was."""
    if released.keys and not released.is_shuffled:
        message = (
            f"{', '.join(released.keys)}: published with new values, and the records in their old order "
            "(release.order: kept), by which whoever has the original pairs them"
        )
        yield Notice("order-kept", "", message)
    for old in released.old:
        codes, texts = old_keys(old)
        repeats = int(np.count_nonzero(codes >= 0)) - len(texts)
        if repeats and old.variable.role == "identifier" and old.name != released.data.cluster:
            message = (
                f"{old.name} has {repeats} repeats: equal ones are equal in the new key too, which shows what belongs "
                "together"
            )
            yield Notice("repeated-keys", old.name, message, repeats)


def random_order(n: int, households: NDArray[np.int64] | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of n records in random order; members of a household follow each other.

    `households`: household of each record, 0..c-1; None: every record for itself; shape (n,). Returns shape (n,).
    """
    members = rng.permutation(n)
    if households is None or n == 0:
        return members
    rank = rng.permutation(int(households.max()) + 1)
    return np.asarray(members[np.argsort(rank[households[members]], kind="stable")], dtype=np.int64)


def dataset_digest(data: Dataset) -> str:
    """What tells the cells of a dataset from any others."""
    found = hashlib.blake2b()
    for column in data:
        found.update(column.name.encode())
        found.update(np.ascontiguousarray(column.values).data)
        found.update(np.ascontiguousarray(column.missing).data)
        found.update("\x1f".join(column.variable.categories).encode())
    return found.hexdigest()


def key_texts(column: Column) -> pa.Array:
    """Keys of a column as texts."""
    codes, texts = old_keys(column)
    return texts.take(pa.array(codes, mask=codes < 0))
