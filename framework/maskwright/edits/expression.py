"""The expression tree that both languages, YAML text and XPath, are parsed into.

A tree says nothing of arithmetic: `maskwright.edits.evaluation.exact` evaluates it in decimal arithmetic with three
truth values (YAML), `maskwright.edits.evaluation.binary64` as an XPath 1.0 engine does (Schematron).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction

ArithmeticOperator = Literal["+", "-", "*", "/", "mod", "^"]
ComparisonOperator = Literal["==", "!=", "<", "<=", ">", ">="]

NEGATED: dict[ComparisonOperator, ComparisonOperator] = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
MIRRORED: dict[ComparisonOperator, ComparisonOperator] = {
    "==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<=",
}  # fmt: skip
SIGNS: dict[ComparisonOperator, tuple[int, ...]] = {
    "==": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1),
}  # fmt: skip
"""Signs of left minus right with which a comparison is true."""

LONGEST_LEFT_SUM = 16
"""Terms up to which a sum is added from the left; longer ones are balanced, so that thousands are a dozen levels."""


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric literal, exactly as written: ``0.1`` is 1/10; binary64 evaluation rounds it."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Date(Number):
    """A date literal, as days since 1970-01-01: ``2005-12-31``."""


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal."""

    value: str


@dataclass(frozen=True, slots=True)
class Truth:
    """``true()`` or ``false()``."""

    value: bool


@dataclass(frozen=True, slots=True)
class VariableReference:
    """The value of a variable; in XPath the node-set of child elements with this name."""

    name: str


@dataclass(frozen=True, slots=True)
class VariableRange:
    """``V3..V7``: the variables from the first to the last in the order of the data file, as arguments of a function.

    `maskwright.edits.normalisation` writes them out as soon as the data's names are known.
    """

    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Function:
    """A call.

    XPath has ``number string boolean floor ceiling round``; YAML ``abs min max round floor ceiling``, and of dates
    ``year quarter month day age_at``.

    ``sum`` occurs only with a `VariableRange`; other sums are additions.
    """

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two operands, in written order; ``/`` is XPath's ``div``."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two operands compared."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not:
    """Logical negation."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    """All operands hold; at least two, in written order."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one operand holds; at least two, in written order."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class IfThen:
    """``if P then E else F``; without F: P implies E."""

    condition: Expression
    consequent: Expression
    otherwise: Expression | None = None


@dataclass(frozen=True, slots=True)
class InInterval:
    """``x in [low, high)``; a missing bound is unbounded."""

    operand: Expression
    low: Expression | None
    high: Expression | None
    low_closed: bool = True
    high_closed: bool = True


@dataclass(frozen=True, slots=True)
class InSet:
    """``x in {1, 2}`` or ``x in {"a", "b"}``."""

    operand: Expression
    members: tuple[Number | Text, ...]


@dataclass(frozen=True, slots=True)
class InOriginal:
    """``town in original``, ``(region, town) in original``: the combination occurs in the original file.

    `document`: what the rule calls that file, where it does, as Schematron's ``document('microdata.xml')``.
    """

    names: tuple[str, ...]
    document: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class IsMissing:
    """``x is missing``: the cell has no value. Always true or false, never unknown."""

    operand: VariableReference


@dataclass(frozen=True, slots=True)
class MissingAs:
    """``income is "refused"``: the cell holds the missing code that is called so, or means so. Never unknown."""

    operand: VariableReference
    meaning: str


@dataclass(frozen=True, slots=True)
class IsNumber:
    """``x is number``: the cell holds a number, neither missing nor other text. Never unknown."""

    operand: VariableReference


@dataclass(frozen=True, slots=True)
class Matches:
    """``code matches "[A-Z]{2}[0-9]+"``: the pattern (`maskwright.edits.text_patterns`) is the whole text."""

    operand: VariableReference
    pattern: str


