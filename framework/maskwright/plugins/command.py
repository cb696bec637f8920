"""What a command is: a word of the command line that a plugin adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel


@dataclass(frozen=True)
class Positional:
    """Marks an option of a command that is given by its place, without its name.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import Positional
    >>> class Params(BaseModel):
    ...     file: Annotated[str, Positional()] = "data.csv"
    >>> Params.model_fields["file"].metadata
    [Positional()]
    """


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of ``maskwright``.

    Attributes
    ----------
    name : str
        ``maskwright NAME``; the commands that come with Maskwright cannot be replaced.
    work : callable
        ``(params) -> str``: the text is printed. A mistake of the user is an `InputError` (exit code 2), a refusal a
        `ReleaseRefused` (1).
    params : type of pydantic.BaseModel
        Its options: a field ``records`` is ``--records``, a field of type ``bool`` a flag, one that is marked with
        `Positional` is given without its name; every field with a description, which is the help.
    summary : str
        The help of the command.

    Examples
    --------
    >>> from maskwright import Command
    >>> command = Command(name="greet", work=lambda params: "hello", summary="Says hello.")
    >>> command.work(command.params())
    'hello'
    """

    name: str
    work: Callable[[Any], str]
    params: type[BaseModel] = NoParams
    summary: str = ""
