"""Kinds of values in XPath 2, as far as a parsed tree shows them: they say which comparisons a test may mean."""

from __future__ import annotations

from typing import Literal

from maskwright.edits import expression as x

Kind = Literal["untyped", "text", "number", "truth", "date", "duration", "count"]
"""`untyped`: the text of an element; `count`: how many elements there are; `duration`: days between two dates."""

XML_SCHEMA = "http://www.w3.org/2001/XMLSchema"
INTEGER_TYPES = frozenset(
    "integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger unsignedInt "  # noqa: SIM905
    "unsignedLong unsignedShort unsignedByte".split()
)
NUMERIC_TYPES = INTEGER_TYPES | {"decimal", "double", "float"}

DATE, COUNT = "date", "count"
"""Functions that stand in a tree only while it is parsed: the date an element says, how many elements there are."""

_TRUTHS = (
    x.Truth, x.Comparison, x.Not, x.And, x.Or, x.InOriginal, x.InSet, x.InInterval, x.IsMissing, x.IsNumber,
    x.IsInteger,
)  # fmt: skip
_COMPUTED = frozenset({"sum", "count", "min", "max"})
_OF_GROUPS = frozenset({"any", "all", "no", "unique"})


def kind_of(node: x.Expression) -> Kind:  # noqa: PLR0911 - one case for each kind of node
    """Kind of the value of a tree."""
    match node:
        case x.VariableReference():
            return "untyped"
        case x.Text() | x.Function("string" | "normalize-space"):
            return "text"
        case x.Date() | x.Function("date"):
            return "date"
        case x.Function("count"):
            return "count"
        case x.Function("boolean"):
            return "truth"
        case x.IfThen(_, consequent):
            return kind_of(consequent)
        case x.Arithmetic("-", left, right) if kind_of(left) == kind_of(right) == "date":
            return "duration"
        case x.GroupFunction(function):
            return "truth" if function in _OF_GROUPS else "number" if function in _COMPUTED else "untyped"
        case _:
            return "truth" if isinstance(node, _TRUTHS) else "number"


def is_chosen_value(node: object) -> bool:
    """Whether a tree is ``if ... then ... else`` of values that are no conditions."""
    return isinstance(node, x.IfThen) and node.otherwise is not None and kind_of(node) != "truth"


def has_truth_value(kind: Kind) -> bool:
    """Whether XPath 2 has an effective boolean value of this kind."""
    return kind not in ("date", "duration")
