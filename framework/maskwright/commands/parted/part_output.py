"""What is published of one part: arranged into files, written, and read again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.shuffling import ENDING, spill, spilled
from maskwright.data.dataset import Dataset
from maskwright.plugins.parts_reading import parts_source
from maskwright.plugins.parts_writing import WRITTEN, writing_parts
from maskwright.plugins.registry import find_source
from maskwright.release.data_file import write_dataset, written_file
from maskwright.release.files import writing
from maskwright.release.part_layout import in_parts
from maskwright.release.pseudonymisation import Arranged

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from maskwright.data.variable import Variable
    from maskwright.pipeline.resolved import DataSource, Pipeline
    from maskwright.plugins.source import Source


PUBLISHED = "published"
"""Folder of a finished part in which the files lie that will be released."""

ORDER = "order"
"""Where each record of the part stands in its files, if that is elsewhere than in the part."""


def name_of(pipeline: Pipeline, written: str) -> str:
    """Name, within the folder of a task, of a file that it wrote; `written` is its name within the masked data."""
    return "/".join(each for each in (PUBLISHED, pipeline.output.data.name, written) if each)


def arranged(masked: Dataset, original: Dataset, pipeline: Pipeline, first: int) -> Dataset:
    """Records in the order of the files that they are written into; `origin` says where in the part they stand."""
    released = Arranged(masked, is_shuffled=False, old=Dataset(()))
    return in_parts(released, original, pipeline.output, pipeline.data.source.suffixes, first).data


def write_part(
    published: Dataset,
    original: Dataset | None,
    pipeline: Pipeline,
    folder: Path,
    changed: Collection[str] = (),
) -> Mapping[str, Any]:
    """Write what is published of a part; the columns that are as the original holds them."""
    target = folder / name_of(pipeline, "")
    target.parent.mkdir(mode=0o700)
    if published.origin is not None:
        order = np.argsort(published.origin)
        spill(folder / ORDER, {"row": order}, np.zeros(len(order), dtype=np.int64), 1)
    canonical = pipeline.output.numbers == "canonical"
    with writing(target):
        return write_dataset(published, target, _source(pipeline), original, canonical=canonical, changed=changed)


def written_files(published: Dataset, pipeline: Pipeline) -> list[list[object]]:
    """Name within the masked data, "" where these are one file, and records of each file that was written."""
    if not pipeline.output.is_folder:
        return [["", len(published)]]
    return [[each.name, each.records] for each in published.layout.details[WRITTEN]]


def written_part(folder: Path, pipeline: Pipeline, variables: Sequence[Variable]) -> DataSource:
    """What was written of a part, as anyone would read it."""
    return replace(written_file(folder / name_of(pipeline, ""), pipeline, variables), source=_source(pipeline))


def in_order_of_part(released: Dataset, folder: Path) -> Dataset:
    """Records that were read back, in the order of the part."""
    if not (folder / ORDER).with_suffix(ENDING).exists():
        return replace(released, origin=None)
    order = spilled(folder / ORDER, 0, 1)["row"].astype(np.int64)
    return replace(released.taken(order), origin=None)


def _source(pipeline: Pipeline) -> Source:
    """Source that writes what is published of a part, and reads it back."""
    source = find_source(pipeline.output.source.name)
    return writing_parts(parts_source(source)) if pipeline.output.is_folder else source
