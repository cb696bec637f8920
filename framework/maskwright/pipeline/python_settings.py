"""A pipeline that a program gives as a mapping: read as the file would be that holds the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import yaml

from maskwright.foundation.errors import PipelineError, Place, Problem
from maskwright.foundation.yaml_document import Node, from_python
from maskwright.pipeline.names import SETTING
from maskwright.pipeline.overrides import Overrides, apply_overrides
from maskwright.pipeline.resolve import resolve_pipeline

if TYPE_CHECKING:
    from maskwright.pipeline.resolved import Pipeline

WHOLE = "the pipeline"


def resolve_mapping(settings: Mapping[str, object], overrides: Overrides = (), *, check_data: bool = True) -> Pipeline:
    """Read a pipeline given as a mapping; names of files are relative to the working directory.

    `settings`: as a pipeline file says them. `check_data`: whether the data file must exist.
    """
    problems: list[Problem] = []
    root = apply_overrides(_placed(settings, "", problems), overrides)
    text = yaml.safe_dump(root.to_python(), sort_keys=False, allow_unicode=True)
    return resolve_pipeline(None, text, root, check_data=check_data, problems=problems)


def _placed(value: object, path: str, problems: list[Problem]) -> Node:
    """Node tree whose places say where in the mapping each value stands."""
    place = Place(SETTING + path if path else WHOLE)
    inner = f"{path}." if path else ""
    if isinstance(value, Mapping):
        entries = []
        for key, each in value.items():
            name = f"{inner}{key}"
            entries.append((Node("scalar", Place(SETTING + name), str(key), str(key)), _placed(each, name, problems)))
        return Node("mapping", place, entries=tuple(entries))
    if isinstance(value, (list, tuple)):
        elements = (_placed(each, f"{inner}{position}", problems) for position, each in enumerate(value))
        return Node("sequence", place, elements=tuple(elements))
    try:
        return from_python(value, place)
    except PipelineError as error:
        problems.extend(error.problems)
        return Node("scalar", place)
