"""A pipeline read from a file, from settings of a program or from text, with every mistake that can be found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from maskwright.foundation.errors import InputError, PipelineError, Place, Problem
from maskwright.foundation.yaml_document import Node, from_python, load_yaml
from maskwright.pipeline.overrides import Overrides, apply_overrides
from maskwright.pipeline.resolve import HELP, UnfinishedPipelineError, resolve_file, resolve_pipeline
from maskwright.pipeline.variable_names import SETTING, further_level_problems, further_problems, in_order, names_in
from maskwright.plugins.registry import pipelines_own_plugins

if TYPE_CHECKING:
    from maskwright.pipeline.resolved import Pipeline


WHOLE = "the pipeline"


def resolve_mapping(settings: Mapping[str, object], overrides: Overrides = (), *, check_data: bool = True) -> Pipeline:
    """Read a pipeline given as a mapping; names of files are relative to the working directory."""
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


def read_pipeline(
    pipeline: str | Path | Mapping[str, object], overrides: Overrides = (), *, check_data: bool = True
) -> Pipeline:
    """Read a pipeline; where it is wrong, the rule files and the names in it are looked at too."""
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


def read_settings(text: str, name: str = "pipeline.yaml") -> Any:
    r"""Plain values of a YAML text, by the rules of the pipeline file: ``no`` is text, ``012`` is the number 12.

    Nothing is looked up or checked: neither keys, nor names, nor files.

    Parameters
    ----------
    text : str
    name : str, default "pipeline.yaml"
        Name of the file, for error messages.

    Returns
    -------
    dict, list, str, int, float, bool or None
        Keys are text, in file order.

    Raises
    ------
    PipelineError
        With the line and column of each mistake: no YAML, a key twice, a tag, a merge key.

    Examples
    --------
    >>> import maskwright as mw
    >>> mw.read_settings("protect:\n  - method: noise   # a comment\n    params: {share: 0.1}")
    {'protect': [{'method': 'noise', 'params': {'share': 0.1}}]}
    """
    return load_yaml(text, name, PipelineError).to_python()


@pipelines_own_plugins()
def pipeline_problems(text: str, path: str | Path) -> tuple[Problem, ...]:
    r"""Mistakes in the text of a pipeline, as they would be found if it stood in a file; data are not read.

    Parameters
    ----------
    text : str
    path : str or Path
        The file that it would stand in: names of files in it are relative to its folder.

    Returns
    -------
    tuple of Problem
        In file order, with line and column; nothing where none is found.

    Examples
    --------
    >>> import maskwright as mw
    >>> text = "maskwright: 1\ndata: {source: people.csv}\nprotect: [{method: microagregation}]\noutput: {data: m.csv}"
    >>> [str(each.place) for each in mw.pipeline_problems(text, "pipeline.yaml")]
    ['pipeline.yaml:2:16', 'pipeline.yaml:3:20']
    """
    problems: list[Problem] = []
    file = Path(path)
    try:
        root = load_yaml(text, file.name, problems=problems)
        if not root.is_mapping:
            raise PipelineError([*problems, Problem("a pipeline is a mapping of keys", root.place, HELP)])
        resolve_pipeline(file.absolute(), text, root, problems=problems)
    except InputError as error:
        return tuple(in_order(error.problems, file.name))
    return ()
