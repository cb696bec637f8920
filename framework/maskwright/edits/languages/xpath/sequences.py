"""Sequences of XPath 2, and what is said of each item: ``for``, ``let``, ``some``, ``every``, ``if``, ``!``."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, NoReturn

from maskwright.edits import expression as x
from maskwright.edits.engines.engine_tests import STANDARD_NAMESPACES
from maskwright.edits.languages.xpath.kinds import kind_of
from maskwright.edits.languages.xpath.parser import Grown, Items, OriginalNodes, Parsed, XPathParser, grown_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.element_names import ElementNaming
    from maskwright.edits.languages.schematron.options import SchematronOptions
    from maskwright.edits.languages.xpath.tokens import Token
    from maskwright.foundation.errors import Place

LONGEST_RANGE = 1_000
"""Numbers of ``1 to n`` that are written out."""
ABSENT = "an absent element drops out of a sequence"
VALUE_COMPARISONS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_OPERATORS = {
    "or": 1, "and": 2, **dict.fromkeys((*COMPARISONS, *VALUE_COMPARISONS), 3), "||": 4, "to": 5, "+": 6, "-": 6,
    "*": 7, "div": 7, "idiv": 7, "mod": 7, "|": 8, "union": 8,
}  # fmt: skip


class SequenceParser(XPathParser):
    """Reads sequences; `later`: whether the expression is in XPath 2 at all."""

    def __init__(
        self,
        text: str,
        place: Place | None,
        variables: Mapping[str, Parsed],
        limits: SchematronOptions,
        naming: ElementNaming | None = None,
        *,
        later: bool = True,
    ) -> None:
        super().__init__(text, place, variables, limits, naming, later=later)
        self._later = later
        if later:
            self._operators = _OPERATORS
        self._namespaces = {**STANDARD_NAMESPACES, **self._naming.namespaces}
        self._bound: dict[str, Grown] = {}
        self._item: Grown | None = None
        self._steps_taken = 0
        self.differs: str | None = None

    def _may_differ(self, reason: str) -> None:
        self.differs = self.differs or reason

    def _keyword(self, word: str) -> None:
        if self._token.kind != "name" or self._token.text != word:
            self._refuse.operator(self._token, f"expected {word!r}")
        self._advance()

    def _unread(self, construct: str, token: Token | None = None) -> NoReturn:
        self._refuse.unsupported(construct, token or self._token)

    @abstractmethod
    def _as_truth_value(self, grown: Grown) -> Grown:
        """What stands as a condition, where it has a truth value."""

    # Expressions that begin with a keyword

    def _expression(self, lowest: int) -> Grown:
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        if not self._later or lowest > 1 or self._token.kind != "name":
            return super()._expression(lowest)
        is_conditional = self._token.text == "if" and following.text == "("
        binds = self._token.text in ("let", "for", "some", "every") and following.kind == "reference"
        if not is_conditional and not binds:
            return super()._expression(lowest)
        self._level += 1
        if self._level > self._limits.max_nesting:
            self._refuse.too_deep()
        found = self._conditional() if is_conditional else self._binding(self._advance().text)
        self._level -= 1
        return found

    def _conditional(self) -> Grown:
        self._next += 2
        condition = self._sequence()
        self._expect(")")
        self._keyword("then")
        consequent = self._expression(1)
        self._keyword("else")
        return self._chosen(condition, consequent, self._expression(1))

    def _chosen(self, condition: Grown, consequent: Grown, otherwise: Grown) -> Grown:
        """``if (condition) then consequent else otherwise``, of conditions or of values."""
        condition = self._as_truth_value(condition)
        self._check_of_record(condition, consequent, otherwise)
        opposite = self._grow(x.Not(condition.value), condition)
        if (kind_of(consequent.value) == "truth") != (kind_of(otherwise.value) == "truth"):
            self._unread("'if' with a condition in one branch, and a value in the other")
        match consequent.tree, otherwise.tree:
            case _, x.Truth(True):
                return self._grow(x.IfThen(condition.value, consequent.value), condition, consequent)
            case x.Truth(True), _:
                return self._grow(x.IfThen(opposite.value, otherwise.value), opposite, otherwise)
            case _, x.Truth(False):
                return super()._combine("and", condition, consequent)
            case x.Truth(False), _:
                return super()._combine("and", opposite, otherwise)
        tree = x.IfThen(condition.value, consequent.value, otherwise.value)
        return self._grow(tree, condition, consequent, otherwise)

    def _binding(self, keyword: str) -> Grown:
        """What follows ``let``, ``for``, ``some`` or ``every``, read once for each item."""
        token = self._advance()
        if token.kind != "reference":
            self._refuse.operator(token, "expected a variable")
        if keyword == "let":
            self._expect(":=")
            items = [self._expression(1)]
        else:
            self._keyword("in")
            items = self._items(self._expression(1))
        is_test = keyword in ("some", "every")
        if is_test and any(kind_of(item.value) == "untyped" for item in items):
            self._may_differ(ABSENT)
        outer, start, found = dict(self._bound), self._next, []
        # What is said of no item has to be read all the same.
        for item in items or [Grown(x.Number(Fraction(0)), 1, 1)]:
            self._next, self._bound = start, {**outer, token.text[1:].strip(): item}
            if self._is_sign(","):
                self._advance()
                found.append(self._binding(keyword))
            else:
                self._keyword("satisfies" if is_test else "return")
                found.append(self._expression(1))
        self._bound = outer
        if keyword == "let":
            return found[0]
        results = found if items else []
        return self._joined("or" if keyword == "some" else "and", results) if is_test else self._flat(results)

    def _joined(self, operator: str, conditions: Sequence[Grown]) -> Grown:
        if not conditions:
            return Grown(x.Truth(operator == "and"), 1, 1)
        return reduce(lambda one, other: self._combine(operator, one, other), map(self._as_truth_value, conditions))

    # Sequences

    def _parenthesised(self) -> Grown:
        if not self._later:
            return super()._parenthesised()
        self._advance()
        if self._is_sign(")"):
            self._advance()
            return Grown(Items(()), 1, 1)
        grown = self._sequence()
        self._expect(")")
        return grown

    def _sequence(self) -> Grown:
        found = [self._expression(1)]
        while self._later and self._is_sign(","):
            self._advance()
            found.append(self._expression(1))
        return found[0] if len(found) == 1 else self._flat(found)

    def _flat(self, parts: Sequence[Grown]) -> Grown:
        members = [item for part in parts for item in self._items(part)]
        if len(members) == 1:
            return members[0]
        size = max(1, sum(item.size for item in members))
        depth = max((item.depth for item in members), default=1)
        return self._checked(Grown(Items(tuple(item.value for item in members)), depth, size))

    def _items(self, grown: Grown) -> list[Grown]:
        if isinstance(grown.tree, OriginalNodes):
            self._check_of_record(grown)
        return [grown_of(each) for each in grown.tree.members] if isinstance(grown.tree, Items) else [grown]

    def _range(self, left: Grown, right: Grown) -> Grown:
        bounds = []
        for tree in (left.tree, right.tree):
            sign, number = (-1, tree.operand) if isinstance(tree, x.Negative) else (1, tree)
            if type(number) is not x.Number or number.value.denominator != 1:
                self._unread("a range whose ends are no whole numbers")
            bounds.append(sign * int(number.value))
        low, high = bounds
        if high - low >= LONGEST_RANGE:
            self._unread(f"a range of more than {LONGEST_RANGE:,} numbers")
        return self._flat([Grown(x.Number(Fraction(each)), 1, 1) for each in range(low, high + 1)])

    def _mapped(self, grown: Grown) -> Grown:
        """``(a, b) ! number(.)``: what follows, read once for each item as ``.``."""
        items = self._items(grown)
        outer, start, found = self._item, self._next, []
        for item in items or [Grown(x.Number(Fraction(0)), 1, 1)]:
            self._next, self._item = start, item
            found.append(self._primary())
        self._item = outer
        return self._flat(found if items else [])
