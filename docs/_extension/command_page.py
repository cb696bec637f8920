"""The page on commands: usage, options and exit codes, from the parser itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from _extension.markdown_text import block, code, defined, one_line
from maskwright.cli.main import build_parser
from maskwright.foundation.exit_codes import EXIT_BUG, EXIT_FINE, EXIT_INPUT, EXIT_OUTPUT_FAILED, EXIT_REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXIT_CODES = {
    EXIT_FINE: "Fine.",
    EXIT_REFUSED: "Nothing was released, or the data are not fine: an edit is violated, a threshold is missed, a doubt "
    "is open.",
    EXIT_INPUT: "A mistake in the input or in how the command was called; the message says where.",
    EXIT_BUG: "A fault of Maskwright or of a plugin.",
    EXIT_OUTPUT_FAILED: "All was done, but standard output could not be written to the end.",
}
WIDTH = 88


def command_page() -> Mapping[str, str]:
    """Text of the page, by the name of its file."""
    parts = ["# Every command", "Usage and options, as `maskwright COMMAND --help` shows it.", "## Exit codes"]
    parts.append(
        "\n".join(["| code | meaning |", "|---|---|", *(f"| {k} | {said} |" for k, said in EXIT_CODES.items())])
    )
    for name, says, parser in _commands(build_parser(), ()):
        parts += [f"## {code(name)}", one_line(says), block(_usage(parser)), _arguments(parser)]
    return {"commands.md": "\n\n".join(part for part in parts if part) + "\n"}


def _commands(
    parser: argparse.ArgumentParser, before: tuple[str, ...]
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Name, what it does, and parser of each command that can be run, those of groups one by one."""
    for group in parser._actions:
        if isinstance(group, argparse._SubParsersAction):
            says = {each.dest: each.help or "" for each in group._choices_actions}
            for name, sub in group.choices.items():
                inside = list(_commands(sub, (*before, name)))
                yield from inside or [(" ".join((*before, name)), says.get(name, sub.description or ""), sub)]


def _usage(parser: argparse.ArgumentParser) -> str:
    # As wide as the page, not as the terminal of who builds it.
    class Formatter(argparse.HelpFormatter):
        def __init__(self, prog: str) -> None:
            super().__init__(prog, width=WIDTH)

    parser.formatter_class = Formatter
    before = "usage: "
    return "\n".join(line[len(before) :] for line in parser.format_usage().splitlines())


def _arguments(parser: argparse.ArgumentParser) -> str:
    entries: list[str] = []
    for action in parser._actions:
        if action.dest == "help" or action.help == argparse.SUPPRESS:
            continue
        names = " or ".join(code(each) for each in action.option_strings) or code(_shown(action))
        value = f" {code(_shown(action))}" if action.option_strings and action.nargs != 0 else ""
        entries.append(defined(names + value, _said(action)))
    return "\n".join(entries)


def _shown(action: argparse.Action) -> str:
    if action.metavar is not None:
        return action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    return action.dest.upper()


def _said(action: argparse.Action) -> str:
    said = one_line((action.help or "").replace("%%", "%"))
    if action.choices is not None:
        said += f" One of {', '.join(code(str(each)) for each in action.choices)}."
    if isinstance(action.default, str | int | float) and not isinstance(action.default, bool):
        said += f" Default {code(str(action.default))}."
    needed = action.required if action.option_strings else action.nargs not in ("?", "*")
    return said.strip() or ("Required." if needed else "May be left out.")
