"""What a conversion gives, what stops it, and where XPath finds a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from maskwright.edits.expression import VariableReference
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.expression import Expression


Written = TypeVar("Written")


class Inexpressible(Exception):  # noqa: N818 - the reason by its name; never leaves the conversion
    """The target language cannot say this; the message is the reason, as the end of a sentence."""


@dataclass(frozen=True)
class Converted:
    """A rule file and what a person should know of it.

    Attributes
    ----------
    text : str
        The file.
    notes : tuple of str
        Where the two languages differ, what was renamed or left out.

    Examples
    --------
    >>> from maskwright import Converted
    >>> Converted("age >= 0").notes
    ()
    """

    text: str
    notes: tuple[str, ...] = ()


def tree_of(edit: Edit) -> Expression:
    """Tree of an edit."""
    if edit.ranged and edit.binding == "exact":
        raise Inexpressible("a range of variables follows the order of the data: convert with the data")
    if edit.checked_by != "model":
        where = "looks at other records, and" if edit.looks_beyond else "is outside the subset that is analysed:"
        raise Inexpressible(
            f"its test {where} only the engine {edit.checked_by} evaluates it; it stands in the file it came from"
        )
    return edit.expression


def each_written(
    edits: EditSet, language: str, write: Callable[[Edit, int], Written], problems: Iterable[Problem] = ()
) -> tuple[list[Written], list[str]]:
    """What is written of each edit that can fire, and a note about the others; what cannot be written is one error.

    `write`: gets an edit and its place among these, from 1. `problems`: found before.
    """
    wrong = list(problems)
    found: list[Written] = []
    silent: list[str] = []
    for edit in edits:
        if edit.shadowed:
            silent.append(edit.name)
            continue
        try:
            found.append(write(edit, len(found) + 1))
        except Inexpressible as reason:
            wrong.append(Problem(f"edit {edit.name} cannot be written in {language}: {reason}", edit.place))
    if wrong:
        raise EditError(wrong)
    note = f"left out, because an earlier rule of the pattern always fires first: {', '.join(silent)}"
    return found, [note] if silent else []


@dataclass(frozen=True, slots=True)
class PathReference(VariableReference):
    """A path to cells of other records, or what they give together, in a tree of XPath's types.

    `name`: the path as XPath writes it: ``../total``, ``sum(Person/income)``. `is_number`: whether it gives a number by
    itself. `is_sum`: whether XPath adds in binary64 to find it, so that it may be off in its last digits.
    """

    is_number: bool = False
    is_sum: bool = False
