"""Rules in exact arithmetic and three truth values as tests of XPath 1.0 that give the same verdict on every record.

XPath knows true and false, and a number that is not there makes comparisons false. A rule of the YAML language holds
where it is true or unknown. So the test is the negation of what makes the rule *false*: ``not(a > b)`` for ``a <= b``.

XPath calculates in binary64. Between decimals with a known number of places, two different values are at least one unit
of the last place apart; half that unit decides a comparison rightly as long as rounding errors stay below it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.data.number_text import XPATH_NUMBER
from maskwright.edits.algebra.conditions import interval_comparisons
from maskwright.edits.expression import (
    NEGATED,
    And,
    Comparison,
    ComparisonOperator,
    Expression,
    Function,
    IfThen,
    InInterval,
    InOriginal,
    InSet,
    IsInteger,
    IsMissing,
    IsNumber,
    KindCondition,
    MissingAs,
    Negative,
    Not,
    Number,
    Or,
    Text,
    Truth,
    VariableReference,
    children,
    nodes,
    rewritten,
)
from maskwright.edits.languages.conversion.binary_comparison import compared, whole
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.xpath_text import DateNumbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.languages.conversion.binary_comparison import Grids

MOST_COMPARISONS = 500
_EMPTY = Text("")


def xpath_test(expression: Expression, grids: Grids) -> Expression:
    """Test, as a tree in XPath's types, that holds for the records for which a rule is true or unknown."""
    numbers = DateNumbers(grids.dates)
    without_dates = numbers(expression)
    coded = {name: is_coded(VariableReference(name), texts, grids) for name, texts in grids.empty.items() if texts}
    grids = replace(grids, known={**grids.known, **dict.fromkeys(numbers.names, 0)})
    return numbers.written(not_(XPathWriter(grids, coded, numbers.cells).truth(without_dates, holds=False)))


