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
from maskwright.edits.algebra.conditions import conjunction, disjunction, interval_comparisons, negation
from maskwright.edits.languages.conversion.binary_comparison import compared, whole
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.xpath_text import DateNumbers
from maskwright.edits.text_patterns import pattern_of, pattern_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.languages.conversion.binary_comparison import Grids

MOST_COMPARISONS = 500
MATCHES = "matches"
"""Function that only XPath 2 has."""
_EMPTY = x.Text("")


def xpath_test(expression: x.Expression, grids: Grids) -> x.Expression:
    """Test, as a tree in XPath's types, that holds for the records for which a rule is true or unknown."""
    numbers = DateNumbers(grids.dates)
    without_dates = numbers(expression)
    coded = {name: is_coded(x.VariableReference(name), texts, grids) for name, texts in grids.empty.items() if texts}
    grids = replace(grids, known={**grids.known, **dict.fromkeys(numbers.names, 0)})
    return numbers.written(negation(XPathWriter(grids, coded, numbers.cells).truth(without_dates, holds=False)))


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
                return conjunction(found) if holds else disjunction(found)
            case x.Or(operands):
                found = [self.truth(operand, holds=holds) for operand in operands]
                return disjunction(found) if holds else conjunction(found)
            case x.Not(operand):
                return self.truth(operand, holds=not holds)
            case x.IfThen():
                return self._conditional(node, holds=holds)
            case x.Comparison():
                return self.guarded(
                    node, self._comparison(node if holds else replace(node, operator=x.NEGATED[node.operator]))
                )
            case x.InInterval(operand):
                bounds = interval_comparisons(node)
                if not bounds:
                    return self.guarded(node, self.known(operand)) if holds else x.Truth(False)
                first, *others = bounds
                return self.truth(x.And(bounds) if others else first, holds=holds)
            case x.InSet():
                return self.guarded(node, self._in_set(node, holds=holds))
            case x.IsMissing(variable):
                blank = disjunction([_blank(variable), *self._codes(variable)])
                return blank if holds else negation(blank)
            case x.MissingAs(variable, meaning):
                if meaning not in self.grids.empty.get(variable.name, ()):
                    raise Inexpressible(
                        f"what {meaning!r} is written as in {variable.name} stands in the declarations of the data: "
                        "give them (`--pipeline`), and in the rule the code as the cells have it"
                    )
                coded = is_coded(variable, (meaning,), self.grids)
                return coded if holds else negation(coded)
            case x.IsNumber(variable):
                spoken = self.guarded(node, x.Comparison("==", _number(variable), _number(variable)))
                return spoken if holds else negation(spoken)
            case x.IsInteger(operand):
                return self.guarded(node, whole(_plain(operand), self.grids, holds=holds))
            case x.InOriginal(names):
                first_name, *more = names
                if more:
                    raise Inexpressible("XPath 1.0 cannot look up a combination of variables in the original file")
                variable = x.VariableReference(first_name)
                return self.guarded(
                    variable, node if holds else conjunction([negation(_blank(variable)), negation(node)])
                )
            case x.Truth(value):
                return x.Truth(value == holds)
            case x.Matches(variable, pattern):
                text = x.Text(f"^({pattern_text(pattern_of(pattern))})$")
                matched = x.Function(MATCHES, (x.Function("string", (variable,)), text, x.Text("s")))
                said = matched if holds else negation(matched)
                return self.guarded(node, conjunction([negation(_blank(variable)), said]))
            case x.KindCondition(name):
                raise Inexpressible(f"{name}() is a kind of constraint that XPath cannot express")
            case _:
                raise Inexpressible("it is no condition")

    def guarded(self, node: x.Expression, condition: x.Expression) -> x.Expression:
        """Condition that is false where a cell that the node reads holds a code for "no value"."""
        variables = dict.fromkeys(each for each in x.nodes(node) if isinstance(each, x.VariableReference))
        return conjunction([condition, *(negation(code) for variable in variables for code in self._codes(variable))])

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
        return conjunction([negation(_blank(variable)), same if operator == "==" else negation(same)])

    def _cells(
        self, left: x.VariableReference, operator: x.ComparisonOperator, right: x.VariableReference
    ) -> x.Expression:
        """Cells are equal as numbers (dates) where both are, as texts where one is not."""
        first, second = _number(left), _number(right)
        one, other = (
            x.VariableReference(self.cells[each.name][0]) if each.name in self.cells else each for each in (left, right)
        )
        present = [negation(_blank(one)), negation(_blank(other))]
        wordy = x.Or((x.Comparison("!=", first, first), x.Comparison("!=", second, second)))
        same = x.Comparison("==", one, other)
        if operator == "==":
            return disjunction([x.Comparison("==", first, second), conjunction([*present, wordy, same])])
        apart = x.Comparison("<", first, second), x.Comparison(">", first, second)
        return disjunction([*apart, conjunction([*present, wordy, negation(same)])])

    def _numbers(self, node: x.Comparison) -> x.Expression:
        """Comparison of numbers, in which ``abs``, ``min`` and ``max`` become cases."""
        self.comparisons += 1
        if self.comparisons > MOST_COMPARISONS:
            raise Inexpressible(f"it takes more than {MOST_COMPARISONS} comparisons in XPath")
        for side, other, operator in x.both_ways(node):
            outside = self._outermost(side, operator, other)
            if outside is not None:
                return outside
        inner = next((one for side in (node.left, node.right) if (one := _case_function(side))), None)
        if inner is None:
            return compared(_plain(node.left), node.operator, _plain(node.right), self.grids)
        found: list[x.Expression] = []
        for condition, value in _cases(inner):
            replaced = x.Comparison(node.operator, _put(node.left, inner, value), _put(node.right, inner, value))
            found.append(conjunction([self._numbers(condition), self._numbers(replaced)]))
        return disjunction(found)

    def _outermost(
        self, side: x.Expression, operator: x.ComparisonOperator, other: x.Expression
    ) -> x.Expression | None:
        """``abs(f) <= g`` and ``max(a, b) <= c`` are conjunctions; their opposites disjunctions."""
        match side:
            case x.Function("abs", (argument,)) if operator in ("<", "<=", ">", ">="):
                opposite = x.Comparison(x.MIRRORED[operator], argument, _negative(other))
                both = [self._numbers(x.Comparison(operator, argument, other)), self._numbers(opposite)]
                return conjunction(both) if operator in ("<", "<=") else disjunction(both)
            case x.Function("abs", (argument,)) if other == x.Number(Fraction(0)) and operator in ("==", "!="):
                return self._numbers(x.Comparison(operator, argument, other))
            case x.Function("max" | "min" as name, arguments) if operator in ("<", "<=", ">", ">="):
                each = [self._numbers(x.Comparison(operator, argument, other)) for argument in arguments]
                if (name == "max") == (operator in ("<", "<=")):
                    return conjunction(each)
                return conjunction([disjunction(each), *(self.known(argument) for argument in arguments)])
            case _:
                return None

    def _in_set(self, node: x.InSet, *, holds: bool) -> x.Expression:
        if not isinstance(node.operand, x.VariableReference):
            operator: x.ComparisonOperator = "==" if holds else "!="
            each = [self._comparison(x.Comparison(operator, node.operand, member)) for member in node.members]
            return disjunction(each) if holds else conjunction(each)
        variable = node.operand
        members = disjunction(
            [
                x.Comparison("==", variable if isinstance(member, x.Text) else _number(variable), member)
                for member in node.members
            ]
        )
        (cell,) = self.cells.get(variable.name, (variable.name,))
        return conjunction([negation(_blank(x.VariableReference(cell))), members if holds else negation(members)])

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
    return disjunction(found)


def _blank(variable: x.VariableReference) -> x.Expression:
    return x.Comparison("==", x.Function("normalize-space", (variable,)), _EMPTY)


def _negative(node: x.Expression) -> x.Expression:
    return x.Number(-node.value) if isinstance(node, x.Number) else x.Negative(node)


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
