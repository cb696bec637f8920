"""What the text of a settings file says: for programs that change such files and must know that they did it right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maskwright.foundation.errors import InputError, PipelineError, Problem
from maskwright.foundation.yaml_document import load_yaml
from maskwright.pipeline.names import in_order
from maskwright.pipeline.resolve import HELP, resolve_pipeline
from maskwright.plugins.registry import pipelines_own_plugins


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
