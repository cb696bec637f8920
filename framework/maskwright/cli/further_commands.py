"""Commands that other packages add: entry points of the group ``maskwright.commands``, each a `Command`."""

from __future__ import annotations

import argparse
import functools
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, get_origin

from pydantic import ValidationError

from maskwright.foundation.errors import EXIT_FINE, InputError, Problem
from maskwright.foundation.no_params import NoParams
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.packages import Allowed, allowed_by_environment, package_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


GROUP = "maskwright.commands"
"""Entry points that each name a `Command`."""


@functools.cache
def commands() -> Mapping[str, Command]:
    """Commands of installed packages that may be loaded, by name."""
    allowed = Allowed(allowed_by_environment())
    found: dict[str, Command] = {}
    for entry_point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        package = package_name(entry_point.dist.name if entry_point.dist is not None else "unknown")
        if package == BUILT_IN or allowed.refusal(package) is None:
            command: Command = entry_point.load()
            found.setdefault(command.name, command)
    return found


def is_further_command(word: str) -> bool:
    """Whether a word that is no command of Maskwright is one that a package adds; nothing is imported."""
    return any(each.name == word for each in entry_points(group=GROUP)) and word in commands()


def run_further_command(words: Sequence[str]) -> int:
    """Run a command that a package adds, and print what it returns."""
    command = commands()[words[0]]
    parser = command_parser(command)
    given = {name: value for name, value in vars(parser.parse_args(words[1:])).items() if value is not None}
    given.pop("traceback")
    text = command.work(_params(command, given))
    if text:
        print(text, end="" if text.endswith("\n") else "\n")
    return EXIT_FINE


def option_name(field: str) -> str:
    """Option of a command for a field of its parameters."""
    return f"--{field.replace('_', '-')}"


def command_parser(command: Command, says: str = "") -> argparse.ArgumentParser:
    """Parser of the options of a command."""
    parser = argparse.ArgumentParser(prog=f"maskwright {command.name}", description=command.summary, epilog=says)
    parser.add_argument("--traceback", action="store_true", help="show a traceback when something goes wrong")
    for name, field in command.params.model_fields.items():
        flag = option_name(name)
        said = field.description or ""
        if any(isinstance(each, Positional) for each in field.metadata):
            parser.add_argument(name, nargs=None if field.is_required() else "?", metavar=name.upper(), help=said)
        elif field.annotation is bool:
            parser.add_argument(flag, dest=name, action=argparse.BooleanOptionalAction, default=None, help=said)
        elif get_origin(field.annotation) in (tuple, list, set, frozenset):
            parser.add_argument(flag, dest=name, action="append", metavar="X", help=f"{said} (may be repeated)")
        else:
            default = "" if field.is_required() or field.default is None else f" ({field.default})"
            parser.add_argument(flag, dest=name, metavar="X", required=field.is_required(), help=said + default)
    return parser


def _params(command: Command, given: dict[str, Any]) -> BaseModel:
    try:
        return command.params.model_validate(given)
    except ValidationError as error:
        problems = [
            Problem(f"--{'.'.join(str(part) for part in each['loc']).replace('_', '-')}: {each['msg']}")
            for each in error.errors(include_input=False, include_url=False)
        ]
        raise InputError(problems) from None
