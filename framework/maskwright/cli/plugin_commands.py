"""Commands that plugins add: their options are the fields of their parameters."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, get_origin

from pydantic import ValidationError

from maskwright.foundation.errors import EXIT_FINE, InputError, Problem
from maskwright.plugins.registry import plugins
from maskwright.plugins.run_extensions import Positional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from maskwright.plugins.run_extensions import Command


def is_of_plugin(word: str) -> bool:
    """Whether a word that is no command of Maskwright is one that a plugin adds."""
    return word in plugins().commands


def run_plugin_command(words: Sequence[str]) -> int:
    """Run a command of a plugin, and print what it says."""
    command = plugins().commands[words[0]]
    info = plugins().info("command", command.name)
    parser = command_parser(command, f"From the package {info.distribution} {info.version}.")
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
        stated = field.description or ""
        if any(isinstance(each, Positional) for each in field.metadata):
            parser.add_argument(name, nargs=None if field.is_required() else "?", metavar=name.upper(), help=stated)
        elif field.annotation is bool:
            parser.add_argument(flag, dest=name, action=argparse.BooleanOptionalAction, default=None, help=stated)
        elif get_origin(field.annotation) in (tuple, list, set, frozenset):
            parser.add_argument(flag, dest=name, action="append", metavar="X", help=f"{stated} (may be repeated)")
        else:
            default = "" if field.is_required() or field.default is None else f" ({field.default})"
            parser.add_argument(flag, dest=name, metavar="X", required=field.is_required(), help=stated + default)
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
