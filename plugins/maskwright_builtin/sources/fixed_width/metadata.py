"""Metadata of µ-Argus (.rda): a line for each variable, and lines in angle brackets that say what it is.

A. Hundepool and others, µ-Argus version 5.1, user's manual (Statistics Netherlands, 2014), section on metadata.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maskwright import DataError, Place, Problem, VariableDeclaration
from maskwright_builtin.sources.fixed_width.form import Form, check_places

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TOKEN = re.compile(r'"[^"]*"|\S+')
KNOWN = ("<RECODEABLE>", "<RECODABLE>", "<NUMERIC>", "<DECIMALS>", "<WEIGHT>", "<HOUSE_ID>", "<HOUSEHOLD>",
         "<CODELIST>", "<IDLEVEL>", "<TRUNCABLE>", "<SUPPRESSWEIGHT>", "<RELATED>")  # fmt: skip
LARGEST = 8_000_000


@dataclass
class _Described:
    """A variable as its lines say."""

    name: str
    start: int
    width: int
    missing: Sequence[str]
    said: dict[str, str] = field(default_factory=dict)


def read_metadata(path: Path) -> Form:
    """Form of a data file that metadata of µ-Argus describe."""
    separator, has_names = None, False
    described: list[_Described] = []
    for line, text in enumerate(_text(path).splitlines(), 1):
        tokens = [token.strip('"') for token in TOKEN.findall(text)]
        place = Place(str(path), line)
        if not tokens:
            continue
        word = tokens[0].upper()
        if not word.startswith("<"):
            described.append(_variable(tokens, place, is_separated=separator is not None or has_names))
        elif word in ("<SEPARATOR>", "<NAMESINFRONT>") and not described:
            has_names = has_names or word == "<NAMESINFRONT>"
            separator = _separator(tokens, place) if word == "<SEPARATOR>" else separator
        elif word == "<SPSS>":
            hint = "Read the .sav file itself."
            raise DataError(Problem("these metadata describe an SPSS file", place, hint))
        elif not described:
            raise DataError(Problem(f"{tokens[0]} stands before any variable", place))
        elif word in KNOWN:
            described[-1].said[word] = tokens[1] if len(tokens) > 1 else ""
        else:
            message = f"unknown keyword {tokens[0]}"
            raise DataError(Problem(message, place, f"Those of µ-Argus are: {', '.join(KNOWN)}."))
    return _form(path, described, separator, has_names=has_names)


def _form(path: Path, described: list[_Described], separator: str | None, *, has_names: bool) -> Form:
    place = Place(str(path))
    if not described:
        raise DataError(Problem("the metadata describe no variable", place))
    names = [each.name for each in described]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(Problem(f"the metadata describe variables twice: {', '.join(twice[:5])}", place))
    places = {each.name: (each.start, each.width) for each in described}
    if separator is None and not has_names:
        check_places(places, place)
    return Form(
        places,
        separator or ("," if has_names else None),
        has_names,
        {each.name: _declared(each, path) for each in described},
        tuple(note for each in described for note in _notes(each)),
        {each.name: each.said["<DECIMALS>"] for each in described if each.said.get("<DECIMALS>", "0") != "0"},
    )


def _text(path: Path) -> str:
    place = Place(str(path))
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise DataError(Problem(f"the metadata cannot be read: {error.strerror or error}", place)) from None
    if len(raw) > LARGEST:
        raise DataError(Problem(f"the metadata have more than {LARGEST} bytes", place))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        # µ-Argus writes the code page of Windows.
        return raw.decode("cp1252", errors="replace")


def _separator(tokens: list[str], place: Place) -> str:
    given = tokens[1] if len(tokens) > 1 else ""
    separator = {"\\t": "\t", "": "\t" if len(tokens) > 1 else ""}.get(given, given)
    if len(separator) != 1:
        raise DataError(Problem("<SEPARATOR> needs one character", place, 'Write it in quotes: <SEPARATOR> ";"'))
    return separator


def _variable(tokens: list[str], place: Place, *, is_separated: bool) -> _Described:
    numbers = tokens[1:2] if is_separated else tokens[1:3]
    if len(numbers) < (1 if is_separated else 2) or not all(each.isdecimal() and int(each) > 0 for each in numbers):
        expected = "NAME LENGTH [MISSING [MISSING]]" if is_separated else "NAME START LENGTH [MISSING [MISSING]]"
        raise DataError(Problem(f"the variable {tokens[0]!r} has no place", place, f"Expected: {expected}"))
    places = [int(each) for each in numbers]
    start, width = (0, 0) if is_separated else (places[0], places[1])
    return _Described(tokens[0], start, width, tuple(dict.fromkeys(filter(None, tokens[1 + len(numbers) :]))))


def _declared(each: _Described, path: Path) -> VariableDeclaration:
    facts: dict[str, Any] = {}
    if each.missing:
        facts["missing"] = each.missing
    if "<WEIGHT>" in each.said:
        facts |= {"role": "weight", "type": "continuous"}
    elif "<NUMERIC>" in each.said:
        facts["type"] = "continuous"
    elif {"<RECODEABLE>", "<RECODABLE>"} & each.said.keys():
        facts["type"] = "nominal"
    level = each.said.get("<IDLEVEL>", "0")
    if level.isdecimal() and int(level) > 0 and "role" not in facts:
        facts["role"] = "quasi_identifier"
    if each.said.get("<CODELIST>"):
        facts["labels"] = _labels(path.parent / each.said["<CODELIST>"])
    return VariableDeclaration(**facts)


def _labels(path: Path) -> dict[str, str]:
    """What codes mean, from a list of lines ``code,meaning``."""
    pairs = (line.partition(",") for line in _text(path).splitlines() if line.strip())
    return {code.strip().strip('"'): meaning.strip().strip('"') for code, _, meaning in pairs}


def _notes(each: _Described) -> list[str]:
    if "<HOUSE_ID>" in each.said:
        return [f"{each.name}: identifies households by the metadata; declare `cluster: {each.name}` to count them"]
    return []
