"""The flat file of a pipeline, whose levels are looked for or looked at again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.options import ReadingOptions, pipeline_levels
from maskwright.commands.reading import load
from maskwright.foundation.errors import InputError, Problem
from maskwright.pipeline.reading import read_pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.data.dataset import Dataset


def flat_data_of(pipeline: Path, key: str | None) -> tuple[Dataset, str]:
    """Data of a pipeline, and the variable that names the groups.

    `key`: by default the key of the upper level that the pipeline declares, or its ``cluster``.
    """
    levels = pipeline_levels(ReadingOptions(pipeline=pipeline), ())
    if levels is not None and levels.form != "flat":
        how = "each level has its own file" if levels.form == "linked" else "records stand inside each other"
        hint = f"`maskwright plan {pipeline}` says what is done with each level."
        raise InputError(Problem(f"{pipeline.name}: {how}: which variables a level has is said by that", hint=hint))
    if levels is not None:
        source = next(iter(levels.sources.values()))
        return load(source, may_lack="anything"), key or next(iter(levels.declared.values())).key
    data = read_pipeline(pipeline).data
    named = key or data.cluster
    if named is None:
        hint = "--key NAME, or `data: cluster: NAME` in the pipeline"
        raise InputError(Problem(f"{pipeline.name} does not say which variable names the household", hint=hint))
    return load(data, may_lack="identifiers"), named
