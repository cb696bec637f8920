"""A pipeline, read with every mistake that can be found: in it, in its rule files, and in the names it gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from maskwright.foundation.errors import PipelineError
from maskwright.pipeline.names import further_problems, in_order, names_in
from maskwright.pipeline.names_of_levels import further_level_problems
from maskwright.pipeline.python_settings import resolve_mapping
from maskwright.pipeline.resolve import UnfinishedPipelineError, resolve_file

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.pipeline.overrides import Overrides
    from maskwright.pipeline.resolved import Pipeline


def read_pipeline(
    pipeline: str | Path | Mapping[str, object], overrides: Overrides = (), *, check_data: bool = True
) -> Pipeline:
    """Read a pipeline; where it is wrong, the rule files and the names in it are looked at too.

    `pipeline`: the file, or what it would say; then names of files are relative to the working directory. `check_data`:
    whether the data file has to exist.
    """
    try:
        if isinstance(pipeline, Mapping):
            return resolve_mapping(pipeline, overrides, check_data=check_data)
        return resolve_file(pipeline, overrides, check_data=check_data)
    except UnfinishedPipelineError as error:
        if error.levels is None:
            further = further_problems(names_in(error.data), error.edits, error.uses)
        else:
            further = further_level_problems(error.levels, error.edits, error.uses)
        file = "" if isinstance(pipeline, Mapping) else str(pipeline)
        raise PipelineError(in_order([*error.problems, *further], file)) from error
