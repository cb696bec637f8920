"""Edits that masked variables touch, written out for the members of one composition."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from maskwright.edits import expression as x
from maskwright.edits.algebra.classify import classify
from maskwright.edits.edit import Edit
from maskwright.edits.levels.expansion import implied, negated
from maskwright.edits.levels.joint_rules import TRUE, UNKNOWN, Composition, JoinedCell, JointRules, is_fixed
from maskwright.edits.levels.structure import MembersColumn, OtherRecordColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True)
class JointEdits:
    """Edits of the groups of one composition.

    `stated`: name of each as it was stated. `open`: stated edits that cannot be written out so: they are only checked.
    """

    edits: tuple[Edit, ...]
    stated: Mapping[str, str]
    cells: tuple[JoinedCell, ...]
    open: tuple[str, ...] = ()


_Comparer: TypeAlias = "Callable[[x.ComparisonOperator, x.Expression], x.Expression]"
"""Compares a value with something: the value stands on the left."""


class _Unknown(Exception):  # noqa: N818 - never leaves the module
    """Something that a comparison reads is not there."""


class _Open(Exception):  # noqa: N818 - never leaves the module
    """A rule that cannot be written out."""


@dataclass
class JointWriter:
    """Writes rules out for compositions; remembers what it classified."""

    rules: JointRules
    _known: dict[tuple[str, x.Expression], Edit] = field(default_factory=dict)

    def edits(self, composition: Composition) -> JointEdits:
        """Edits of the groups of a composition."""
        written = _Written(self.rules, composition)
        found: list[Edit] = []
        stated: dict[str, str] = {}
        left: dict[str, None] = {}
        for edit, rule in self.rules.edits:
            places: Iterable[int | None] = (None,) if edit.level == self.rules.top else range(len(composition))
            for place in places:
                if edit.binding != "exact":
                    left.setdefault(edit.name)
                    break
                try:
                    expression = written.truth(rule, edit.level, place, positive=True)
                except _Open:
                    left.setdefault(edit.name)
                    continue
                if not x.variable_names(expression):
                    continue
                name = edit.name if place is None else f"{edit.name} [{place + 1}]"
                found.append(self._edit(edit, name, expression))
                stated[name] = edit.name
        return JointEdits(tuple(found), stated, tuple(written.cells.values()), tuple(left))

    def _edit(self, edit: Edit, name: str, expression: x.Expression) -> Edit:
        key = name, expression
        if key not in self._known:
            parts = classify(expression, edit.place)
            self._known[key] = Edit(
                name, expression, parts, x.variable_names(expression), edit.text, message=edit.message,
                place=edit.place, whole=True,
            )  # fmt: skip
        return self._known[key]


class _Written:
    """Rules written out for the members of one composition."""

    def __init__(self, rules: JointRules, composition: Composition) -> None:
        self._rules, self._composition = rules, composition
        self._place = {
            level: {condition: number for number, condition in enumerate(each)}
            for level, each in rules.conditions.items()
        }
        self.cells: dict[str, JoinedCell] = {}

    def truth(  # noqa: PLR0911 - one for each kind of node
        self, rule: x.Expression, level: str, member: int | None, *, positive: bool
    ) -> x.Expression:
        """Rule about a group, or about the member at a place.

        What is unknown is taken as what never makes a rule false: true, or false under ``not``.
        """

        def inner(each: x.Expression, *, positive: bool) -> x.Expression:
            return self.truth(each, level, member, positive=positive)

        match rule:
            case x.And(operands):
                return _all([inner(each, positive=positive) for each in operands])
            case x.Or(operands):
                return _any([inner(each, positive=positive) for each in operands])
            case x.Not(operand):
                return negated(inner(operand, positive=not positive))
            case x.IfThen(condition, consequent, otherwise):
                then = implied(inner(condition, positive=not positive), inner(consequent, positive=positive))
                if otherwise is None:
                    return then
                other = negated(inner(condition, positive=positive))
                return _all([then, implied(other, inner(otherwise, positive=positive))])
            case x.Truth():
                return rule
            case _ if is_fixed(rule, level, self._rules):
                return self._verdict(rule, level, member, positive=positive)
        try:
            return self._leaf(rule, level, member, positive=positive)
        except _Unknown:
            return x.Truth(positive)

    def _verdict(self, rule: x.Expression, level: str, member: int | None, *, positive: bool) -> x.Truth:
        verdicts = self._composition.own if member is None else self._composition.members[member]
        verdict = verdicts[self._place[level][rule]]
        return x.Truth(positive if verdict == UNKNOWN else verdict == TRUE)

    def _leaf(self, rule: x.Expression, level: str, member: int | None, *, positive: bool) -> x.Expression:
        if isinstance(rule, x.InOriginal):
            raise _Open
        if isinstance(rule, x.Comparison):
            for side, other, operator in x.both_ways(rule):
                column = self._members_column(side, level)
                if column is None:
                    continue
                if column.function in ("any", "all", "no") and operator == "==" and column.condition is not None:
                    return self._of_condition(column, column.condition, positive=positive)
                if column.function in ("min", "max"):
                    return self._of_extreme(column, operator, self._comparer(other, level, member))
        return self._number(rule, level, member)

    def _members_column(self, side: x.Expression, level: str) -> MembersColumn | None:
        """Column of members that a side of a comparison is, seen from its own level or through the group."""
        if not isinstance(side, x.VariableReference) or side.name not in self._rules.changed[level]:
            return None
        column = self._rules.columns[level].get(side.name)
        if isinstance(column, OtherRecordColumn) and column.through == self._rules.top and column.variable is not None:
            return self._members_column(x.VariableReference(column.variable), self._rules.top)
        return column if isinstance(column, MembersColumn) else None

    def _of_condition(self, column: MembersColumn, condition: x.Expression, *, positive: bool) -> x.Expression:
        demanded = x.Not(condition) if column.function == "no" else condition
        each = [
            self.truth(demanded, column.level, place, positive=positive) for place in range(len(self._composition))
        ]  # fmt: skip
        return _any(each) if column.function == "any" else _all(each)

    def _comparer(self, other: x.Expression, level: str, member: int | None) -> _Comparer:
        """What compares a value with a side of a comparison, be it what members say together."""
        column = self._members_column(other, level)
        if column is not None and column.function in ("min", "max"):

            def compared_members(operator: x.ComparisonOperator, value: x.Expression) -> x.Expression:
                return self._of_extreme(
                    column, x.MIRRORED[operator], lambda turned, each: _compared(turned, each, value)
                )

            return compared_members
        bound = self._number(other, level, member)
        return lambda operator, value: _compared(operator, value, bound)

    def _of_extreme(self, column: MembersColumn, operator: x.ComparisonOperator, compare: _Comparer) -> x.Expression:
        """Largest or smallest of members' values compared with something: all of the values are, or one of them."""
        assert column.operand is not None
        values = [self._value(column.operand, column.level, place) for place in self._meant(column)]
        if not values:
            raise _Unknown
        of_all, of_one = ("<=", "<"), (">=", ">")
        if column.function == "min":
            of_all, of_one = of_one, of_all
        if operator in of_all:
            return _all([compare(operator, each) for each in values])
        if operator in of_one:
            return _any([compare(operator, each) for each in values])
        if operator == "!=":
            raise _Open
        beyond: x.ComparisonOperator = "<=" if column.function == "max" else ">="
        within = [compare(beyond, each) for each in values]
        return _all([*within, _any([compare(x.MIRRORED[beyond], each) for each in values])])

    def _meant(self, column: MembersColumn) -> list[int]:
        """Places of the members that satisfy the condition of a column."""
        if column.condition is None:
            return list(range(len(self._composition)))
        found = []
        for place in range(len(self._composition)):
            most = self.truth(column.condition, column.level, place, positive=True)
            least = self.truth(column.condition, column.level, place, positive=False)
            if not isinstance(most, x.Truth) or not isinstance(least, x.Truth):
                raise _Open
            if most != least:
                raise _Unknown
            if most.value:
                found.append(place)
        return found

    def _number(self, expression: x.Expression, level: str, member: int | None) -> x.Expression:
        """Expression in joined variables."""
        return x.rewritten(expression, self._renaming(level, member))

    def _renaming(self, level: str, member: int | None) -> Callable[[x.Expression], x.Expression]:
        def change(node: x.Expression) -> x.Expression:
            match node:
                case x.VariableReference(name):
                    return self._value(name, level, member)
                case x.IsMissing() | x.IsNumber() | x.MissingAs() | x.InOriginal():
                    raise _Open
                case _:
                    return node

        return change

    def _value(self, name: str, level: str, member: int | None) -> x.Expression:
        column = self._rules.columns[level].get(name)
        if isinstance(column, OtherRecordColumn) and column.through == self._rules.top and column.variable is not None:
            return self._value(column.variable, self._rules.top, None)
        if column is None or name not in self._rules.changed[level]:
            cell = JoinedCell(name, member)
            self.cells.setdefault(cell.name, cell)
            return x.VariableReference(cell.name)
        if isinstance(column, OtherRecordColumn) and column.variable is not None:
            return self._through(column.through, column.variable, level, member)
        if isinstance(column, MembersColumn) and column.function == "sum" and column.operand is not None:
            total: x.Expression | None = None
            for place in self._meant(column):
                term = self._value(column.operand, column.level, place)
                total = term if total is None else x.Arithmetic("+", total, term)
            return x.Number(Fraction(0)) if total is None else total
        raise _Open

    def _through(self, through: str, variable: str, level: str, member: int | None) -> x.Expression:
        if through not in self._rules.pointers or member is None:
            raise _Open
        there = self._composition.pointers[self._rules.pointers.index(through)][member]
        if there < 0:
            raise _Unknown
        return self._value(variable, level, there)


def _compared(operator: x.ComparisonOperator, left: x.Expression, right: x.Expression) -> x.Expression:
    """Comparison; of a value with itself, what it says."""
    return x.Truth(operator in ("<=", ">=", "==")) if left == right else x.Comparison(operator, left, right)


def _all(operands: list[x.Expression]) -> x.Expression:
    left = [each for each in operands if each != x.Truth(True)]
    if x.Truth(False) in left:
        return x.Truth(False)
    return x.Truth(True) if not left else left[0] if len(left) == 1 else x.And(tuple(left))


def _any(operands: list[x.Expression]) -> x.Expression:
    left = [each for each in operands if each != x.Truth(False)]
    if x.Truth(True) in left:
        return x.Truth(True)
    return x.Truth(False) if not left else left[0] if len(left) == 1 else x.Or(tuple(left))
