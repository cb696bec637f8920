"""Whether a codebook that was written says what it was meant to say, as who reads it understands it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from maskwright.data.codebooks.reading import read_codebook_file
from maskwright.foundation.errors import InputError, Problem, WrittenOtherwise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from maskwright.data.codebooks.codebook import PublishedCodebook
    from maskwright.data.declaration import VariableDeclaration

MOST_TOLD = 5


def refuse_otherwise(path: Path, meant: PublishedCodebook) -> None:
    """Stop unless a codebook describes the variables that it was meant to describe, their codes and missing codes."""
    if not meant.variables:
        return
    try:
        found = read_codebook_file(path).variables
    except InputError as error:
        _refuse(path, [f"it cannot be read ({error.problems[0].message})"])
    said = list(_differences(meant, {_plain(name): each for name, each in found.items()}))
    if said:
        _refuse(path, said)


def _refuse(path: Path, said: list[str]) -> NoReturn:
    more = f", and {len(said) - MOST_TOLD} more" if len(said) > MOST_TOLD else ""
    message = f"the codebook {path.name} does not say what it was meant to say: {', '.join(said[:MOST_TOLD])}{more}"
    raise WrittenOtherwise(Problem(message, hint="This is a bug in Maskwright; please report it."))


def _differences(meant: PublishedCodebook, found: dict[str, VariableDeclaration]) -> Iterator[str]:
    for name, wanted in meant.variables.items():
        said = found.get(_plain(name))
        if said is None:
            yield f"no column {name}"
            continue
        wrong = {
            "label": _plain(said.label) != _plain(wanted.label),
            "unit": _plain(said.unit) != _plain(wanted.unit),
            "codes": not _codes(wanted) <= _codes(said),
            "meanings of codes": _meanings(wanted, said) != _meanings(said, wanted),
            "missing codes": _missing(said) != _missing(wanted),
        }
        what = [each for each, is_wrong in wrong.items() if is_wrong]
        if what:
            yield f"{' and '.join(what)} of column {name}"
    if len(found) > len(meant.variables):
        yield "another column"


def _codes(declared: VariableDeclaration) -> set[str]:
    """Codes with a value; none where one of them has blanks that no reader would take for a part of it."""
    codes = [*declared.categories, *(code for code, meaning in declared.labels if meaning)]
    return set(codes) - _missing(declared) if all(_plain(code) == code for code in codes) else set()


def _meanings(declared: VariableDeclaration, other: VariableDeclaration) -> dict[str, str]:
    """Meanings of the codes that both have."""
    both = _codes(declared) & _codes(other)
    return {code: _plain(meaning) for code, meaning in declared.labels if code in both and _plain(meaning)}


def _missing(declared: VariableDeclaration) -> set[str]:
    suppressed: Iterable[str] = () if declared.suppressed_as is None else (declared.suppressed_as,)
    return {_plain(code) for code in (*(code for code, _ in declared.missing), *suppressed) if _plain(code)}


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())
