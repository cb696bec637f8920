"""What a rule writer is: edits in, a rule file of another language out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.languages.conversion.converted import Converted


@dataclass(frozen=True, kw_only=True)
class RulesFor:
    """What a rule file has to know of the data that its rules are about.

    Attributes
    ----------
    record : str, default "Record"
        Element that holds one record, for languages on XML.
    decimals : int or mapping of name to int or None, default 4
        Most decimals of the variables, for languages that calculate in binary numbers.
    dates : mapping of name to str
        Variables that are dates, and how they are written (``%Y-%m-%d``).
    empty : mapping of name to tuple of str
        Texts of cells that mean "no value", besides an empty cell.

    Examples
    --------
    >>> from maskwright import RulesFor
    >>> RulesFor(decimals={"income": 2}).record
    'Record'
    """

    record: str = "Record"
    decimals: int | Mapping[str, int | None] = 4
    dates: Mapping[str, str] = field(default_factory=dict)
    empty: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RuleWriter:
    r"""A language that edits are written in: for ``maskwright edits --to NAME``, and for ``output: {edits: FILE}``.

    Attributes
    ----------
    name : str
        ``yaml``, ``schematron``, ``validate``.
    write : callable
        ``(edits, about) -> Converted``, with an `EditSet` and a `RulesFor`. Raises EditError with every edit that the
        language cannot say, by name and with the reason: nothing is left out in silence.
    suffixes : tuple of str
        File name endings it claims for the published rules, lower case with the dot.
    summary : str

    Examples
    --------
    >>> from maskwright import Converted, EditSet, RulesFor, RuleWriter
    >>> def write_lines(edits: EditSet, about: RulesFor) -> Converted:
    ...     return Converted("".join(f"{edit.name}: {edit.text}\n" for edit in edits))
    >>> writer = RuleWriter(name="lines", write=write_lines, suffixes=(".lines",), summary="One rule a line.")
    >>> print(writer.write(EditSet.parse(["wages <= income"]), RulesFor()).text, end="")
    edit-1: wages <= income
    """

    name: str
    write: Callable[[EditSet, RulesFor], Converted]
    suffixes: tuple[str, ...] = ()
    summary: str = ""
