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
from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import interval_comparisons
from maskwright.edits.languages.conversion.binary_comparison import compared, whole
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.xpath_text import DateNumbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.languages.conversion.binary_comparison import Grids

MOST_COMPARISONS = 500
_EMPTY = x.Text("")


def xpath_test(expression: x.Expression, grids: Grids) -> x.Expression:
    """Test, as a tree in XPath's types, that holds for the records for which a rule is true or unknown."""
    numbers = DateNumbers(grids.dates)
    without_dates = numbers(expression)
    coded = {name: is_coded(x.VariableReference(name), texts, grids) for name, texts in grids.empty.items() if texts}
    grids = replace(grids, known={**grids.known, **dict.fromkeys(numbers.names, 0)})
    return numbers.written(not_(XPathWriter(grids, coded, numbers.cells).truth(without_dates, holds=False)))


@dataclass
class XPathWriter:
    """Writes conditions of one rule as XPath, knowing of the codes and dates that its cells may hold."""

    grids: Grids
    coded: Mapping[str, x.Expression]
    cells: Mapping[str, tuple[str, ...]]
    comparisons: int = field(default=0)

    def truth(self, node: x.Expression, *, holds: bool) -> x.Expression:  # noqa: C901, PLR0911, PLR0912 - a case each
        """XPath for "the condition is true" or "the condition is false"; both are false where it is unknown."""
        match node:
            case x.And(operands):
                found = [self.truth(operand, holds=holds) for operand in operands]
                return and_(found) if holds else or_(found)
            case x.Or(operands):
                found = [self.truth(operand, holds=holds) for operand in operands]
                return or_(found) if holds else and_(found)
            case x.Not(operand):
                return self.truth(operand, holds=not holds)
            case x.IfThen():
                return self._conditional(node, holds=holds)
            case x.Comparison():
                return self.told(
                    node, self._comparison(node if holds else replace(node, operator=x.NEGATED[node.operator]))
                )
            case x.InInterval(operand):
                bounds = interval_comparisons(node)
                if not bounds:
                    return self.told(node, self.known(operand)) if holds else x.Truth(False)
                first, *others = bounds
                return self.truth(x.And(bounds) if others else first, holds=holds)
            case x.InSet():
                return self.told(node, self._in_set(node, holds=holds))
            case x.IsMissing(variable):
                blank = or_([_blank(variable), *self._codes(variable)])
                return blank if holds else not_(blank)
            case x.MissingAs(variable, meaning):
                if meaning not in self.grids.empty.get(variable.name, ()):
                    raise Inexpressible(
                        f"what {meaning!r} is written as in {variable.name} stands in the declarations of the data: "
                        "give them (`--pipeline`), and in the rule the code as the cells have it"
                    )
                coded = is_coded(variable, (meaning,), self.grids)
                return coded if holds else not_(coded)
            case x.IsNumber(variable):
                spoken = self.told(node, x.Comparison("==", _number(variable), _number(variable)))
                return spoken if holds else not_(spoken)
            case x.IsInteger(operand):
                return self.told(node, whole(_plain(operand), self.grids, holds=holds))
            case x.InOriginal(names):
                first_name, *more = names
                if more:
                    raise Inexpressible("XPath 1.0 cannot look up a combination of variables in the original file")
                variable = x.VariableReference(first_name)
                return self.told(variable, node if holds else and_([not_(_blank(variable)), not_(node)]))
            case x.Truth(value):
                return x.Truth(value == holds)
            case x.KindCondition(name):
                raise Inexpressible(f"{name}() is a kind of constraint of a plugin, which XPath has no words for")
            case _:
                raise Inexpressible("it is no condition")

    def told(self, node: x.Expression, condition: x.Expression) -> x.Expression:
        """Condition that is false where a cell that the node asks holds a code for "no value"."""
        asked = dict.fromkeys(each for each in x.nodes(node) if isinstance(each, x.VariableReference))
        return and_([condition, *(not_(code) for variable in asked for code in self._codes(variable))])

    def _codes(self, variable: x.VariableReference) -> list[x.Expression]:
        names = self.cells.get(variable.name, (variable.name,))
        return [self.coded[name] for name in names if name in self.coded]

    def _conditional(self, node: x.IfThen, *, holds: bool) -> x.Expression:
        """As the two implications that it stands for: ``not P or E`` and ``P or F``."""
        first: x.Expression = x.Or((x.Not(node.condition), node.consequent))
        if node.otherwise is None:
            return self.truth(first, holds=holds)
        return self.truth(x.And((first, x.Or((node.condition, node.otherwise)))), holds=holds)

    def _comparison(self, node: x.Comparison) -> x.Expression:
        """XPath for "the comparison is true"."""
        left, operator, right = node.left, node.operator, node.right
        if isinstance(left, x.Text) or isinstance(right, x.Text):
            return self._texts(left, operator, right)
        if (
            operator in ("==", "!=")
            and isinstance(left, x.VariableReference)
            and isinstance(right, x.VariableReference)
        ):
            return self._cells(left, operator, right)
        return self._numbers(node)

    def _texts(self, left: x.Expression, operator: x.ComparisonOperator, right: x.Expression) -> x.Expression:
        if isinstance(left, x.Text) and isinstance(right, x.Text):
            return x.Truth((left.value == right.value) == (operator == "=="))
        variable, text = (right, left) if isinstance(left, x.Text) else (left, right)
        if not isinstance(variable, x.VariableReference):
            raise Inexpressible("a text is compared with something computed")
        same = x.Comparison("==", variable, text)
        return and_([not_(_blank(variable)), same if operator == "==" else not_(same)])

    def _cells(
        self, left: x.VariableReference, operator: x.ComparisonOperator, right: x.VariableReference
    ) -> x.Expression:
        """Cells are equal as numbers (dates) where both are, as texts where one is not."""
        first, second = _number(left), _number(right)
        one, other = (
            x.VariableReference(self.cells[each.name][0]) if each.name in self.cells else each for each in (left, right)
        )
        present = [not_(_blank(one)), not_(_blank(other))]
        wordy = x.Or((x.Comparison("!=", first, first), x.Comparison("!=", second, second)))
        same = x.Comparison("==", one, other)
        if operator == "==":
            return or_([x.Comparison("==", first, second), and_([*present, wordy, same])])
        return or_(
            [x.Comparison("<", first, second), x.Comparison(">", first, second), and_([*present, wordy, not_(same)])]
        )

    def _numbers(self, node: x.Comparison) -> x.Expression:
        """Comparison of numbers, in which ``abs``, ``min`` and ``max`` become cases."""
        self.comparisons += 1
        if self.comparisons > MOST_COMPARISONS:
            raise Inexpressible(f"it takes more than {MOST_COMPARISONS} comparisons in XPath")
        ways: tuple[tuple[x.Expression, x.Expression, x.ComparisonOperator], ...] = (
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
        found: list[x.Expression] = []
        for condition, value in _cases(inner):
            replaced = x.Comparison(node.operator, _put(node.left, inner, value), _put(node.right, inner, value))
            found.append(and_([self._numbers(condition), self._numbers(replaced)]))
        return or_(found)

    def _outermost(
        self, side: x.Expression, operator: x.ComparisonOperator, other: x.Expression
    ) -> x.Expression | None:
        """``abs(f) <= g`` and ``max(a, b) <= c`` are conjunctions; their opposites disjunctions."""
        match side:
            case x.Function("abs", (argument,)) if operator in ("<", "<=", ">", ">="):
                opposite = x.Comparison(_mirrored(operator), argument, _negative(other))
                both = [self._numbers(x.Comparison(operator, argument, other)), self._numbers(opposite)]
                return and_(both) if operator in ("<", "<=") else or_(both)
            case x.Function("abs", (argument,)) if other == x.Number(Fraction(0)) and operator in ("==", "!="):
                return self._numbers(x.Comparison(operator, argument, other))
            case x.Function("max" | "min" as name, arguments) if operator in ("<", "<=", ">", ">="):
                each = [self._numbers(x.Comparison(operator, argument, other)) for argument in arguments]
                if (name == "max") == (operator in ("<", "<=")):
                    return and_(each)
                return and_([or_(each), *(self.known(argument) for argument in arguments)])
            case _:
                return None

    def _in_set(self, node: x.InSet, *, holds: bool) -> x.Expression:
        if not isinstance(node.operand, x.VariableReference):
            operator: x.ComparisonOperator = "==" if holds else "!="
            each = [self._comparison(x.Comparison(operator, node.operand, member)) for member in node.members]
            return or_(each) if holds else and_(each)
        variable = node.operand
        members = or_(
            [
                x.Comparison("==", variable if isinstance(member, x.Text) else _number(variable), member)
                for member in node.members
            ]
        )
        (cell,) = self.cells.get(variable.name, (variable.name,))
        return and_([not_(_blank(x.VariableReference(cell))), members if holds else not_(members)])

    def known(self, node: x.Expression) -> x.Expression:
        """XPath for "the number is known"."""
        return (
            self._comparison(x.Comparison("==", node, node))
            if not isinstance(node, x.VariableReference)
            else (x.Comparison("==", _number(node), _number(node)))
        )


def _number(variable: x.VariableReference) -> x.Expression:
    return x.Function("number", (variable,))


def _plain(node: x.Expression) -> x.Expression:
    """Variables as numbers."""
    return x.rewritten(node, lambda inner: _number(inner) if isinstance(inner, x.VariableReference) else inner)


def is_coded(variable: x.VariableReference, texts: tuple[str, ...], grids: Grids) -> x.Expression:
    """XPath for "the cell is one of these texts"; a code that is a number is one in any notation."""
    found: list[x.Expression] = []
    for text in texts:
        if variable.name in grids.known and re.search(XPATH_NUMBER, text.strip()):
            found.append(x.Comparison("==", _number(variable), x.Number(Fraction(text.strip()))))
        else:
            shown = x.Function("normalize-space", (variable,))
            found.append(x.Comparison("==", shown, x.Text(" ".join(text.split()))))
    return or_(found)


def _blank(variable: x.VariableReference) -> x.Expression:
    return x.Comparison("==", x.Function("normalize-space", (variable,)), _EMPTY)


def _mirrored(operator: x.ComparisonOperator) -> x.ComparisonOperator:
    return {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)  # type: ignore[return-value]


def _negative(node: x.Expression) -> x.Expression:
    return x.Number(-node.value) if isinstance(node, x.Number) else x.Negative(node)


def not_(node: x.Expression) -> x.Expression:
    """Negation, without a double one."""
    match node:
        case x.Truth(value):
            return x.Truth(not value)
        case x.Not(operand):
            return operand
        case _:
            return x.Not(node)


def and_(operands: Sequence[x.Expression]) -> x.Expression:
    """Conjunction, flat, of any number of conditions."""
    kept = [operand for operand in _flat(operands, x.And) if operand != x.Truth(True)]
    if any(operand == x.Truth(False) for operand in kept):
        return x.Truth(False)
    return x.Truth(True) if not kept else kept[0] if len(kept) == 1 else x.And(tuple(kept))


def or_(operands: Sequence[x.Expression]) -> x.Expression:
    """Disjunction, flat, of any number of conditions."""
    kept = [operand for operand in _flat(operands, x.Or) if operand != x.Truth(False)]
    if any(operand == x.Truth(True) for operand in kept):
        return x.Truth(True)
    return x.Truth(False) if not kept else kept[0] if len(kept) == 1 else x.Or(tuple(kept))


def _flat(operands: Sequence[x.Expression], kind: type[x.And | x.Or]) -> list[x.Expression]:
    found: dict[x.Expression, None] = {}
    for operand in operands:
        found.update(dict.fromkeys(operand.operands if isinstance(operand, kind) else (operand,)))
    return list(found)


def _case_function(node: x.Expression) -> x.Function | None:
    """An innermost ``abs``, ``min`` or ``max``."""
    for child in x.children(node):
        found = _case_function(child)
        if found is not None:
            return found
    return node if isinstance(node, x.Function) and node.name in ("abs", "min", "max") else None


def _cases(node: x.Function) -> list[tuple[x.Comparison, x.Expression]]:
    """Conditions and what the function is then."""
    zero = x.Number(Fraction(0))
    first, *rest = node.arguments
    if node.name == "abs":
        return [(x.Comparison(">=", first, zero), first), (x.Comparison("<", first, zero), _negative(first))]
    other = rest[0] if len(rest) == 1 else x.Function(node.name, tuple(rest))
    operator: x.ComparisonOperator = ">=" if node.name == "max" else "<="
    return [(x.Comparison(operator, first, other), first), (x.Comparison(x.NEGATED[operator], first, other), other)]


def _put(whole_tree: x.Expression, old: x.Expression, new: x.Expression) -> x.Expression:
    return x.rewritten(whole_tree, lambda node: new if node == old else node)