@dataclass(frozen=True, slots=True)
class Unique:
    """``unique(id, year)``: no other record has the same values."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``sum(wages by household)``: of the records with the same values of `by`, and which meet the condition.

    `function`: ``sum``, ``mean``, ``min`` or ``max``.
    """

    function: str
    operand: VariableReference
    by: tuple[str, ...]
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class IsInteger:
    """``x is integer``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class GroupFunction:
    """What the members of a group have together: ``sum(person.income where age < 16)``, ``count(person)``.

    It stands in a rule only until `maskwright.edits.levels.binding` puts a variable in its place: what is inside is
    about the members, not of the record that the rule is about.

    `level`: whose records the members are. `operand`: of ``sum``, ``min``, ``max``, ``first`` and ``unique``: the
    members' variable. `condition`: of the members that are meant, or that all, one, any or none of them has to satisfy.
    """

    function: str
    level: str
    operand: VariableReference | None = None
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class KindCondition:
    """``at_most_nonzero(2, wages, pension)``: a condition of a kind that a plugin brings.

    `name`: of the kind: `maskwright.edits.constraint_kinds` finds it.
    """

    name: str
    numbers: tuple[Fraction, ...]
    columns: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class EngineCondition:
    """A condition that only an engine can evaluate; its text."""

    text: str


Expression = (
    Number
    | Text
    | Truth
    | VariableReference
    | VariableRange
    | Function
    | Arithmetic
    | Negative
    | Comparison
    | Not
    | And
    | Or
    | IfThen
    | InInterval
    | InSet
    | InOriginal
    | IsMissing
    | MissingAs
    | IsNumber
    | Matches
    | Unique
    | Aggregate
    | IsInteger
    | GroupFunction
    | KindCondition
    | EngineCondition
)


_OPERANDS: dict[type, tuple[str, ...]] = {
    Function: ("arguments",), KindCondition: ("columns",), Arithmetic: ("left", "right"), Negative: ("operand",),
    Comparison: ("left", "right"), Not: ("operand",), And: ("operands",), Or: ("operands",),
    IfThen: ("condition", "consequent", "otherwise"), InInterval: ("operand", "low", "high"), InSet: ("operand",),
    IsInteger: ("operand",),
}  # fmt: skip
"""Fields of a node that hold expressions, in written order; the variable whose cell is tested is not among them."""


def children(expression: Expression) -> tuple[Expression, ...]:
    """Operands of a node, in written order."""
    if isinstance(expression, (IsMissing, MissingAs, IsNumber, Matches)):
        return (expression.operand,)
    if isinstance(expression, Aggregate):
        return (expression.operand,) if expression.condition is None else (expression.operand, expression.condition)
    found: list[Expression] = []
    for name in _OPERANDS.get(type(expression), ()):
        part = getattr(expression, name)
        found += part if isinstance(part, tuple) else () if part is None else (part,)
    return tuple(found)


def nodes(expression: Expression) -> Iterator[Expression]:
    """Every node of a rule, itself first."""
    stack: list[Expression] = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def variable_names(expression: Expression) -> tuple[str, ...]:
    """Names of the variables used, each once, in order of first use."""
    found: dict[str, None] = {}
    for node in nodes(expression):
        if isinstance(node, VariableReference):
            found.setdefault(node.name)
        elif isinstance(node, (InOriginal, Unique)):
            found.update(dict.fromkeys(node.names))
        elif isinstance(node, Aggregate):
            found.update(dict.fromkeys(node.by))
        elif isinstance(node, VariableRange):
            found.update(dict.fromkeys((node.first, node.last)))
    return tuple(found)


def names_of_levels(expression: Expression) -> tuple[str, ...]:
    """Names of variables of any level, those that members say among them, without the level before the dot."""
    inner = (
        each for node in nodes(expression) if isinstance(node, GroupFunction)
        for each in (node.operand, node.condition) if each is not None
    )  # fmt: skip
    own = (name.rpartition(".")[2] for name in variable_names(expression))
    return tuple(dict.fromkeys((*own, *(name for each in inner for name in names_of_levels(each)))))


def has_ranges(expression: Expression) -> bool:
    """Whether a range of variables is still to be written out."""
    return any(isinstance(node, VariableRange) for node in nodes(expression))


def size_and_depth(expression: Expression) -> tuple[int, int]:
    """Number of nodes, and levels of nesting."""
    size = depth = 0
    stack: list[tuple[Expression, int]] = [(expression, 1)]
    while stack:
        node, level = stack.pop()
        size, depth = size + 1, max(depth, level)
        stack.extend((child, level + 1) for child in children(node))
    return size, depth


def both_ways(
    comparison: Comparison,
) -> tuple[tuple[Expression, Expression, ComparisonOperator], tuple[Expression, Expression, ComparisonOperator]]:
    """Sides and operator of a comparison as it is written, and with the sides exchanged."""
    left, operator, right = comparison.left, comparison.operator, comparison.right
    return (left, right, operator), (right, left, MIRRORED[operator])


def mapped(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Node with `change` applied to its operands.

    What is inside of a `GroupFunction` is about other records: it stays as it is.
    """
    changed: dict[str, Any] = {}
    for name in _OPERANDS.get(type(node), ()):
        part = getattr(node, name)
        changed[name] = tuple(map(change, part)) if isinstance(part, tuple) else None if part is None else change(part)
    return replace(node, **changed) if changed else node


def rewritten(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Tree with `change` applied to every node, operands first: it gets a node whose operands are changed already."""
    return change(mapped(expression, partial(rewritten, change=change)))
