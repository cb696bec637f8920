"""A term of a rule while it is parsed: what it says, of which kind it is, and where it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from maskwright.edits.expression import VariableReference

if TYPE_CHECKING:
    from maskwright.edits.expression import Expression

Kind = Literal["number", "text", "value", "truth", "range", "members"]

_DESCRIBED: dict[Kind, str] = {
    "number": "a number", "text": "a text", "value": "a variable", "truth": "a condition",
    "range": "a range of variables", "members": "members of a group",
}  # fmt: skip


class Mistake(Exception):  # noqa: N818 - never leaves the parser
    """A rule that the grammar accepts and that means nothing.

    Parameters
    ----------
    start : int
        0-based offset in the text of the rule.
    message : str
    hint : str, optional
        What to write instead.
    """

    def __init__(self, start: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.start, self.message, self.hint = start, message, hint


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression, what it yields (a variable is a number or a text), its depth and where it starts."""

    expression: Expression
    kind: Kind
    depth: int
    start: int

    @property
    def described(self) -> str:
        """What it is, for a message."""
        if isinstance(self.expression, VariableReference):
            return f"the variable {self.expression.name}"
        return _DESCRIBED[self.kind]