@dataclass
class XPathWriter:
    """Writes conditions of one rule as XPath, knowing of the codes and dates that its cells may hold."""

    grids: Grids
    coded: Mapping[str, Expression]
    cells: Mapping[str, tuple[str, ...]]
    comparisons: int = field(default=0)

    def truth(self, node: Expression, *, holds: bool) -> Expression:  # noqa: C901, PLR0911, PLR0912 - a case each
        """XPath for "the condition is true" or "the condition is false"; both are false where it is unknown."""
        match node:
            case And(operands):
                found = [self.truth(operand, holds=holds) for operand in operands]
                return and_(found) if holds else or_(found)
            case Or(operands):
                found = [self.truth(operand, holds=holds) for operand in operands]
                return or_(found) if holds else and_(found)
            case Not(operand):
                return self.truth(operand, holds=not holds)
            case IfThen():
                return self._conditional(node, holds=holds)
            case Comparison():
                return self.told(
                    node, self._comparison(node if holds else replace(node, operator=NEGATED[node.operator]))
                )
            case InInterval(operand):
                bounds = interval_comparisons(node)
                if not bounds:
                    return self.told(node, self.known(operand)) if holds else Truth(False)
                first, *others = bounds
                return self.truth(And(bounds) if others else first, holds=holds)
            case InSet():
                return self.told(node, self._in_set(node, holds=holds))
            case IsMissing(variable):
                blank = or_([_blank(variable), *self._codes(variable)])
                return blank if holds else not_(blank)
            case MissingAs(variable, meaning):
                if meaning not in self.grids.empty.get(variable.name, ()):
                    raise Inexpressible(
                        f"what {meaning!r} is written as in {variable.name} stands in the declarations of the data: "
                        "give them (`--pipeline`), and in the rule the code as the cells have it"
                    )
                coded = is_coded(variable, (meaning,), self.grids)
                return coded if holds else not_(coded)
            case IsNumber(variable):
                spoken = self.told(node, Comparison("==", _number(variable), _number(variable)))
                return spoken if holds else not_(spoken)
            case IsInteger(operand):
                return self.told(node, whole(_plain(operand), self.grids, holds=holds))
            case InOriginal(names):
                first_name, *more = names
                if more:
                    raise Inexpressible("XPath 1.0 cannot look up a combination of variables in the original file")
                variable = VariableReference(first_name)
                return self.told(variable, node if holds else and_([not_(_blank(variable)), not_(node)]))
            case Truth(value):
                return Truth(value == holds)
            case KindCondition(name):
                raise Inexpressible(f"{name}() is a kind of constraint of a plugin, which XPath has no words for")
            case _:
                raise Inexpressible("it is no condition")

    def told(self, node: Expression, condition: Expression) -> Expression:
        """Condition that is false where a cell that the node asks holds a code for "no value"."""
        asked = dict.fromkeys(each for each in nodes(node) if isinstance(each, VariableReference))
        return and_([condition, *(not_(code) for variable in asked for code in self._codes(variable))])

    def _codes(self, variable: VariableReference) -> list[Expression]:
        names = self.cells.get(variable.name, (variable.name,))
        return [self.coded[name] for name in names if name in self.coded]

    def _conditional(self, node: IfThen, *, holds: bool) -> Expression:
        """As the two implications that it stands for: ``not P or E`` and ``P or F``."""
        first: Expression = Or((Not(node.condition), node.consequent))
        if node.otherwise is None:
            return self.truth(first, holds=holds)
        return self.truth(And((first, Or((node.condition, node.otherwise)))), holds=holds)

    def _comparison(self, node: Comparison) -> Expression:
        """XPath for "the comparison is true"."""
        left, operator, right = node.left, node.operator, node.right
        if isinstance(left, Text) or isinstance(right, Text):
            return self._texts(left, operator, right)
        if operator in ("==", "!=") and isinstance(left, VariableReference) and isinstance(right, VariableReference):
            return self._cells(left, operator, right)
        return self._numbers(node)

    def _texts(self, left: Expression, operator: ComparisonOperator, right: Expression) -> Expression:
        if isinstance(left, Text) and isinstance(right, Text):
            return Truth((left.value == right.value) == (operator == "=="))
        variable, text = (right, left) if isinstance(left, Text) else (left, right)
        if not isinstance(variable, VariableReference):
            raise Inexpressible("a text is compared with something computed")
        same = Comparison("==", variable, text)
        return and_([not_(_blank(variable)), same if operator == "==" else not_(same)])

    def _cells(self, left: VariableReference, operator: ComparisonOperator, right: VariableReference) -> Expression:
        """Cells are equal as numbers (dates) where both are, as texts where one is not."""
        first, second = _number(left), _number(right)
        one, other = (
            VariableReference(self.cells[each.name][0]) if each.name in self.cells else each for each in (left, right)
        )
        present = [not_(_blank(one)), not_(_blank(other))]
        wordy = Or((Comparison("!=", first, first), Comparison("!=", second, second)))
        same = Comparison("==", one, other)
        if operator == "==":
            return or_([Comparison("==", first, second), and_([*present, wordy, same])])
        return or_(
            [Comparison("<", first, second), Comparison(">", first, second), and_([*present, wordy, not_(same)])]
        )

    def _numbers(self, node: Comparison) -> Expression:
        """Comparison of numbers, in which ``abs``, ``min`` and ``max`` become cases."""
        self.comparisons += 1
        if self.comparisons > MOST_COMPARISONS:
            raise Inexpressible(f"it takes more than {MOST_COMPARISONS} comparisons in XPath")
        ways: tuple[tuple[Expression, Expression, ComparisonOperator], ...] = (
            (node.left, node.right, node.operator),
            (node.right, node.left, _mirrored(node.operator)),
        )
        for side, other, operator in ways:
            outside = self._outermost(side, operator, other)
            if outside is not None:
                return outside
        inner = next((one for side in (node.left, node.right) if (one := _case_function(side))), None)
        if inner is None:
            return compared(_plain(node.left), node.operator, _plain(node.right), self.grids)
        found: list[Expression] = []
        for condition, value in _cases(inner):
            replaced = Comparison(node.operator, _put(node.left, inner, value), _put(node.right, inner, value))
            found.append(and_([self._numbers(condition), self._numbers(replaced)]))
        return or_(found)

    def _outermost(self, side: Expression, operator: ComparisonOperator, other: Expression) -> Expression | None:
        """``abs(f) <= g`` and ``max(a, b) <= c`` are conjunctions; their opposites disjunctions."""
        match side:
            case Function("abs", (argument,)) if operator in ("<", "<=", ">", ">="):
                opposite = Comparison(_mirrored(operator), argument, _negative(other))
                both = [self._numbers(Comparison(operator, argument, other)), self._numbers(opposite)]
                return and_(both) if operator in ("<", "<=") else or_(both)
            case Function("abs", (argument,)) if other == Number(Fraction(0)) and operator in ("==", "!="):
                return self._numbers(Comparison(operator, argument, other))
            case Function("max" | "min" as name, arguments) if operator in ("<", "<=", ">", ">="):
                each = [self._numbers(Comparison(operator, argument, other)) for argument in arguments]
                if (name == "max") == (operator in ("<", "<=")):
                    return and_(each)
                return and_([or_(each), *(self.known(argument) for argument in arguments)])
            case _:
                return None

    def _in_set(self, node: InSet, *, holds: bool) -> Expression:
        if not isinstance(node.operand, VariableReference):
            operator: ComparisonOperator = "==" if holds else "!="
            each = [self._comparison(Comparison(operator, node.operand, member)) for member in node.members]
            return or_(each) if holds else and_(each)
        variable = node.operand
        members = or_(
            [
                Comparison("==", variable if isinstance(member, Text) else _number(variable), member)
                for member in node.members
            ]
        )
        (cell,) = self.cells.get(variable.name, (variable.name,))
        return and_([not_(_blank(VariableReference(cell))), members if holds else not_(members)])

    def known(self, node: Expression) -> Expression:
        """XPath for "the number is known"."""
        return (
            self._comparison(Comparison("==", node, node))
            if not isinstance(node, VariableReference)
            else (Comparison("==", _number(node), _number(node)))
        )


