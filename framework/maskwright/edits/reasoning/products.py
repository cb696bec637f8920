"""Products among free variables: rows where they are linear, roots, whole factors, and trial values for the rest."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.edit import ProductPart
from maskwright.edits.reasoning.answers import Chosen, Reason, Refutation
from maskwright.edits.reasoning.clauses import atom_variables
from maskwright.edits.reasoning.product_rows import Factors, Roots, Unsolved, product_row, whole_factors
from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.reasoning.numbers import Numbers, Point

Known = dict[str, Fraction]


class ProductSearch:
    """Search for numbers that satisfy rows and products.

    `integral`: variables that have to be whole numbers. `point`: numbers that satisfy the rows without the products.
    """

    def __init__(self, numbers: Numbers, integral: Mapping[str, frozenset[int]], point: Point) -> None:
        self._numbers, self._integral, self._point = numbers, integral, point
        self._fixed = {name: value for name, value in numbers.fixed.items() if isinstance(value, Fraction)}

    def answer(
        self, rows: Sequence[Chosen], products: Sequence[Chosen], known: Known | None = None
    ) -> Point | Refutation:
        """Numbers for all rows and products.

        `rows`, `products`: atoms that are rows, and those that are products.
        """
        values = {**self._fixed, **(known or {})}
        solved, unsolved = list(rows), []
        for each in products:
            assert isinstance(each.atom, ProductPart)
            demand = product_row(each.atom, values)
            if isinstance(demand, Row):
                solved.append(Chosen(each.tag, demand, each.clauses, self._basis(each)))
            elif demand is not None:
                unsolved.append((each, demand))
        found = self._numbers.on_grid(solved, self._integral)
        if isinstance(found, Refutation) or not unsolved:
            return found
        unsolved.sort(key=lambda pair: (Roots, Factors, Unsolved).index(type(pair[1])))
        (first, demand), *_ = unsolved
        ways, limits = self._ways(demand, solved)
        return self._one_of(rows, (first, products), known or {}, ways, limits)

    def _basis(self, each: Chosen) -> frozenset[str]:
        return frozenset(name for name in atom_variables(each.atom) if name in self._fixed)

    def _ways(
        self, demand: Roots | Factors | Unsolved, rows: Sequence[Chosen]
    ) -> tuple[list[Known], list[Chosen] | None]:
        """Values for some of the unknown variables to try, and the rows that rule out others; None: nothing does."""
        if isinstance(demand, Roots):
            return [{demand.variable: number} for number in demand.numbers], []
        steps = self._numbers.space.steps
        if isinstance(demand, Factors) and all(name in steps for name in demand.variables):
            first, second = demand.variables
            units = demand.product / (steps[first] * steps[second])
            if units.denominator != 1:
                return [], []
            if units == 0:
                return [{first: Fraction(0)}, {second: Fraction(0)}], []
            factors = whole_factors(int(units))
            if factors is not None:
                return self._nearest_first(first, [factor * steps[first] for factor in factors]), []
        narrow = {name: found for name in demand.variables if (found := self._numbers.listed(name, rows)) is not None}
        if narrow:
            name = min(narrow, key=lambda each: len(narrow[each][0]))
            return self._nearest_first(name, narrow[name][0]), narrow[name][1]
        ways: dict[tuple[tuple[str, Fraction], ...], None] = {}
        for dependent in reversed(demand.variables):
            for present in (True, False):
                trial = {name: self._trial(name, present) for name in demand.variables if name != dependent}
                ways.setdefault(tuple(trial.items()) or ((dependent, self._trial(dependent, present)),))
        return [dict(way) for way in ways], None

    def _nearest_first(self, name: str, numbers: Sequence[Fraction]) -> list[Known]:
        near = self._trial(name, True)
        return [{name: number} for number in sorted(numbers, key=lambda each: (abs(each - near), each))]

    def _trial(self, name: str, present: bool) -> Fraction:
        value = self._numbers.hints.get(name) if present else None
        return value if isinstance(value, Fraction) else self._point.get(name, Fraction(1))

    def _one_of(
        self,
        rows: Sequence[Chosen],
        products: tuple[Chosen, Sequence[Chosen]],
        known: Known,
        ways: Sequence[Known],
        limits: list[Chosen] | None,
    ) -> Point | Refutation:
        first, every = products
        basis = self._basis(first)
        reasons: dict[Reason, None] = dict.fromkeys(
            [Reason(basis), *([Reason(self._numbers.basis(limits))] if limits else [])]
        )
        used, is_open = set(first.clauses).union(*(each.clauses for each in limits or ())), limits is None
        for way in ways:
            fixing = [
                Chosen(first.tag, Row("", {name: Fraction(1)}, "==", value), first.clauses, basis)
                for name, value in way.items()
            ]
            # Rows made of products are made again: they take the new values into account.
            found = self.answer([*rows, *fixing], every, {**known, **way})
            if not isinstance(found, Refutation):
                return found
            reasons.update(dict.fromkeys(found.reasons))
            used |= found.clauses
            is_open |= found.is_open
        return Refutation(tuple(reasons), frozenset(used), is_open)
