"""The files of masked levels: written in the form in which the levels came, and read back as anyone would."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.commands.levels.arriving import linked_as
from maskwright.commands.reading import load
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import stage
from maskwright.release.data_file import write_dataset, write_nested, written_file
from maskwright.release.files import writing
from maskwright.release.levels.tables import flat_table, linked_tables, nested_tables
from maskwright.release.levels.written_cells import refuse_differences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import LevelSources, Pipeline
    from maskwright.release.files import Release


def write_levels(described: Pipeline, linked: LinkedData, files: Mapping[str, Dataset], release: Release) -> None:
    """Write masked levels to temporary files: one flat, one of each level, or one with records inside each other.

    Parameters
    ----------
    described : Pipeline
        With levels.
    linked : LinkedData
        In the order in which it is published.
    files : mapping of level name to Dataset
        The originals as they were read.
    release : Release
    """
    source, canonical = described.output.source, described.output.numbers == "canonical"
    form = _levels(described).form
    if form == "nested":
        groups = linked.levels[-1].groups
        assert groups is not None
        path = release.temporary("data")
        with writing(path):
            write_nested(nested_tables(linked, files), groups, path, source, files, canonical=canonical)
        release.sealed("data")
        return
    if form == "flat":
        file = next(iter(files.values()))
        tables, originals = {"data": flat_table(linked, file)}, {"data": file}
    else:
        tables = {f"data.{name}": table for name, table in linked_tables(linked, files).items()}
        originals = {f"data.{name}": file for name, file in files.items()}
    for key, table in tables.items():
        path = release.temporary(key)
        with writing(path):
            write_dataset(table, path, source, originals[key], canonical=canonical)
        release.sealed(key)


def read_levels_back(described: Pipeline, meant: LinkedData, release: Release, reporter: Reporter) -> LinkedData:
    """Levels as whoever reads the written files gets them, linked again.

    Parameters
    ----------
    described : Pipeline
        With levels.
    meant : LinkedData
        What was written.
    release : Release
    reporter : Reporter

    Raises
    ------
    InputError
        They are not what was meant.
    """
    levels = _levels(described)
    files: dict[str, Dataset] = {}
    variables = [each for level in meant for each in level.data.variables]
    for name, source in levels.sources.items():
        if levels.form == "flat" and files:
            files[name] = next(iter(files.values()))
            continue
        key = f"data.{name}" if levels.form == "linked" else "data"
        file = written_file(release.temporary(key), replace(described, data=source), variables)
        with stage(reporter, "Reading back") as progress:
            files[name] = load(file, progress, may_lack="anything")
    released = linked_as(levels, files)
    if any(len(a) != len(b) for a, b in zip(released, meant, strict=True)):
        raise InputError("the written data do not have the records that were masked")
    if levels.form == "nested":
        refuse_differences(meant, released)
    return released


def _levels(described: Pipeline) -> LevelSources:
    assert described.levels is not None
    return described.levels
