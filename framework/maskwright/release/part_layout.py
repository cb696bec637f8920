"""Which records each part of a release holds: those of a part of the original, a number of records, or one category."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from maskwright.data.parts.part_files import NO_VALUE, natural_key
from maskwright.data.published import published_batches
from maskwright.data.stored_cells import untouched_columns
from maskwright.foundation.errors import InputError, Problem
from maskwright.plugins.parts_reading import refuse_changed_parts
from maskwright.plugins.parts_writing import WRITTEN, WrittenPart
from maskwright.release.reference_reader import Block, constant_column, plain_blocks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset, Layout
    from maskwright.data.parts.model import Parts
    from maskwright.pipeline.resolved import Output
    from maskwright.plugins.source import Source
    from maskwright.release.pseudonymisation import Arranged


RECORDS_OF_PART = 1_000_000
"""Where neither the pipeline nor the original says how many."""


def refuse_disclosing_folders(
    layout: Layout, output: Output, changed: Collection[str], published: Collection[str]
) -> None:
    """Refuse, before anything is masked, folders whose names would tell what is masked or not published."""
    parts: Parts | None = layout.details.get("parts")
    if not output.is_folder or output.parts is not None or parts is None:
        return
    for key in parts.hive:
        if key in changed or key not in published:
            raise _disclosing_folder(key, "is masked" if key in changed else "is not published")


def refuse_changed_original(layout: Layout) -> None:
    """Stop where the parts of the data are not those that were read: what is released would be of others."""
    parts = layout.details.get("parts")
    if parts is not None:
        refuse_changed_parts(parts)


def _disclosing_folder(key: str, what: str) -> InputError:
    hint = f"output: {{parts: [{key}]}} makes folders of the values that are published, {{parts: 1000000}} none."
    return InputError(Problem(f"output.data: the names of its folders would reveal {key!r}, which {what}", hint=hint))


def in_parts(released: Arranged, original: Dataset, output: Output, endings: Sequence[str], first: int = 0) -> Arranged:
    """Records in the order of the parts that they are written in; the layout lists these under `WRITTEN`."""
    if not output.is_folder:
        return released
    data, layout = released.data, released.data.layout
    parts: Parts | None = layout.details.get("parts")
    ending = output.source.suffixes[0]
    if isinstance(output.parts, tuple):
        at, targets = _by_category(data, output.parts, ending)
    elif output.parts is not None or parts is None:
        size = RECORDS_OF_PART if output.parts is None else output.parts
        at = (first + np.arange(len(data))) // size - first // size
        count = int(at[-1]) + 1 if len(at) else 1
        targets = [WrittenPart(f"part-{first // size + place + 1}{ending}", 0) for place in range(count)]
    else:
        for key in parts.hive:
            if key not in data or key not in untouched_columns(original, data, [key]):
                raise _disclosing_folder(key, "is masked" if key in data else "is not published")
        origin = np.arange(len(data)) if data.origin is None else data.origin
        at = parts.positions(origin)
        at = _assigned_parts(at, [each.hive for each in parts]) if released.is_shuffled else at
        keeps_name = output.source.name == layout.format
        names = [each.name if keeps_name else _renamed(each.name, endings, ending) for each in parts]
        inside = layout.details.get("inside", {})
        targets = [
            WrittenPart(
                name, 0, each.name, tuple(pair for pair in each.hive if pair[0] not in inside.get(each.name, ()))
            )
            for name, each in zip(names, parts, strict=True)
        ]
    counts = np.bincount(at, minlength=len(targets)).tolist()
    written = tuple(replace(each, records=n) for each, n in zip(targets, counts, strict=True))
    rows = np.argsort(at, kind="stable")
    old = released.old
    if not np.array_equal(rows, np.arange(len(rows))):
        data, old = data.taken(rows), old.taken(rows)
    data = replace(data, layout=replace(layout, details={**layout.details, WRITTEN: written}))
    return replace(released, data=data, old=old)


def _assigned_parts(at: NDArray[np.int64], hive: Sequence[tuple[tuple[str, str | None], ...]]) -> NDArray[np.int64]:
    """Part of each record, in their random order: parts of the same folders get as many as they had."""
    group_of = {text: place for place, text in enumerate(dict.fromkeys(hive))}
    groups = np.array([group_of[text] for text in hive])
    counts = np.bincount(at, minlength=len(hive))
    dealt = np.empty(len(at), dtype=np.int64)
    for group in range(len(group_of)):
        own = np.flatnonzero(groups == group)
        dealt[groups[at] == group] = np.repeat(own, counts[own])
    return dealt


def _by_category(data: Dataset, names: Sequence[str], ending: str) -> tuple[NDArray[np.int64], list[WrittenPart]]:
    """Part of each record: one for each combination of published values of some variables."""
    keys = replace(data, columns=tuple(data[name] for name in names))
    table = pa.Table.from_batches(published_batches(keys, writes_text=True))
    cells = [[each or None for each in table.column(name).to_pylist()] for name in names]
    values = list(zip(*cells, strict=True))
    named = {
        each: "/".join(f"{quote(key)}={_folder(value)}" for key, value in zip(names, each, strict=True))
        for each in dict.fromkeys(values)
    }
    order = sorted(named, key=lambda each: natural_key(named[each]))
    place = {each: at for at, each in enumerate(order)}
    at = np.array([place[each] for each in values], dtype=np.int64)
    return at, [
        WrittenPart(f"{named[each]}/part-1{ending}", 0, None, tuple(zip(names, each, strict=True))) for each in order
    ]


def _folder(value: str | None) -> str:
    return NO_VALUE if value is None else quote(value, safe=" ")


def _renamed(name: str, endings: Sequence[str], ending: str) -> str:
    """Name of a part with another ending."""
    own = max((each for each in endings if name.lower().endswith(each)), key=len, default="")
    return name[: len(name) - len(own)] + ending


def unrenamed_parts(
    path: Path, source: Source, layout: Layout, names: Sequence[str], numeric: Collection[str] = ()
) -> Iterator[Block]:
    """Records of what was written, block by block as `plain_blocks` gives them: of a file, or of each part."""
    if not path.is_dir():
        details = layout.details if layout.format == source.name else {}
        yield from plain_blocks(path, source, details, names, numeric)
        return
    for each in layout.details[WRITTEN]:
        own = each.layout(layout)
        details = own.details if own.format == source.name else {}
        inside = [name for name in names if name not in each.left_out]
        if each.records == 0:
            continue
        for block in plain_blocks(path / each.name, source, details, inside, numeric):
            n = len(block[inside[0]])
            stated = {key: constant_column(value, n) for key, value in each.said}
            yield {name: stated[name] if name in stated else block[name] for name in names}


def first_file(path: Path, layout: Layout) -> Path:
    """A file of what was written: itself, or its first part."""
    if not path.is_dir():
        return path
    targets: tuple[Any, ...] = layout.details[WRITTEN]
    return path / str(targets[0].name)
