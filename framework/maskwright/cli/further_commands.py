"""Commands that other packages add: entry points of the group ``maskwright.commands``, each a `Command`."""

from __future__ import annotations

import argparse
import functools
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, get_origin

from pydantic import ValidationError

from maskwright.foundation.errors import InputError, PluginError, Problem
from maskwright.foundation.exit_codes import EXIT_FINE
from maskwright.foundation.no_params import NoParams
from maskwright.plugins.guarding.call import broke_contract, guarded_call, output_apart
from maskwright.plugins.guarding.origin import BUILT_IN, Origin
from maskwright.plugins.packages import Allowed, allowed_by_environment
from maskwright.plugins.registered import PluginInfo, one_line
from maskwright.plugins.registry import package_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

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
KIND = "command"
OPTIONS = frozenset({"h", "help", "traceback"})
"""Options of every command."""


@functools.cache
def _found() -> Mapping[str, tuple[PluginInfo, Command | None]]:
    """What each entry point came to, by its name: of two packages with one name the built-in one, else the first."""
    allowed = Allowed(allowed_by_environment())
    found: dict[str, tuple[PluginInfo, Command | None]] = {}
    origins = ((*package_of(each), each) for each in entry_points(group=GROUP))
    for package, version, entry_point in sorted(origins, key=lambda it: (it[0] != BUILT_IN, it[0], it[2].name)):
        info = PluginInfo(entry_point.name, KIND, package, version)
        refusal = None if package == BUILT_IN else allowed.refusal(package)
        if refusal is not None:
            found.setdefault(info.name, (replace(info, status="not allowed", error=refusal), None))
            continue
        command, wrong = _loaded(entry_point, Origin(KIND, info.name, package, version))
        found.setdefault(info.name, (replace(info, status="broken", error=wrong) if wrong else info, command))
    return found


def _loaded(entry_point: EntryPoint, origin: Origin) -> tuple[Command | None, str | None]:
    """The command of an entry point, or what is wrong with it."""
    try:
        with output_apart(origin):
            command: object = entry_point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a package may fail in any way
        return None, one_line(error)
    if not isinstance(command, Command) or command.name != entry_point.name:
        return None, f"{entry_point.value} is no maskwright.Command called {entry_point.name!r}"
    taken = sorted(set(command.params.model_fields) & OPTIONS)
    if taken:
        return None, f"an option cannot be called {taken[0]!r}: every command has it"
    return command, None


def commands() -> Mapping[str, Command]:
    """Commands of installed packages that can be run, by name."""
    return {name: command for name, (_, command) in _found().items() if command is not None}


def command_infos(own: Collection[str]) -> Iterator[PluginInfo]:
    """Lines of ``maskwright plugins`` on commands; `own`: those of Maskwright, which are run in the place of others."""
    for info, _ in _found().values():
        wrong = f"Maskwright has a command {info.name!r} itself, which is run"
        yield replace(info, status="broken", error=wrong) if info.name in own else info


def is_further_command(word: str) -> bool:
    """Whether a word that is no command of Maskwright is one that a package adds."""
    return any(each.name == word for each in entry_points(group=GROUP))


def run_further_command(words: Sequence[str]) -> int:
    """Run a command that a package adds, and print what it returns."""
    info, command = _found()[words[0]]
    if command is None:
        raise PluginError(f"the command {info.name!r} of package {info.distribution} is {info.status}: {info.error}")
    parser = command_parser(command)
    given = {name: value for name, value in vars(parser.parse_args(words[1:])).items() if value is not None}
    given.pop("traceback")
    origin = Origin(KIND, info.name, info.distribution, info.version)
    text = guarded_call(origin, command.work, _params(command, given))
    if text is not None and not isinstance(text, str):
        raise broke_contract(origin, f"returned a {type(text).__name__}; it has to return a text or nothing")
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
