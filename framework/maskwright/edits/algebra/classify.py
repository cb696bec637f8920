"""The kind of an edit, by algebra: a condition as a conjunction of linear, product, range and other parts."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import NormalForm, all_of, calendar_bounds, interval_comparisons, negate
from maskwright.edits.algebra.conjunctions import (
    Conjunction,
    comparison_parts,
    distances,
    equality_within,
    merge,
    variable_of,
    whole_number_part,
    with_tolerances,
)
from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.edit import CheckedPart, DomainPart, GoverningPart, Part, PolynomialPart, RangePart
from maskwright.foundation.errors import EditError, Place, Problem

if TYPE_CHECKING:
    from fractions import Fraction

# A disjunction of conjunctions; () never holds, ((),) always does.
Disjunction = tuple[tuple[Part, ...], ...]

MOST_CASES = 64


def classify(expression: x.Expression, place: Place | None = None) -> tuple[Part, ...]:
    """Parts of an edit: a conjunction that holds for the same records as the edit itself.

    Same records means those where nothing inside the edit is unknown: no cell missing, no divisor 0 (negative exponents
    are kept, nothing is multiplied out).
    """
    parts = _Classifier().conjunction(expression)
    if parts is None:
        raise EditError(
            Problem("this rule can never hold, whatever the record", place, "Check its bounds and comparison signs.")
        )
    return parts


def cases(condition: x.Expression) -> Disjunction | None:
    """Condition as a disjunction of conjunctions of linear, product, range and domain parts; None where it has none."""
    return _Classifier().cases(condition)


class _Classifier:
    """One classification; remembers what each subtree is, so that no nesting makes the work grow exponentially."""

    def __init__(self) -> None:
        self._conjunctions: dict[int, Conjunction] = {}
        self._cases: dict[int, Disjunction | None] = {}
        self._negations: dict[int, x.Expression] = {}
        # Object identities are only good while the objects live.
        self._alive: list[x.Expression] = []
        self._form = NormalForm()

    def conjunction(self, node: x.Expression) -> Conjunction:
        """Parts of a condition."""
        if id(node) not in self._conjunctions:
            self._alive.append(node)
            self._conjunctions[id(node)] = self._conjunction(node)
        return self._conjunctions[id(node)]

    def negated(self, node: x.Expression) -> x.Expression:
        """Complement of a condition, the same object each time."""
        if id(node) not in self._negations:
            self._alive.append(node)
            self._negations[id(node)] = negate(node)
        return self._negations[id(node)]

    def _conjunction(self, node: x.Expression) -> Conjunction:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
        match node:
            case x.And(operands):
                return self._all(list(operands))
            case x.Or():
                return self._any(node)
            case x.Not(operand):
                pushed = self.negated(operand)
                return (CheckedPart(node),) if isinstance(pushed, x.Not) else self.conjunction(pushed)
            case x.Comparison():
                return self._comparison(node)
            case x.InInterval():
                bounds = interval_comparisons(node)
                return self._all(list(bounds)) if bounds else (CheckedPart(node),)
            case x.IfThen(condition, consequent, otherwise):
                return self._governing(condition, consequent, otherwise)
            case x.InSet(operand, members):
                part = _set_part(operand, members)
                return (part if part is not None else CheckedPart(node),)
            case x.IsInteger(operand):
                return self._whole(node, operand)
            case x.InOriginal(names):
                return (DomainPart(names),)
            case x.IsNumber():
                # Of records in which nothing is unknown, every cell that is calculated with is a number.
                return ()
            case x.Truth(value):
                return () if value else None
            case x.Function("boolean", (argument,)) if _is_condition(argument):
                return self.conjunction(argument)
            case _:
                return (CheckedPart(node),)

    def _all(self, operands: list[x.Expression]) -> Conjunction:
        parts: list[Part] = []
        for operand in operands:
            found = self.conjunction(operand)
            if found is None:
                return None
            parts.extend(found)
        return merge(parts)

    def _comparison(self, node: x.Comparison) -> Conjunction:
        bounds = calendar_bounds(node)
        if bounds is not None:
            return self._all(bounds)
        near = equality_within(node)
        if near is not None:
            return near
        pair = distances(node)
        if pair is None:
            return comparison_parts(node)
        found = self._all(list(pair))
        if found is not None and any(
            isinstance(side, x.Function) and side.name == "abs" for side in (node.left, node.right)
        ):
            found = with_tolerances(found, any_centre=True)
        # Two inequalities that algebra cannot use say no more than the comparison as it was written.
        return (CheckedPart(node),) if found and all(isinstance(part, CheckedPart) for part in found) else found

    @staticmethod
    def _whole(node: x.IsInteger, operand: x.Expression) -> Conjunction:
        part = whole_number_part(operand)
        if part is not None:
            return (part,)
        value = polynomial_of(operand)
        if value is not None and value.is_constant and not value.divisors:
            return () if value.constant.denominator == 1 else None
        return (CheckedPart(node),)

    def _any(self, node: x.Or) -> Conjunction:  # noqa: PLR0911 - one return for each form
        operands: list[x.Expression] = []
        for operand in _flat(node):
            found = self.conjunction(operand)
            if found == ():
                return ()
            if found is not None:
                operands.append(operand)
        if not operands:
            return None
        if len(operands) == 1:
            return self.conjunction(operands[0])
        values = self._listed_values(operands)
        if values is not None:
            return (values,)
        branches = self._form.two_branches(operands)
        if branches is not None:
            return self._governing(*branches)
        operands = self._form.absorbed(operands)
        if len(operands) == 1:
            return self.conjunction(operands[0])
        return self._implication(operands, node)

    def _listed_values(self, operands: list[x.Expression]) -> RangePart | None:
        """``x == 1 or x == 2`` is the set of both."""
        numbers: set[Fraction] = set()
        texts: dict[str, None] = {}
        names: set[str] = set()
        for operand in operands:
            found = self.conjunction(operand)
            part = found[0] if found is not None and len(found) == 1 else None
            if not isinstance(part, RangePart) or (part.numbers is None and part.texts is None):
                return None
            names.add(part.variable)
            numbers.update(part.numbers or ())
            texts.update(dict.fromkeys(part.texts or ()))
        if len(names) > 1 or (numbers and texts):
            return None
        (name,) = names
        return RangePart(name, numbers=tuple(sorted(numbers))) if numbers else RangePart(name, texts=tuple(texts))

    def _implication(self, operands: list[x.Expression], whole: x.Expression) -> Conjunction:
        """``not(A) or B`` is ``if A then B``; of disjuncts without ``not``, the last that algebra can use is B."""
        refused = [operand for operand in operands if isinstance(operand, x.Not)]
        offered = [operand for operand in operands if not isinstance(operand, x.Not)]
        usable = [operand for operand in offered if self._is_usable(operand)]
        if usable:
            consequent: x.Expression = usable[-1]
        elif refused and offered:
            consequent = offered[-1]
        elif self._is_usable(operands[-1]):
            consequent = operands[-1]
        else:
            return (CheckedPart(whole),)
        condition = all_of([self.negated(operand) for operand in operands if operand is not consequent])
        return self._governing(condition, consequent, None)

    def _is_usable(self, node: x.Expression) -> bool:
        found = self.conjunction(node)
        return found is not None and not any(isinstance(part, CheckedPart) for part in found)

    def _governing(  # noqa: PLR0911 - one return for each trivial branch
        self, condition: x.Expression, consequent: x.Expression, otherwise: x.Expression | None
    ) -> Conjunction:
        given, refused = self.cases(condition), self.cases(self.negated(condition))
        then = self.conjunction(consequent)
        other: Conjunction = () if otherwise is None else self.conjunction(otherwise)
        if given == () or refused == ((),):
            return other
        if refused == () or given == ((),):
            return then
        if then is None:
            if other is None:
                return None
            return self._all([self.negated(condition), *([otherwise] if otherwise is not None else [])])
        if other is None:
            return self._all([condition, consequent])
        if then == () and other == ():
            return ()
        if then == ():
            condition, then, other, given, refused = self.negated(condition), other, (), refused, given
        return (
            GoverningPart(
                condition=condition,
                condition_parts=given[0] if given is not None and len(given) == 1 else None,
                consequent=then,
                otherwise=other,
                refusal_parts=refused,
            ),
        )

    def cases(self, node: x.Expression) -> Disjunction | None:
        """Condition as a disjunction of conjunctions of parts that algebra can use, or None."""
        if id(node) not in self._cases:
            self._alive.append(node)
            self._cases[id(node)] = self._split(node)
        return self._cases[id(node)]

    def _split(self, node: x.Expression) -> Disjunction | None:  # noqa: C901, PLR0911 - one case for each kind of node
        match node:
            case x.Or(operands):
                return self._union([self.cases(operand) for operand in operands])
            case x.And(operands):
                return self._product([self.cases(operand) for operand in operands])
            case x.Not(x.IsNumber()):
                return ()
            case x.Not(x.InSet(operand, members)):
                return _outside(_set_part(operand, members))
            case x.Not(operand):
                pushed = self.negated(operand)
                return None if isinstance(pushed, x.Not) else self.cases(pushed)
            case x.IfThen(condition, consequent, None):
                return self._union([self.cases(self.negated(condition)), self.cases(consequent)])
            case x.IfThen():
                return None
            case x.Comparison("!=", left, right):
                return self._union(
                    [self.cases(x.Comparison("<", left, right)), self.cases(x.Comparison(">", left, right))]
                )
            case x.Comparison(operator, left, right) if (
                pair := distances(x.Comparison(x.NEGATED[operator], left, right))
            ) is not None:
                # abs(f) > g: one bound or the other is broken.
                return self._union([self.cases(negate(bound)) for bound in pair])
            case _:
                found = self.conjunction(node)
                if found is None:
                    return ()
                if any(isinstance(part, (CheckedPart, GoverningPart, PolynomialPart)) for part in found):
                    return None
                return (found,)

    @staticmethod
    def _union(operands: list[Disjunction | None]) -> Disjunction | None:
        found: dict[tuple[Part, ...], None] = {}
        for operand in operands:
            if operand is None:
                return None
            found.update(dict.fromkeys(operand))
        if () in found:
            return ((),)
        return tuple(found) if len(found) <= MOST_CASES else None

    @staticmethod
    def _product(operands: list[Disjunction | None]) -> Disjunction | None:
        found: Disjunction = ((),)
        for operand in operands:
            if operand is None or len(found) * len(operand) > MOST_CASES:
                return None
            merged = [merge([*one, *other]) for one in found for other in operand]
            found = tuple(dict.fromkeys(case for case in merged if case is not None))
        return found


def _set_part(operand: x.Expression, members: tuple[x.Number | x.Text, ...]) -> RangePart | None:
    name = variable_of(operand)
    numbers = sorted({member.value for member in members if isinstance(member, x.Number)})
    texts = tuple(dict.fromkeys(member.value for member in members if isinstance(member, x.Text)))
    if name is None or (numbers and texts):
        return None
    return RangePart(name, numbers=tuple(numbers)) if numbers else RangePart(name, texts=texts)


def _outside(part: RangePart | None) -> Disjunction | None:
    """Complement of a set of numbers: the open intervals between them."""
    if part is None or part.numbers is None or len(part.numbers) >= MOST_CASES:
        return None
    bounds: list[Fraction | None] = [None, *part.numbers, None]
    return tuple(
        (RangePart(part.variable, low, high, low_closed=False, high_closed=False),)
        for low, high in itertools.pairwise(bounds)
    )


def _is_condition(node: x.Expression) -> bool:
    return isinstance(
        node,
        (
            x.And,
            x.Or,
            x.Not,
            x.Comparison,
            x.IfThen,
            x.InInterval,
            x.InSet,
            x.IsInteger,
            x.IsNumber,
            x.InOriginal,
            x.Truth,
        ),
    )


def _flat(node: x.Or) -> list[x.Expression]:
    found: list[x.Expression] = []
    stack: list[x.Expression] = list(reversed(node.operands))
    while stack:
        operand = stack.pop()
        if isinstance(operand, x.Or):
            stack.extend(reversed(operand.operands))
        else:
            found.append(operand)
    return found
