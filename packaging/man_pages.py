"""Man pages of the commands, from the parser that reads them: ``python packaging/man_pages.py FOLDER``.

Building a wheel calls this, so nothing but Python is needed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PROGRAM = "maskwright"
EXIT_CODES = (
    ("0", "All was done; the data satisfy what they were checked against."),
    ("1", "The data violate an edit, a threshold was missed, or a doubt is open. Nothing was released."),
    ("2", "The input or the command is wrong: a file, a rule, a name, an option."),
    ("3", "A bug in Maskwright or in a plugin. A log without any value of the data is named."),
    ("4", "All was done, but standard output could not be written to the end."),
    ("128 + N", "Signal N ended the command."),
)
PLUGINS = (
    "Installed packages may add commands, such as studio (pip install 'maskwright[studio]'). "
    "maskwright plugins lists them, and maskwright NAME --help explains one."
)


def man_pages(parser: argparse.ArgumentParser, version: str) -> dict[str, str]:
    """Pages of a program and of its commands, by the name of their file.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of the program.
    version : str

    Returns
    -------
    dict of str to str
        ``maskwright-run.1`` and the like, in the macros of man(7).
    """
    parsers = dict(_parsers(parser))
    return {
        f"{_page_name(prog)}.1": _page(each, says, list(parsers), version) for prog, (each, says) in parsers.items()
    }


def _parsers(
    parser: argparse.ArgumentParser, says: str = ""
) -> Iterator[tuple[str, tuple[argparse.ArgumentParser, str]]]:
    """Each parser with what it does in a few words, by what is typed before its options."""
    yield parser.prog, (parser, says or parser.description or "")
    commands = _commands(parser)
    if commands is not None:
        told = {each.dest: each.help or "" for each in commands._choices_actions}
        for name, sub in commands.choices.items():
            yield from _parsers(sub, told.get(name, ""))


def _commands(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    # argparse has no public way to ask a parser what it takes.
    return next((each for each in parser._actions if isinstance(each, argparse._SubParsersAction)), None)


def _page_name(prog: str) -> str:
    return prog.replace(" ", "-")


def _page(parser: argparse.ArgumentParser, says: str, programs: list[str], version: str) -> str:
    return "\n".join(_lines(parser, says, programs, version)) + "\n"


def _lines(parser: argparse.ArgumentParser, says: str, programs: list[str], version: str) -> Iterator[str]:
    name = _page_name(parser.prog)
    # Without a date, the same sources give the same page.
    yield f'.TH "{_text(name.upper())}" 1 "" "{_text(f"{PROGRAM} {version}")}" "Commands of Maskwright"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(says.rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f".B {_text(parser.prog)}"
    yield from (_text(_usage(action)) for action in parser._actions)
    yield ".SH DESCRIPTION"
    yield _text(parser.description or says)
    for group in parser._action_groups:
        shown = [each for each in group._group_actions if each.help != argparse.SUPPRESS]
        if shown:
            yield f'.SH "{_text((group.title or "options").upper())}"'
            yield from (line for action in shown for line in _explained(action, parser.prog))
    if parser.prog == PROGRAM:
        yield ".PP"
        yield _text(PLUGINS)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES:
        yield from (".TP", f".B {_text(code)}", _text(meaning))
    yield ".SH SEE ALSO"
    others = [each for each in programs if each != parser.prog]
    yield ",\n".join(f".BR {_text(_page_name(each))} (1)" for each in others)


def _usage(action: argparse.Action) -> str:
    arguments = _arguments(action)
    if not action.option_strings:
        return arguments
    text = f"{action.option_strings[-1]} {arguments}".rstrip()
    return text if action.required else f"[{text}]"


def _arguments(action: argparse.Action) -> str:
    """How the arguments of an option, or a positional one, are written."""
    if action.nargs == 0:
        return ""
    if action.metavar is not None:
        name = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    elif action.choices is not None:
        name = "{" + ",".join(str(each) for each in action.choices) + "}"
    else:
        name = action.dest.upper()
    return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}.get(str(action.nargs), name)


def _explained(action: argparse.Action, prog: str) -> Iterator[str]:
    if isinstance(action, argparse._SubParsersAction):
        for each in action._choices_actions:
            yield from (".TP", f".B {_text(each.dest)}", _text(each.help or ""))
        return
    yield ".TP"
    yield f".B {_text(' '.join(filter(None, [', '.join(action.option_strings), _arguments(action)])))}"
    said = (action.help or "") % {**vars(action), "prog": prog}
    choices = "" if action.choices is None else f"One of {', '.join(map(str, action.choices))}."
    yield _text(" ".join(filter(None, [said, "" if action.metavar is None else choices]))) or "\\&"


def _text(text: str) -> str:
    """Text as roff reads it: on one line, and nothing in it is a request."""
    found = " ".join(text.split()).replace("\\", "\\e")
    for plain, name in (("-", "\\-"), ("'", "\\(aq"), ("`", "\\(ga"), ("^", "\\(ha"), ("~", "\\(ti"), ('"', "\\(dq")):
        found = found.replace(plain, name)
    return f"\\&{found}" if found.startswith(".") else found


def main() -> None:
    """Write the pages of the sources that this file belongs to."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python packaging/man_pages.py FOLDER")
    # The sources are not installed while a wheel is built from them; the parser needs nothing that is not in Python.
    sys.path.insert(0, str(ROOT / "framework"))
    from maskwright import __version__
    from maskwright.cli.main import build_parser

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages(build_parser(), __version__).items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