def _number(variable: VariableReference) -> Expression:
    return Function("number", (variable,))


def _plain(node: Expression) -> Expression:
    """Variables as numbers."""
    return rewritten(node, lambda inner: _number(inner) if isinstance(inner, VariableReference) else inner)


def is_coded(variable: VariableReference, texts: tuple[str, ...], grids: Grids) -> Expression:
    """XPath for "the cell is one of these texts"; a code that is a number is one in any notation."""
    found: list[Expression] = []
    for text in texts:
        if variable.name in grids.known and re.search(XPATH_NUMBER, text.strip()):
            found.append(Comparison("==", _number(variable), Number(Fraction(text.strip()))))
        else:
            shown = Function("normalize-space", (variable,))
            found.append(Comparison("==", shown, Text(" ".join(text.split()))))
    return or_(found)


def _blank(variable: VariableReference) -> Expression:
    return Comparison("==", Function("normalize-space", (variable,)), _EMPTY)


def _mirrored(operator: ComparisonOperator) -> ComparisonOperator:
    return {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)  # type: ignore[return-value]


def _negative(node: Expression) -> Expression:
    return Number(-node.value) if isinstance(node, Number) else Negative(node)


def not_(node: Expression) -> Expression:
    """Negation, without a double one."""
    match node:
        case Truth(value):
            return Truth(not value)
        case Not(operand):
            return operand
        case _:
            return Not(node)


def and_(operands: Sequence[Expression]) -> Expression:
    """Conjunction, flat, of any number of conditions."""
    kept = [operand for operand in _flat(operands, And) if operand != Truth(True)]
    if any(operand == Truth(False) for operand in kept):
        return Truth(False)
    return Truth(True) if not kept else kept[0] if len(kept) == 1 else And(tuple(kept))


def or_(operands: Sequence[Expression]) -> Expression:
    """Disjunction, flat, of any number of conditions."""
    kept = [operand for operand in _flat(operands, Or) if operand != Truth(False)]
    if any(operand == Truth(True) for operand in kept):
        return Truth(True)
    return Truth(False) if not kept else kept[0] if len(kept) == 1 else Or(tuple(kept))


def _flat(operands: Sequence[Expression], kind: type[And | Or]) -> list[Expression]:
    found: dict[Expression, None] = {}
    for operand in operands:
        found.update(dict.fromkeys(operand.operands if isinstance(operand, kind) else (operand,)))
    return list(found)


def _case_function(node: Expression) -> Function | None:
    """An innermost ``abs``, ``min`` or ``max``."""
    for child in children(node):
        found = _case_function(child)
        if found is not None:
            return found
    return node if isinstance(node, Function) and node.name in ("abs", "min", "max") else None


def _cases(node: Function) -> list[tuple[Comparison, Expression]]:
    """Conditions and what the function is then."""
    zero = Number(Fraction(0))
    first, *rest = node.arguments
    if node.name == "abs":
        return [(Comparison(">=", first, zero), first), (Comparison("<", first, zero), _negative(first))]
    other = rest[0] if len(rest) == 1 else Function(node.name, tuple(rest))
    operator: ComparisonOperator = ">=" if node.name == "max" else "<="
    return [(Comparison(operator, first, other), first), (Comparison(NEGATED[operator], first, other), other)]


def _put(whole_tree: Expression, old: Expression, new: Expression) -> Expression:
    return rewritten(whole_tree, lambda node: new if node == old else node)
