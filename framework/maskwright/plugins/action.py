"""What an action is: something that is done when everything is released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pydantic import BaseModel


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something that is done with the files of a release, once all of them are in place.

    Attributes
    ----------
    name : str
        The key in the pipeline's ``after:`` list.
    act : callable
        ``(outputs, record, params) -> str or None``: `outputs` maps the keys of ``output:`` to absolute paths, without
        those that are confidential (``record``, ``svrl``, ``key_map``); `record` is the public record as plain data
        that cannot be changed. The text is told as a notice. An action that fails does not take the release back: the
        run says so, and its exit code is that of the failure. It may move files of the release away, and not change
        them: one that is changed is taken away.
    params : type of pydantic.BaseModel
        Parameters; every field with a description.
    summary : str

    Examples
    --------
    >>> from pathlib import Path
    >>> from maskwright import Action
    >>> def count_files(outputs, record, params):
    ...     return f"{len(outputs)} files"
    >>> action = Action(name="count_files", act=count_files, summary="Says how many files there are.")
    >>> action.act({"data": Path("masked.csv")}, {}, action.params())
    '1 files'
    """

    name: str
    act: Callable[[Mapping[str, Path], Mapping[str, Any], Any], str | None]
    params: type[BaseModel] = NoParams
    summary: str = ""
