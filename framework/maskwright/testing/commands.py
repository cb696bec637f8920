"""Checks of commands: they are called with their options, return what is to be printed, and refuse in words."""

from __future__ import annotations

import contextlib
import io
from functools import partial
from typing import TYPE_CHECKING

from maskwright.cli.plugin_commands import command_parser, option_name
from maskwright.plugins.guarding.further_kinds import checked_text
from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    as_the_engine_takes_it,
    check_described,
    params_of,
    require,
)
from maskwright.testing.conduct import prints_nothing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.plugins.command import Command


def _checks(command: Command, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, command, given)
    yield "documented", partial(check_described, command.name, command.summary, command.params)
    yield "help", partial(_help, command)
    yield "options_are_asked_for", partial(_required, command)
    yield "returns_text", partial(_text, command, given)
    yield "prints_nothing", partial(_silent, command, given)


command_checks = ChecksOf("command", _checks)
"""A command that reads a file needs `params` that name one of made-up records."""


def _help(command: Command) -> None:
    said = command_parser(command).format_help()
    silent = [name for name in command.params.model_fields if option_name(name) not in said]
    require(not silent, f"parameters that are no option of the command line: {', '.join(silent)}")


def _required(command: Command) -> None:
    """Require that options without a default are asked for, and others that nobody knows are refused."""
    needed = [name for name, field in command.params.model_fields.items() if field.is_required()]
    for words in ([], ["--no-such-option"]) if needed else (["--no-such-option"],):
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                command_parser(command).parse_args(words)
            except SystemExit:
                continue
        raise AssertionError(f"the options {words} are taken, and should not be")


def _text(command: Command, given: Params) -> str:
    return as_the_engine_takes_it("command", command, checked_text, command.work(params_of(command, given)))


def _silent(command: Command, given: Params) -> None:
    prints_nothing(lambda: _text(command, given))
