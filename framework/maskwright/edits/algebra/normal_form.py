"""Conditions in a form that is equal for equal meaning: how ``A`` is recognised in ``A and B or not A``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.algebra.negation import all_of, interval_comparisons, negate
from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.expression import And, Comparison, Expression, Function, InInterval, Not, Or

if TYPE_CHECKING:
    from collections.abc import Hashable
    from fractions import Fraction


class NormalForm:
    """Keys of conditions, each computed once."""

    def __init__(self) -> None:
        self._keys: dict[int, Hashable] = {}
        self._alive: list[Expression] = []

    def key(self, node: Expression) -> Hashable:
        """Hashable form; conditions with the same form mean the same."""
        if id(node) not in self._keys:
            self._alive.append(node)
            self._keys[id(node)] = self._key(node)
        return self._keys[id(node)]

    def _key(self, node: Expression) -> Hashable:  # noqa: PLR0911 - one case for each kind of node
        match node:
            case Comparison():
                return _comparison_key(node)
            case And(operands):
                return ("and", frozenset(self.key(operand) for operand in operands))
            case Or(operands):
                return ("or", frozenset(self.key(operand) for operand in operands))
            case Not(operand):
                pushed = negate(operand)
                return ("not", self.key(operand)) if isinstance(pushed, Not) else self.key(pushed)
            case InInterval():
                bounds = frozenset(_comparison_key(bound) for bound in interval_comparisons(node))
                return ("and", bounds) if len(bounds) > 1 else next(iter(bounds), node)
            case Function("boolean", (argument,)):
                return self.key(argument)
            case _:
                return node

    def two_branches(self, operands: list[Expression]) -> tuple[Expression, Expression, Expression] | None:
        """Recognise ``A and B or not A and C`` as (A, B, C)."""
        if len(operands) != 2 or not all(isinstance(operand, And) for operand in operands):
            return None
        first, second = (list(operand.operands) for operand in operands if isinstance(operand, And))
        keys = {self.key(operand): position for position, operand in enumerate(second)}
        for position, condition in enumerate(first):
            partner = keys.get(self.key(negate(condition)))
            if partner is not None:
                rest = first[:position] + first[position + 1 :]
                return condition, all_of(rest), all_of(second[:partner] + second[partner + 1 :])
        return None

    def absorbed(self, operands: list[Expression]) -> list[Expression]:
        """Drop conjuncts whose complement is a disjunct: ``A and B or not A`` is ``B or not A``."""
        alone = {self.key(operand) for operand in operands if not isinstance(operand, And)}
        untouched: list[Expression] = []
        shortened: list[Expression] = []
        for operand in operands:
            if isinstance(operand, And):
                kept = [inner for inner in operand.operands if self.key(negate(inner)) not in alone]
                if len(kept) < len(operand.operands):
                    shortened.append(all_of(kept))
                    continue
            untouched.append(operand)
        # What is left of them is what the rule demands, and the last disjunct is taken for that.
        return untouched + shortened


def _comparison_key(node: Comparison) -> Hashable:
    left, right = polynomial_of(node.left), polynomial_of(node.right)
    if left is None or right is None:
        return node
    difference, operator = left - right, node.operator
    if operator in (">", ">="):
        difference, operator = -difference, "<" if operator == ">" else "<="
    terms = sorted(difference.terms.items())
    if terms:
        leading = terms[0][1]
        scale = leading if operator in ("==", "!=") else abs(leading)
        terms = [(monomial, coefficient / scale) for monomial, coefficient in terms]
    constant: tuple[tuple[object, Fraction], ...] = tuple(terms)
    return (operator, constant, difference.divisors)
