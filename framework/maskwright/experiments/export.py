"""The pipeline file of a cell, ready to run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.file_names import split_name
from maskwright.foundation.whole_files import write_text
from maskwright.foundation.yaml_document import scalar
from maskwright.pipeline.resolved import RuleFile
from maskwright.plugins.parameter_markers import file_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.experiments.experiment import Cell

HEAD = """\
# {cell}: a cell of {experiment}.
# It has no seed: `maskwright run` draws a fresh one, so that the released file is none of those that were compared.
"""


def write_pipeline(cell: Cell, folder: Path) -> Path:
    """Write the pipeline of a cell into a folder, as a file named after the cell."""
    path = pipeline_path(cell, folder)
    write_text(path, pipeline_text(cell, path))
    return path


def pipeline_text(cell: Cell, path: Path) -> str:
    """Text of the pipeline of a cell, as it stands in a file of that name."""
    if not cell.active.steps:
        raise InputError(
            Problem(f"{cell.name} masks nothing (k is 1): there is no pipeline to run", hint="Choose another cell.")
        )
    head = HEAD.format(cell=cell.name, experiment=cell.pipeline.name)
    return head + yaml.dump(_settings(cell, path), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def pipeline_path(cell: Cell, folder: Path) -> Path:
    """Name of the pipeline file of a cell."""
    stem = re.sub(r"[^\w.=-]+", "-", cell.name).strip("-")
    return folder / f"{stem}.yaml"


def _settings(cell: Cell, path: Path) -> dict[str, Any]:
    described = cell.pipeline
    settings = dict(described.settings)
    settings["data"] = _with_data_files(settings["data"], described.folder, path)
    if described.data.source.content is None:
        settings["data"] |= {"source": _relative(described.data.path, path)}
    settings["measure"] = [
        _with_measure_files(stated, file_fields(each.measure.params), described.folder, path)
        for stated, each in zip(settings.get("measure") or [], described.measures, strict=True)
    ]
    settings["edits"] = [
        _with_file(stated, _relative(each.path, path)) if isinstance(each, RuleFile) else stated
        for stated, each in zip(settings.get("edits") or [], described.edits, strict=True)
    ]
    settings["protect"] = [step for number, step in enumerate(settings["protect"], 1) if number not in cell.identity]
    stem = path.stem
    settings["output"] = {
        "data": f"{stem}-masked{split_name(described.data.path.name)[1]}",
        "record": f"{stem}-run.json",
        "public_record": f"{stem}-about.json",
    }
    return settings


def _with_data_files(section: dict[str, Any], folder: Path, path: Path) -> dict[str, Any]:
    """The data section with the files that describe the data, relative to a folder, as `path` has to name them."""

    def moved(file: str) -> str:
        return _relative(folder / file, path)

    found: dict[str, Any] = dict(section)
    if found.get("codebook"):
        found["codebook"] = moved(found["codebook"])
    variables: dict[str, dict[str, Any] | None] = dict(found.get("variables") or {})
    for name, declared in variables.items():
        stated: dict[str, Any] = dict(declared or {})
        hierarchy: Any = stated.get("hierarchy")
        if isinstance(hierarchy, str):
            variables[name] = {**stated, "hierarchy": moved(hierarchy)}
        elif hierarchy and "file" in hierarchy:
            variables[name] = {**stated, "hierarchy": {**hierarchy, "file": moved(hierarchy["file"])}}
    return found | {"variables": variables} if variables else found


def _with_measure_files(stated: Any, fields: Sequence[str], folder: Path, path: Path) -> Any:
    """A measure with the names of its files, relative to a folder, as the pipeline in `path` has to write them."""
    if not isinstance(stated, dict):
        return stated
    ((name, params),) = stated.items()
    files = {key: _relative(folder / params[key], path) for key in fields if params and params.get(key)}
    return {name: params | files} if files else stated


def _with_file(stated: dict[str, Any], file: str) -> dict[str, Any]:
    ((language, named),) = stated.items()
    return {language: named | {"file": file} if isinstance(named, dict) else file}


def _relative(file: Path, path: Path) -> str:
    """Name of a file as the pipeline in `path` has to write it."""
    try:
        return Path(os.path.relpath(file, path.parent)).as_posix()
    except ValueError:  # on another drive
        return str(file)


class _Dumper(yaml.SafeDumper):
    """Texts that a pipeline file would read as numbers, true, false or null are put in quotes."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = isinstance(scalar(text).value, str)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _text)
