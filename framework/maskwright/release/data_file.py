"""The masked data as a file: written, named for whoever reads it back, and identified by hash and size."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from maskwright.data.declaration import VariableDeclaration
from maskwright.data.parts.part_files import address_of, find_parts, is_several, on_this_machine
from maskwright.data.published import published_batches
from maskwright.data.stored_cells import missing_as_written, untouched_cells
from maskwright.pipeline.resolved import DataSource
from maskwright.release.round_trip_check import refuse_written

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset, Layout
    from maskwright.data.parts.model import FoundPart
    from maskwright.data.variable import Variable
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.plugins.source import Source


def write_dataset(
    data: Dataset,
    path: Path,
    source: Source,
    original: Dataset | None = None,
    *,
    canonical: bool = False,
    changed: Collection[str] = (),
) -> Mapping[str, Any]:
    """Write a dataset with a source plugin; another format than it came in drops the layout.

    Returns columns that were given to the source exactly as the original holds them; shape (n,).
    """
    batches, layout, held = _published(data, source, original, canonical=canonical, changed=changed)
    source.write(path, batches, data.variables, layout)
    # Parts are a folder with files in it.
    if not (path.is_file() or (path.is_dir() and any(path.iterdir()))):
        refuse_written(source, "there is no file")
    return held


def write_nested(
    levels: Mapping[str, Dataset],
    groups: Mapping[str, NDArray[np.int64]],
    path: Path,
    source: Source,
    originals: Mapping[str, Dataset] | None = None,
    *,
    canonical: bool = False,
) -> dict[str, Mapping[str, Any]]:
    """Write records of levels inside each other, with a source plugin that can.

    `groups`: of each level but the top, the position of each record's group; ascending; shape (n,).
    """
    assert source.nested is not None
    published = {
        name: _published(data, source, None if originals is None else originals[name], canonical=canonical)
        for name, data in levels.items()
    }
    source.nested.write(
        path,
        {name: batches for name, (batches, _, _) in published.items()},
        {name: data.variables for name, data in levels.items()},
        groups,
        {name: layout for name, (_, layout, _) in published.items()},
    )
    if not path.is_file():
        refuse_written(source, "there is no file")
    return {name: held for name, (_, _, held) in published.items()}


def _published(
    data: Dataset, source: Source, original: Dataset | None, *, canonical: bool, changed: Collection[str] = ()
) -> tuple[Iterator[Any], Layout, Mapping[str, Any]]:
    """Batches of a dataset as a source takes them, the layout, and the columns that are as they were written."""
    same = original is not None and source.name == data.layout.format
    untouched = untouched_cells(original, data) if original is not None and same else None
    if changed and untouched is not None:
        untouched = {name: cells for name, cells in untouched.items() if name not in changed}
    if canonical and untouched is not None:
        untouched = {name: cells for name, cells in untouched.items() if not data[name].variable.is_numeric}
    batches = published_batches(
        data, source.writes_text, untouched=untouched, canonical=canonical, letter_codes=source.format.has_letter_codes
    )
    gone = {} if original is None or untouched is None else missing_as_written(original, data, untouched)
    layout = replace(data.layout, as_written=frozenset(untouched or ()), missing_as_written=gone)
    return batches, layout, untouched or {}


def written_file(path: Path, pipeline: Pipeline, variables: Sequence[Variable]) -> DataSource:
    """The masked file as anyone would read it, knowing only what was declared."""
    source = pipeline.output.source
    params = pipeline.data.params if source.name == pipeline.data.source.name else source.params()
    return written_data(path, source, params, variables)


def written_data(path: Path, source: Source, params: BaseModel, variables: Sequence[Variable]) -> DataSource:
    """A file that a source has written, for reading it with what was declared of these variables."""
    declared = {
        variable.name: VariableDeclaration(
            type=variable.type,
            role=variable.role,
            decimals=variable.decimals if variable.is_numeric and not variable.is_date else None,
            format=variable.date_format,
            categories=variable.categories if variable.type == "ordinal" else (),
            missing=tuple(dict(variable.empty_meanings).items()),
        )
        for variable in variables
    }
    known = params if source.format.params_of_written is None else source.format.params_of_written(params)
    return DataSource(path, source, known, declared)


class FileFacts(TypedDict):
    """What tells one file from another."""

    sha256: str
    bytes: int


def file_facts(path: Path) -> FileFacts:
    """SHA-256 and size of a file, read in pieces; of a folder, of the names and hashes of its files in order."""
    digest, size = hashlib.sha256(), 0
    if path.is_dir():
        for each in sorted(each for each in path.rglob("*") if each.is_file()):
            own = file_facts(each)
            digest.update(f"{each.relative_to(path).as_posix()}\0{own['sha256']}\n".encode())
            size += own["bytes"]
        return {"sha256": digest.hexdigest(), "bytes": size}
    with path.open("rb") as stream:
        return _facts(iter(lambda: stream.read(1 << 20), b""))


def data_facts(data: DataSource, layout: Layout | None = None) -> FileFacts:
    """SHA-256 and size of what data are read from, which need not be a file."""
    if layout is not None and "parts" in layout.details:
        return _facts_of_parts(layout.details["parts"])
    place = address_of(str(data.path))
    if data.source.content is None and data.source.format.reads_folders and is_several(place):
        return _facts_of_parts(find_parts(place))
    if data.source.content is None:
        return file_facts(data.path)
    if layout is not None and "sha256" in layout.details:
        return {"sha256": layout.details["sha256"], "bytes": layout.details["bytes"]}
    return _facts(data.source.content(data.path, data.params))


def _facts_of_parts(parts: Iterable[FoundPart]) -> FileFacts:
    """As of a folder: the hash of names and hashes of its files in order."""
    digest, size = hashlib.sha256(), 0
    for part in parts:
        with on_this_machine(part) as path:
            own = file_facts(path)
        digest.update(f"{part.name}\0{own['sha256']}\n".encode())
        size += own["bytes"]
    return {"sha256": digest.hexdigest(), "bytes": size}


def _facts(pieces: Iterable[bytes]) -> FileFacts:
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return {"sha256": digest.hexdigest(), "bytes": size}
