"""Addresses where names of files belong: refused without repeating them, since they may hold a password."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.data.parts.part_files import address_of, is_remote, refuse_address
from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    import argparse

# A path keeps one slash of two; a drive has one letter.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")


def refuse_addresses(chosen: argparse.Namespace) -> None:
    """Stop where a command is given an address (``postgresql://...``) for a file."""
    for given in vars(chosen).values():
        for each in given if isinstance(given, list) else [given]:
            if isinstance(each, Path) and _ADDRESS.match(str(each)):
                wrong = refuse_address(str(each))
                if wrong is not None:
                    raise InputError(wrong)
                if is_remote(str(each)) or address_of(str(each)) != str(each):
                    continue
                hint = (
                    "Of a table on a server give the name of the database, --format postgresql, and --option "
                    "host=NAME. The password stands in the environment (PGPASSWORD), never in a command."
                )
                raise InputError(Problem("expected the name of a file, not an address", hint=hint))
