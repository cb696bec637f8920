"""What the text of a settings file says: for programs that change such files and must know that they did it right."""

from __future__ import annotations

from typing import Any

from maskwright.foundation.errors import PipelineError
from maskwright.foundation.yaml_document import load_yaml


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
