"""Where XPath finds a value that is not a child of the record that a test is about."""

from __future__ import annotations

from dataclasses import dataclass

from maskwright.edits.expression import VariableReference


@dataclass(frozen=True, slots=True)
class PathReference(VariableReference):
    """A path to cells of other records, or what they give together, in a tree of XPath's types.

    `name`: the path as XPath writes it: ``../total``, ``sum(Person/income)``. `is_number`: whether it gives a number by
    itself. `is_sum`: whether XPath adds in binary64 to find it, so that it may be off in its last digits.
    """

    is_number: bool = False
    is_sum: bool = False
