"""A pipeline to start from for two linked files: which one has the groups, by which key, and who names whom."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.describe_data import described, looked_at
from maskwright.commands.init import StartedPipeline, already_there, doubts_of_plan, put_pipeline
from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files
from maskwright.commands.starting_text import LinkedFiles, pipeline_text
from maskwright.data.shared_codes import shared_codes
from maskwright.experiments.advice.levels import LOWER, UPPER, advise_levels
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.file_identity import reads_noted, refuse_to_overwrite
from maskwright.foundation.progress import Quiet, Reporter, silent, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.dataset import Column, Dataset


@reads_noted()
def start_linked_pipeline(
    data: Sequence[Path],
    to: Path,
    *,
    options: ReadingOptions = NO_OPTIONS,
    force: bool = False,
    reporter: Reporter | None = None,
) -> StartedPipeline:
    """Look at two files and write a commented pipeline that links them, which holds no value of a record.

    Parameters
    ----------
    data : sequence of Path
        Two, in any order.
    to : Path
        Pipeline file to write.
    options : ReadingOptions
    force : bool, default False
        Whether a file that is there is replaced.
    reporter : Reporter, optional

    Raises
    ------
    InputError
        A file cannot be read, or nothing links them; the pipeline exists or cannot be written.
    """
    shown = reporter or Quiet()
    if len(data) > 2:
        hint = "A run has two levels: leave the third out, and keep its key as a variable."
        raise InputError(Problem("a pipeline has one data file, or two that are linked", hint=hint))
    if to.exists() and not force:
        raise already_there(to)
    refuse_to_overwrite({"the pipeline": to}, {f"data file {path.name}": path for path in data})
    looked = [looked_at(file, shown) for file in data_files(data, options)]
    with stage(shown, "Looking for what links them"):
        upper, key = linking_key([each.data for each in looked], [path.name for path in data])
    lower = 1 - upper
    advice = advise_levels(looked[lower].data, key)
    if advice.member_key is None:
        hint = f"Number the members of each group: 1, 2, ... beside the same {key}."
        raise InputError(Problem(f"no variable of {data[lower].name} tells the members of a group apart", hint=hint))
    found = [described(each, silent) for each in looked]
    structure = {key, advice.member_key, *advice.pointers}
    variables = tuple(each for place in (upper, lower) for each in found[place].variables if each.name not in structure)
    together = replace(found[lower], variables=variables, household=None)
    stated: dict[str, Any] = dict(looked[lower].file.params.model_dump(exclude_unset=True))
    if options.file_format is not None:
        stated = {"format": options.file_format, **stated}

    def text(folder: Path | None, doubts: Sequence[Any] = (), problem: str = "") -> str:
        named = [path.absolute() if folder is None else Path(os.path.relpath(path.absolute(), folder)) for path in data]
        member: dict[str, object] = {"source": named[lower].as_posix(), "key": advice.member_key, "in": UPPER}
        if advice.pointers:
            member["pointers"] = dict.fromkeys(advice.pointers, advice.member_key)
        group: dict[str, object] = {"source": named[upper].as_posix(), "key": key}
        source = PurePosixPath(named[lower].as_posix()).as_posix()
        files = LinkedFiles({UPPER: group, LOWER: member})
        return pipeline_text(
            together, source, stated, (), active=False, doubts=doubts, problem=problem, linked=files
        )  # fmt: skip

    with stage(shown, "Planning"):
        try:
            doubts, problem = doubts_of_plan(text(None)), ""
        except InputError as error:
            doubts, problem = [], error.problems[0].message
    put_pipeline(to, text(to.absolute().parent, doubts, problem), force=force)
    said = tuple(f"{each.variable}: {each.said}" if each.variable else each.said for each in doubts)
    return StartedPipeline(to, to.read_text(encoding="utf-8"), together, said, problem)


def linking_key(data: Sequence[Dataset], files: Sequence[str]) -> tuple[int, str]:
    """Which of two files has the groups, and the variable by which the records of the other name them.

    Parameters
    ----------
    data : sequence of Dataset
        Two.
    files : sequence of str
        For messages.

    Raises
    ------
    InputError
        No variable of both names each record of one of them.
    """
    common = [name for name in data[0].names if name in data[1]]
    for name in common:
        columns = [each[name] for each in data]
        once = [_names_each(column) for column in columns]
        if any(column.missing.any() for column in columns) or once[0] == once[1]:
            continue
        upper = 0 if once[0] else 1
        above, below = shared_codes([columns[upper], columns[1 - upper]])
        if np.isin(below, above).all():
            return upper, name
    shown = f" (both have: {', '.join(common)})" if common else ""
    hint = "The records of the lower level say by the key of the upper one which group they belong to."
    raise InputError(Problem(f"no variable links {files[0]} and {files[1]}{shown}", hint=hint))


def _names_each(column: Column) -> bool:
    (codes,) = shared_codes([column])
    return not column.missing.any() and len(np.unique(codes)) == len(codes)
