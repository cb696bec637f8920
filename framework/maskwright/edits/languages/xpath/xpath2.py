"""Tests in XPath 2 and 3, parsed into the conditions and numbers that XPath 1 has too.

Source: XML Path Language 2.0 (second edition), W3C Recommendation 14 December 2010, section 3 (expressions), 3.5
(comparisons), 3.10 (types); XPath and XQuery Functions and Operators. What algebra finds in these trees is what masking
keeps. Where a value can be such that XPath 2 answers differently (a cast fails, an absent element drops out of a
sequence), `differs` says so: the verdict is then an engine's, of the test as it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, cast

from maskwright.edits import expression as x
from maskwright.edits.engines.engine_tests import STANDARD_NAMESPACES
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.xpath.casts import castable, converted, count_compared, date_of_text
from maskwright.edits.languages.xpath.conversions import as_condition, without_conversions
from maskwright.edits.languages.xpath.kinds import (
    COUNT,
    XML_SCHEMA,
    has_truth_value,
    is_chosen_value,
    kind_of,
)
from maskwright.edits.languages.xpath.parser import (
    LARGEST_TREE,
    Grown,
    Items,
    OriginalNodes,
    Parsed,
    condition_of_record,
    grown_of,
)
from maskwright.edits.languages.xpath.sequences import ABSENT, COMPARISONS, VALUE_COMPARISONS, SequenceParser

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.edit import Binding
    from maskwright.edits.element_names import ElementNaming
    from maskwright.edits.languages.xpath.tokens import Token
    from maskwright.foundation.errors import Place

MOST_STEPS = 20_000
"""Operands that are read at most, with those inside of ``for`` and ``some`` once for each item."""

_AGGREGATES = frozenset({"sum", "avg", "min", "max"})
_PARTS_OF_DATES = {"year-from-date": "year", "month-from-date": "month", "day-from-date": "day"}


@dataclass(frozen=True)
class XPath2Test:
    """A test that is understood. `differs`: why XPath 1 may answer otherwise; None: it does not."""

    tree: x.Expression
    binding: Binding
    differs: str | None


def parse_xpath2(
    text: str,
    place: Place | None = None,
    variables: Mapping[str, Parsed] | None = None,
    limits: SchematronOptions | None = None,
    naming: ElementNaming | None = None,
) -> XPath2Test:
    """Parse the test of an assert; see `maskwright.edits.languages.xpath.parser.parse_xpath`."""
    parser = XPath2Parser(text, place, variables or {}, limits or SchematronOptions(), naming)
    tree = condition_of_record(parser.condition(), place)
    if any(isinstance(node, x.Date | x.Function) and kind_of(node) == "date" for node in x.nodes(tree)):
        # Dates are days in the language of conditions only: there a variable is a date by itself.
        return XPath2Test(without_conversions(as_condition(x.rewritten(tree, _without_dates))), "exact", "dates")
    return XPath2Test(tree, "xpath1", parser.differs)


def _without_dates(node: x.Expression) -> x.Expression:
    return node.arguments[0] if isinstance(node, x.Function) and node.name == "date" else node


def value_of_xpath2(
    text: str, place: Place | None, variables: Mapping[str, Parsed], limits: SchematronOptions,
    naming: ElementNaming,
) -> tuple[Parsed, str | None]:  # fmt: skip
    """Value of a ``let``, and why XPath 1 may see another."""
    parser = XPath2Parser(text, place, variables, limits, naming)
    return parser.parse(), parser.differs


class XPath2Parser(SequenceParser):
    """Reads one expression about one flat record."""

    def condition(self) -> Parsed:
        """Read the whole text as a condition."""
        tree = self.parse()
        return tree if isinstance(tree, OriginalNodes) else self._as_truth_value(grown_of(tree)).tree

    # Operands

    def _unary(self) -> Grown:
        if not self._later:
            return super()._unary()
        while self._is_sign("+"):
            self._advance()
        grown = super()._unary()
        while self._token.kind == "name" and self._token.text in ("cast", "castable"):
            token = self._advance()
            self._keyword("as")
            name = self._type_name()
            self._check_of_record(grown)
            self._may_differ("a cast may fail")
            found = castable(name, grown.value) if token.text == "castable" else converted(name, grown.value)
            if found is None:
                self._unread(f"{token.text} as {name}", token)
            grown = self._checked(grown_of(found))
        return grown

    def _type_name(self) -> str:
        token = self._advance()
        prefix, _, name = token.text.rpartition(":")
        if self._namespaces.get(prefix) != XML_SCHEMA:
            self._unread(f"the type {token.text}", token)
        if self._is_sign("?"):
            self._advance()
        return name

    def _primary(self) -> Grown:
        self._steps_taken += 1
        if self._steps_taken > MOST_STEPS:
            self._refuse.fail(f"with its sequences written out, this expression has more than {MOST_STEPS:,} operands")
        token = self._token
        if self._item is not None and token.text == "." and self._tokens[self._next + 1].text != "/":
            self._advance()
            return self._ended(self._item)
        if self._later and token.kind == "string":
            quote = token.text[0]
            self._advance()
            return self._ended(Grown(x.Text(token.text[1:-1].replace(quote * 2, quote)), 1, 1))
        return super()._primary()

    def _variable(self, token: Token, name: str | None) -> Grown:
        if self._item is not None:
            self._unread("a step from an item", token)
        return super()._variable(token, name)

    def _ended(self, grown: Grown) -> Grown:
        while self._later:
            following = self._tokens[min(self._next + 2, len(self._tokens) - 1)]
            is_call = self._tokens[min(self._next + 1, len(self._tokens) - 1)].kind == "name" and following.text == "("
            if not self._is_sign("!") and not (self._is_sign("/") and is_call):
                break
            self._advance()
            grown = self._mapped(grown)
        return grown if self._later and self._is_sign("|") else super()._ended(grown)

    def _substitute(self, name: str) -> Grown:
        return self._bound[name] if name in self._bound else super()._substitute(name)

    # Functions

    def _call(self) -> Grown:
        token = self._token
        prefix, _, name = token.text.rpartition(":")
        is_of_document = name in ("document", "doc") or self._tokens[self._next + 2].text == "index-of"
        if not self._later or is_of_document or (name in ("true", "false") and not prefix):
            return super()._call()
        space = self._namespaces.get(prefix) if prefix else STANDARD_NAMESPACES["fn"]
        self._next += 2
        arguments: list[Grown] = []
        while not self._is_sign(")"):
            if arguments:
                self._expect(",")
            arguments.append(self._expression(1))
        self._advance()
        if space == XML_SCHEMA and len(arguments) == 1:
            return self._constructed(name, arguments[0], token)
        if space != STANDARD_NAMESPACES["fn"]:
            self._unread(f"the function {token.text}()", token)
        if not arguments and self._item is not None and name in ("number", "string", "normalize-space", "data"):
            arguments = [self._item]
        if len(arguments) != 1:
            self._unread(f"{name}() with {len(arguments)} arguments", token)
        return self._of_function(name, arguments[0], token)

    def _constructed(self, name: str, argument: Grown, token: Token) -> Grown:
        self._check_of_record(argument)
        self._may_differ("a cast may fail")
        found = date_of_text(argument.value) if name == "date" else converted(name, argument.value)
        if found is None:
            self._unread(f"{token.text}() of this", token)
        return self._checked(grown_of(found))

    def _of_function(self, name: str, argument: Grown, token: Token) -> Grown:  # noqa: C901, PLR0911 - a case for each
        match name:
            case "exists" | "empty":
                there = self._there(argument, token)
                return there if name == "exists" else self._grow(x.Not(there.value), there)
            case "count":
                self._there(argument, token)
                names = tuple(dict.fromkeys(item.value for item in self._items(argument)))
                return self._grow(x.Function(COUNT, names), argument)
            case "not" | "boolean":
                truth = self._as_truth_value(argument)
                return self._grow(x.Not(truth.value) if name == "not" else x.Function(name, (truth.value,)), truth)
            case _ if name in _AGGREGATES:
                return self._aggregated(name, [self._as_operand(item) for item in self._items(argument)], token)
        self._check_of_record(argument)
        kind = kind_of(argument.value)
        match name, kind:
            case "data", "untyped" | "number" | "text":
                return argument
            case "number", "number":
                return argument
            case ("number", "untyped" | "text") | ("string" | "normalize-space", "untyped" | "text"):
                return self._grow(x.Function(name, (argument.value,)), argument)
            case "floor" | "ceiling" | "round" | "abs", "number" | "untyped":
                operand = self._as_operand(argument)
                return self._grow(x.Function(name, (operand.value,)), operand)
            case _, "date" if name in _PARTS_OF_DATES:
                return self._grow(x.Function(_PARTS_OF_DATES[name], (argument.value,)), argument)
            case "days-from-duration", "duration":
                return self._grow(x.Function("number", (argument.value,)), argument)
        return self._unread(f"the function {token.text}() of this", token)

    def _there(self, argument: Grown, token: Token) -> Grown:
        """Whether one of some elements is there."""
        items = self._items(argument)
        if any(kind_of(item.value) != "untyped" for item in items):
            self._unread(f"{token.text}() of something else than elements", token)
        return self._joined("or", [self._grow(x.Function("boolean", (item.value,)), item) for item in items])

    def _aggregated(self, name: str, items: Sequence[Grown], token: Token) -> Grown:
        self._may_differ(ABSENT)
        if not items:
            if name != "sum":
                self._unread(f"{name}() of nothing", token)
            return Grown(x.Number(Fraction(0)), 1, 1)
        if len(items) == 1:
            return items[0]
        if name in ("min", "max"):
            return self._grow(x.Function(name, tuple(item.value for item in items)), *items)
        total = reduce(lambda one, other: self._combine("+", one, other), items)
        return total if name == "sum" else self._combine("div", total, Grown(x.Number(Fraction(len(items))), 1, 1))

    # Operators

    def _as_truth_value(self, grown: Grown) -> Grown:
        if isinstance(grown.tree, Items):
            if any(kind_of(each) != "untyped" for each in grown.tree.members):
                self._unread("a sequence as a condition")
            return self._there(grown, self._token)
        self._check_of_record(grown)
        if kind_of(grown.value) == "count":
            assert isinstance(grown.tree, x.Function)
            return self._joined("or", [grown_of(x.Function("boolean", (each,))) for each in grown.tree.arguments])
        if not has_truth_value(kind_of(grown.value)) or is_chosen_value(grown.tree):
            self._unread("a date, or a choice of values, as a condition")
        return grown

    def _as_operand(self, grown: Grown) -> Grown:
        """A number to calculate with: the text of an element is read as one."""
        self._check_of_record(grown)
        kind = kind_of(grown.value)
        if isinstance(grown.tree, x.VariableReference):
            name = grown.tree.name
            self._may_differ(f"the variable {name} is used without number(): write number({name})")
        if kind == "untyped":
            return self._grow(x.Function("number", (grown.value,)), grown)
        if kind != "number" or is_chosen_value(grown.tree):
            self._unread(f"calculating with a {kind}")
        return grown

    def _combine(self, operator: str, left: Grown, right: Grown) -> Grown:  # noqa: PLR0911 - for each kind of operator
        if not self._later or any(isinstance(side.tree, OriginalNodes) for side in (left, right)):
            return super()._combine(operator, left, right)
        if operator in ("and", "or"):
            return super()._combine(operator, self._as_truth_value(left), self._as_truth_value(right))
        if operator in ("|", "union"):
            return self._flat(list({item.value: item for side in (left, right) for item in self._items(side)}.values()))
        if operator == "to":
            return self._range(left, right)
        for chosen, is_left in ((left, True), (right, False)):
            if is_chosen_value(chosen.tree):
                return self._of_chosen(operator, chosen, left, right, is_left=is_left)
        if operator in VALUE_COMPARISONS:
            self._check_of_record(left, right)
            return self._compared(VALUE_COMPARISONS[operator], left, right)
        if operator in COMPARISONS:
            pairs = [(one, other) for one in self._items(left) for other in self._items(right)]
            if len(pairs) > LARGEST_TREE:
                self._unread("a comparison of sequences that long")
            return self._joined("or", [self._compared(operator, *pair) for pair in pairs])
        return self._calculated(operator, left, right)

    def _of_chosen(self, operator: str, chosen: Grown, left: Grown, right: Grown, *, is_left: bool) -> Grown:
        """``(if c then a else b) + d``: ``if c then a + d else b + d``."""
        tree = cast("x.IfThen", chosen.tree)
        assert tree.otherwise is not None
        branches = [
            self._combine(operator, grown_of(each), right) if is_left else self._combine(operator, left, grown_of(each))
            for each in (tree.consequent, tree.otherwise)
        ]
        return self._chosen(grown_of(tree.condition), branches[0], branches[1])

    def _calculated(self, operator: str, left: Grown, right: Grown) -> Grown:
        self._check_of_record(left, right)
        if operator == "-" and kind_of(left.value) == kind_of(right.value) == "date":
            return super()._combine(operator, left, right)
        if operator in ("||", "idiv"):
            self._unread(f"the operator {operator}")
        return super()._combine(operator, self._as_operand(left), self._as_operand(right))

    def _compared(self, operator: str, left: Grown, right: Grown) -> Grown:
        kinds = {kind_of(left.value), kind_of(right.value)}
        if "count" in kinds:
            relation = cast("x.ComparisonOperator", "==" if operator == "=" else operator)
            found = count_compared(relation, left.value, right.value)
            if found is None:
                self._unread("a count of elements, but whether there is one")
            return self._checked(grown_of(found))
        if kinds <= {"untyped", "text"}:
            if operator not in ("=", "!="):
                self._unread("an order of texts: say xs:decimal() or number() of both sides")
        elif kinds <= {"untyped", "date"}:
            sides = (date_of_text(side.value) or side.value for side in (left, right))
            left, right = (self._checked(grown_of(side)) for side in sides)
        elif not (kinds <= {"untyped", "number"} or kinds in ({"truth"}, {"duration"})):
            self._unread(f"a comparison of a {' with a '.join(sorted(kinds))}")
        return super()._combine(operator, left, right)
