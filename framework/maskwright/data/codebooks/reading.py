"""Codebooks read: which kind of file it is, and one declaration for each variable that it describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.data.codebooks.codebook import Codebook
from maskwright.data.codebooks.ddi import described_in_ddi
from maskwright.data.codebooks.described import declaration
from maskwright.data.codebooks.table import described_in_table, guessed_encoding
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.file_identity import note_read

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 64 * 2**20


def read_codebook_file(path: Path, encoding: str | None = None) -> Codebook:
    """Read a codebook: DDI Codebook where the file is XML, otherwise a table.

    `encoding`: of a table that is not UTF-8 or UTF-16 (with a byte order mark).
    """
    content = _content(path)
    problems: list[Problem] = []
    is_xml = path.suffix.lower() == ".xml" or content[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    found = described_in_ddi(path, content) if is_xml else described_in_table(path, content, encoding, problems)
    declared = {each.name: declaration(each, problems) for each in found}
    if not declared and not problems:
        problems.append(Problem("the codebook describes no variable", Place(str(path))))
    if problems:
        raise InputError(sorted(problems, key=lambda problem: (problem.place and problem.place.line) or 0))
    variables = {name: each for name, each in declared.items() if each is not None}
    guessed = None if is_xml else guessed_encoding(content, encoding)
    return Codebook(path, variables, {each.name: each.place for each in found}, guessed)


def _content(path: Path) -> bytes:
    place = Place(str(path))
    note_read(path)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(Problem("there is no such codebook", place)) from None
    except OSError as error:
        raise InputError(Problem(f"the codebook cannot be read: {error.strerror}", place)) from None
    if len(content) > MOST_BYTES:
        raise InputError(Problem(f"a codebook of over {MOST_BYTES // 2**20} MB is not read", place))
    if not content.strip():
        raise InputError(Problem("the codebook is empty", place))
    return content
