"""What commands share: options for reading data, JSON on standard output, progress and refusals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from maskwright.commands.options import ReadingOptions
    from maskwright.foundation.progress import Reporter


FORMAT_OPTIONS = {
    "record": ("NAME", "XML: element that holds one record"),
    "encoding": ("NAME", "CSV: character encoding, such as latin-1 (utf-8)"),
    "delimiter": ("C", "CSV: what separates cells (found out)"),
    "decimal": ("C", "CSV, XML: decimal mark, . or , (.)"),
}
"""Options of formats that have a flag of their own."""


def add_reading_options(command: argparse.ArgumentParser) -> None:
    """Add the options to a command."""
    group = command.add_argument_group("reading data files")
    group.add_argument("--pipeline", type=Path, metavar="FILE",
                       help="read as this pipeline's data section says; options given here win")  # fmt: skip
    group.add_argument("--format", dest="file_format", metavar="NAME", help="file format, where names do not tell")
    for name, (metavar, text) in FORMAT_OPTIONS.items():
        group.add_argument(f"--{name}", metavar=metavar, help=text)
    group.add_argument("--option", action="append", default=[], dest="format_options", metavar="name=v",
                       help="any option of the format or of the rule language, such as max_text=5000000")  # fmt: skip
    group.add_argument("--variable", action="append", default=[], dest="declared", metavar="name={...}",
                       help="declare a variable, such as 'income={role: confidential, missing: [NA]}'")  # fmt: skip
    group.add_argument("--codebook", type=Path, metavar="FILE",
                       help="table (.csv) or DDI Codebook (.xml) that declares variables")  # fmt: skip
    group.add_argument("--cluster", metavar="NAME", help="variable that identifies households")


def reading_options(chosen: argparse.Namespace) -> ReadingOptions:
    """What was said about reading."""
    from maskwright.commands.options import ReadingOptions, stated_texts, stated_values, stated_variables

    flags = {name: getattr(chosen, name) for name in FORMAT_OPTIONS}
    flags |= {"phase": getattr(chosen, "phase", None)}
    include = getattr(chosen, "include", None)
    flags |= {"include_folder": None if include is None else str(include.absolute())}
    unread = getattr(chosen, "allow_unread", None) or []
    listed = [f"allow_unread=[{', '.join(unread)}]"] if unread else []
    weight = getattr(chosen, "weight", None)
    declared = [*chosen.declared, *([] if weight is None else [f"{weight}={{role: weight}}"])]
    return ReadingOptions(
        {**stated_values([*chosen.format_options, *listed]), **stated_texts(flags)},
        stated_variables(declared), chosen.cluster, chosen.file_format, chosen.pipeline, chosen.codebook,
    )  # fmt: skip


def print_json(content: Any) -> None:
    """Print on standard output; NaN and infinity are no JSON and raise ValueError."""
    import json

    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def refuse(message: str) -> NoReturn:
    """Raise InputError: what was said on the command line does not go together."""
    # A command's parser is made for every help text; the errors are not needed before one is made.
    from maskwright.foundation.errors import InputError

    raise InputError(message) from None


def reporter(*, quiet: bool = False) -> Reporter:
    """Progress and notices on standard error, or nowhere."""
    if quiet:
        from maskwright.foundation.progress import Quiet

        return Quiet()
    from maskwright.cli.show.screen import Terminal

    return Terminal()


def show(chosen: argparse.Namespace, content: Any, print_text: Callable[[], object]) -> None:
    """Print what a command found: as JSON where that is requested, else as text."""
    if chosen.json:
        print_json(content)
    else:
        print_text()


# A path keeps one slash of two; a drive has one letter.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")
"""Begin of an address, as a path has it: one that holds a password must not be repeated."""


def refuse_addresses(chosen: argparse.Namespace) -> None:
    """Stop where a command is given an address (``postgresql://...``) for a file."""
    for given in vars(chosen).values():
        for each in given if isinstance(given, list) else [given]:
            if isinstance(each, Path) and _ADDRESS.match(str(each)):
                _refuse_address(str(each))


def _refuse_address(name: str) -> None:
    from maskwright.data.parts.part_files import address_of, is_remote, refuse_address
    from maskwright.foundation.errors import InputError, Problem

    wrong = refuse_address(name)
    if wrong is not None:
        raise InputError(wrong)
    if is_remote(name) or address_of(name) != name:
        return
    hint = (
        "Of a table on a server give the name of the database, --format postgresql, and --option "
        "host=NAME. The password stands in the environment (PGPASSWORD), never in a command."
    )
    raise InputError(Problem("expected the name of a file, not an address", hint=hint))
