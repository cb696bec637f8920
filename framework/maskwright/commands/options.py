"""Options on the command line: ``--set name=value``, for whichever file format or rule language has that option."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem, unknown_name
from maskwright.foundation.yaml_document import scalar
from maskwright.plugins.parameters import checked_params
from maskwright.plugins.registry import find_edit_reader, find_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pydantic import BaseModel


def stated_options(texts: Sequence[str]) -> dict[str, object]:
    """Options from ``--set name=value``.

    Raises
    ------
    InputError
        A text without ``=``.
    """
    found: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InputError(f"--set {text}: expected name=value, for instance max_text=5000000")
        found[name] = scalar(value).to_python()
    return found


def check_options(options: Mapping[str, object], data: Sequence[Path], rules: Sequence[Path]) -> None:
    """Refuse options that none of the files' formats and languages has.

    Raises
    ------
    InputError
        With the nearest name.
    """
    models = [find_source(path).params for path in data] + [find_edit_reader(path).params for path in rules]
    known = {name for model in models if model is not None for name in model.model_fields}
    problems = [Problem(unknown_name("option", name, known)) for name in options if name not in known]
    if problems:
        raise InputError(problems)


def params_of(model: type[BaseModel] | None, options: Mapping[str, object], name: str) -> BaseModel | None:
    """Parameters of a format or language, from the options that it knows; None when there are none of them.

    Raises
    ------
    InputError
        A value that the option cannot have.
    """
    if model is None:
        return None
    own = {key: value for key, value in options.items() if key in model.model_fields}
    return checked_params(model, own, f"options of {name}") if own else None
