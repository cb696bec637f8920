"""Numbers for rows, sets, whole numbers and products: exact simplex, branch and bound, trial values."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from maskwright.edits.edit import ProductPart
from maskwright.edits.reasoning.answers import MOST_NODES, Chosen, Reason, Refutation, Space, Value, reduced_row
from maskwright.edits.reasoning.clauses import Band, Integral, Member, atom_variables
from maskwright.edits.reasoning.diophantine import (
    Branches,
    Factors,
    Roots,
    Unsolved,
    band_rows,
    is_solvable,
    product_row,
    whole_factors,
)
from maskwright.edits.reasoning.simplex import BoundedRows, Conflict, Row, solve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


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
        """Numbers for all rows and products."""
        values = {**self._fixed, **(known or {})}
        solved, unsolved = list(rows), []
        for each in products:
            assert isinstance(each.atom, ProductPart | Band)
            demand = (
                product_row(each.atom, values) if isinstance(each.atom, ProductPart) else band_rows(each.atom, values)
            )
            if isinstance(demand, Row | tuple):
                rows_of = (demand,) if isinstance(demand, Row) else demand
                solved += [Chosen(each.tag, row, each.clauses, self._basis(each)) for row in rows_of]
            elif demand is not None:
                unsolved.append((each, demand))
        found = self._numbers.on_grid(solved, self._integral)
        if isinstance(found, Refutation) or not unsolved:
            return found
        unsolved.sort(key=lambda pair: (Roots, Factors, Branches, Unsolved).index(type(pair[1])))
        (first, demand), *_ = unsolved
        if isinstance(demand, Branches):
            others = [each for each in products if each is not first]
            return self._one_of(rows, (first, others), known or {}, [({}, way) for way in demand.ways], [])
        ways, limits = self._ways(demand, solved)
        fixing = [
            (way, tuple(Row("", {name: Fraction(1)}, "==", value) for name, value in way.items())) for way in ways
        ]
        return self._one_of(rows, (first, products), known or {}, fixing, limits)

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
        ways: Sequence[tuple[Known, tuple[Row, ...]]],
        limits: list[Chosen] | None,
    ) -> Point | Refutation:
        first, every = products
        basis = self._basis(first)
        reasons: dict[Reason, None] = dict.fromkeys(
            [Reason(basis), *([Reason(self._numbers.basis(limits))] if limits else [])]
        )
        used, is_open = set(first.clauses).union(*(each.clauses for each in limits or ())), limits is None
        for way, demanded in ways:
            fixing = [Chosen(first.tag, row, first.clauses, basis) for row in demanded]
            # Rows made of products are made again: they take the new values into account.
            found = self.answer([*rows, *fixing], every, {**known, **way})
            if not isinstance(found, Refutation):
                return found
            reasons.update(dict.fromkeys(found.reasons))
            used |= found.clauses
            is_open |= found.is_open
        return Refutation(tuple(reasons), frozenset(used), is_open)


# Values of one variable that are tried one by one.
MOST_LISTED = 200

# Nodes that are searched in depth before they are in breadth.
DEPTH_FIRST = MOST_NODES // 4

Point = dict[str, Fraction]


class Numbers:
    """Search for numbers of the free variables.

    `slack`: by how much a row on approximately known fixed values may be broken.
    """

    def __init__(
        self,
        space: Space,
        fixed: Mapping[str, Value],
        hints: Mapping[str, Value],
        slack: Callable[[Row], Fraction] | None,
    ) -> None:
        self.space, self.fixed, self.hints, self.slack = space, fixed, hints, slack
        self._tried = 0

    def answer(self, chosen: Sequence[Chosen]) -> Point | Refutation:
        """Numbers for all atoms that are about numbers, or why there are none."""
        rows = [each for each in chosen if isinstance(each.atom, Row)]
        sets = [each for each in chosen if isinstance(each.atom, Member)]
        integral = {each.atom.variable: each.clauses for each in chosen if isinstance(each.atom, Integral)}
        products = [each for each in chosen if isinstance(each.atom, ProductPart | Band)]
        return self._with_sets(rows, sets, products, integral)

    def _with_sets(
        self,
        rows: list[Chosen],
        sets: Sequence[Chosen],
        products: Sequence[Chosen],
        integral: Mapping[str, frozenset[int]],
    ) -> Point | Refutation:
        if not sets:
            found = self.on_grid(rows, integral)
            if isinstance(found, Refutation) or not products:
                return found
            return ProductSearch(self, integral, found).answer(rows, products)
        first, *rest = sorted(sets, key=lambda each: len(each.atom.numbers) if isinstance(each.atom, Member) else 0)
        assert isinstance(first.atom, Member)
        name = first.atom.variable
        tag = -1 - len(rest)
        reasons: dict[Reason, None] = {}
        used, is_open = set(first.clauses), False
        for number in self._nearest_first(name, first.atom.numbers):
            if self._tried >= MOST_NODES:
                return Refutation((), frozenset(used), True)
            self._tried += 1
            row = Chosen(tag, Row("", {name: Fraction(1)}, "==", number), first.clauses | {tag})
            found = self._with_sets([*rows, row], rest, products, integral)
            if not isinstance(found, Refutation) or tag not in found.clauses:
                return found
            reasons.update(dict.fromkeys(found.reasons))
            used |= found.clauses - {tag}
            is_open |= found.is_open
        return Refutation(tuple(reasons), frozenset(used), is_open)

    def _nearest_first(self, name: str, numbers: Sequence[Fraction]) -> list[Fraction]:
        present = self.hints.get(name)
        if not isinstance(present, Fraction):
            return list(numbers)
        return sorted(numbers, key=lambda number: (abs(number - present), number))

    def on_grid(self, rows: Sequence[Chosen], integral: Mapping[str, frozenset[int]]) -> Point | Refutation:
        """Rational values by the simplex, then branch and bound for variables on a grid."""
        reduced: list[Row] = []
        origin: list[tuple[int, int]] = []
        for position, each in enumerate(rows):
            assert isinstance(each.atom, Row)
            for sign, row in reduced_row(each.atom, self.fixed, self.slack):
                reduced.append(row)
                origin.append((position, sign))
        found = solve(reduced)
        if isinstance(found, Conflict):
            multipliers = [(rows[origin[at][0]], value * origin[at][1]) for at, value in found.multipliers.items()]
            return self._explained(multipliers)
        steps = {name: step for name in found if (step := self.space.steps.get(name)) is not None}
        steps.update(dict.fromkeys(integral, Fraction(1)))
        for name in integral:
            found.setdefault(name, Fraction(0))
        on_grid = _branch(reduced, found, steps)
        if isinstance(on_grid, dict):
            return on_grid
        clauses = frozenset().union(*(each.clauses for each in rows), *integral.values())
        return Refutation((Reason(self.basis(rows)),), clauses, on_grid)

    def listed(self, name: str, rows: Sequence[Chosen]) -> tuple[list[Fraction], list[Chosen]] | None:
        """Values of a variable on a grid that rows on it alone leave, and those rows; None where there are many."""
        step = self.space.steps.get(name)
        if step is None:
            return None
        low, high = -math.inf, math.inf
        limits: list[Chosen] = []
        for each in rows:
            assert isinstance(each.atom, Row)
            for _, row in reduced_row(each.atom, self.fixed, self.slack):
                if list(row.coefficients) == [name]:
                    limits.append(each)
                    bound = row.constant / row.coefficients[name]
                    if row.relation == "==" or row.coefficients[name] > 0:
                        high = min(high, math.floor(bound / step))
                    if row.relation == "==" or row.coefficients[name] < 0:
                        low = max(low, math.ceil(bound / step))
        if not high - low < MOST_LISTED:
            return None
        return [place * step for place in range(int(low), int(high) + 1)], limits

    def basis(self, rows: Sequence[Chosen]) -> frozenset[str]:
        """Fixed variables that rows rest on."""
        names = {name for each in rows for name in atom_variables(each.atom) if name in self.fixed}
        return frozenset(names).union(*(each.basis for each in rows if each.basis is not None))

    def _explained(self, multipliers: Sequence[tuple[Chosen, Fraction]]) -> Refutation:
        """The rows of a contradiction added up: a rule about fixed variables alone, broken by their values."""
        rows = [each for each, _ in multipliers]
        clauses = frozenset().union(*(each.clauses for each in rows))
        total: dict[str, Fraction] = {}
        constant = Fraction(0)
        for each, multiplier in multipliers:
            assert isinstance(each.atom, Row)
            for name, value in each.atom.coefficients.items():
                total[name] = total.get(name, Fraction(0)) + multiplier * value
            constant += multiplier * each.atom.constant
        left = {name: value for name, value in total.items() if value}
        basis = self.basis(rows)
        approximate = any(name not in self.space.steps for name in basis - set(left))
        if approximate or any(each.basis is not None for each in rows):
            return Refutation((Reason(basis),), clauses)
        relations = {each.atom.relation for each in rows if isinstance(each.atom, Row)}
        relation: Literal["==", "<=", "<"] = "==" if relations == {"=="} else "<" if "<" in relations else "<="
        return Refutation((Reason(frozenset(left), Row("", left, relation, constant)),), clauses)


def _branch(rows: list[Row], point: Point, steps: Mapping[str, Fraction]) -> Point | bool:
    """Values on the grid; False where there are none, True where the search was given up."""
    if not any((point[name] / step).denominator != 1 for name, step in steps.items()):
        return point
    decimals = {name: len(str(step.denominator)) - 1 for name, step in steps.items()}
    if not is_solvable([(dict(row.coefficients), row.constant) for row in rows if row.relation == "=="], decimals):
        return False
    bounded = BoundedRows(rows)
    found = _searched(bounded, point, steps, DEPTH_FIRST, deepest_first=True)
    # Where deeper is farther off without end, the nearest numbers are found by breadth.
    return _searched(bounded, point, steps, MOST_NODES, deepest_first=False) if found is True else found


def _searched(
    bounded: BoundedRows, point: Point, steps: Mapping[str, Fraction], nodes: int, *, deepest_first: bool
) -> Point | bool:
    """Values on the grid within so many nodes; False where there are none, True where the search was given up."""
    waiting: deque[tuple[dict[tuple[str, bool], Row], Point]] = deque([({}, point)])
    while waiting:
        bounds, values = waiting.pop() if deepest_first else waiting.popleft()
        name = next((name for name, step in steps.items() if (values[name] / step).denominator != 1), None)
        if name is None:
            return values
        nodes -= 1
        if nodes < 0:
            return True
        low = math.floor(values[name] / steps[name]) * steps[name]
        above = Row("", {name: Fraction(-1)}, "<=", -(low + steps[name]))
        below = Row("", {name: Fraction(1)}, "<=", low)
        for is_above, row in ((True, above), (False, below)):
            # A bound of the same side that was set before is wider.
            more = {**bounds, (name, is_above): row}
            found = bounded.point(more.values())
            if found is not None:
                waiting.append((more, {**values, **found}))
    return False
