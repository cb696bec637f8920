"""Rules across records as rules of one long record: a group with all its members, ``income[2]``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import conjunction, disjunction
from maskwright.edits.levels.structure import NEIGHBOURS, LinkedColumn, MembersColumn, OtherRecordColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits

    Decided = Mapping[tuple[str, int], int]
    Literal = x.Number | x.Text


def sum_of(terms: list[x.Expression]) -> x.Expression:
    """Sum of terms; 0 of none."""
    if not terms:
        return x.Number(Fraction(0))
    total = terms[0]
    for term in terms[1:]:
        total = x.Arithmetic("+", total, term)
    return total


# What is nested stays nested: algebra joins the bounds of each conjunction by itself.
all_of = partial(conjunction, flat=False)
any_of = partial(disjunction, flat=False)


def implied(condition: x.Expression, consequent: x.Expression) -> x.Expression:
    """The second, where the first holds."""
    if isinstance(condition, x.Truth):
        return consequent if condition.value else x.Truth(True)
    if isinstance(consequent, x.Truth):
        return consequent if consequent.value else negated(condition)
    return x.IfThen(condition, consequent)


def negated(operand: x.Expression) -> x.Expression:
    """Not this."""
    return x.Truth(not operand.value) if isinstance(operand, x.Truth) else x.Not(operand)


def complement(operand: x.Expression) -> x.Expression:
    """Complement; of a number that is equal to another in two cases, of which algebra can take one."""
    if isinstance(operand, x.Comparison) and operand.operator == "==" and isinstance(operand.right, x.Number):
        return x.Or(tuple(replace(operand, operator=each) for each in ("<", ">")))
    return negated(operand)


OPEN, UNKNOWN = -1, -2
"""A condition that hidden cells leave open, and one that was not known before."""

MOST_OPEN = 6
"""Open conditions and pointers of one rule that cases distinguish; a count of more is left out."""

NO_MEMBER = -1

_TRUTHS = ("any", "all", "one", "no", "unique")

_COUNTS = {
    ("==", Fraction(1)): "one",
    (">=", Fraction(1)): "any", (">", Fraction(0)): "any", ("!=", Fraction(0)): "any",
    ("==", Fraction(0)): "no", ("<=", Fraction(0)): "no", ("<", Fraction(1)): "no",
}  # fmt: skip
"""What a count of members with a condition is compared with, and what this demands of them: no case for each member."""


@dataclass(frozen=True)
class Pattern:
    """What groups have in common whose members are written out alike.

    `targets`: for each pointer, and ``previous`` and ``following``: place of the member that each member sees;
    negative: none. `truths`: for each computed column with a condition: of each member 1 where it holds, 0 where not,
    `OPEN`, `UNKNOWN`. `key`: variable that pointers name members by. `keys`: its value for each member, where pointers
    may change; by default they stand.
    """

    top: str
    low: str
    members: int
    targets: Mapping[str, tuple[int, ...]]
    truths: Mapping[str, tuple[int, ...]]
    key: str = ""
    keys: tuple[Literal, ...] = ()

    @property
    def pointers(self) -> tuple[str, ...]:
        """Pointers, without neighbours."""
        return tuple(name for name in self.targets if name not in NEIGHBOURS)

    def nameable(self, place: int) -> dict[int, Literal]:
        """Members that pointers of a member may name, with their keys: all others."""
        return {to: key for to, key in enumerate(self.keys) if to != place}


class UndefinedValue(Exception):  # noqa: N818 - says that there is nothing to say
    """A rule that cannot be written out, or says nothing of these groups."""


class _Open(Exception):  # noqa: N818 - never leaves the module
    def __init__(self, column: MembersColumn, place: int) -> None:
        super().__init__(column.name)
        self.column, self.place = column, place


class _OpenPointer(Exception):  # noqa: N818 - never leaves the module
    def __init__(self, pointer: str, place: int) -> None:
        super().__init__(pointer)
        self.pointer, self.place = pointer, place


def name_of(variable: str, place: int | None) -> str:
    """Name of a variable of one member, counted from 0, in the long record; of the group itself where that is None."""
    return variable if place is None else f"{variable}[{place + 1}]"


def written_out(edit: Edit, bound: BoundEdits, pattern: Pattern) -> Iterator[Edit]:
    """One edit of a level as edits on the long records of groups."""
    writer = _Writer(bound, pattern, edit)
    places = [None] if edit.level == pattern.top else list(range(pattern.members))
    for place in places:
        expression = writer.rule(edit.expression, edit.level, place)
        if isinstance(expression, x.Truth):
            continue
        name = edit.name if place is None else f"{edit.name} [{place + 1}]"
        parts = classify(expression, edit.place)
        yield replace(
            edit, name=name, expression=expression, parts=parts, variables=x.variable_names(expression), when=None,
            level="", binding="exact", assertion=None, context=None,
        )  # fmt: skip


class _Writer:
    def __init__(self, bound: BoundEdits, pattern: Pattern, edit: Edit) -> None:
        self._pattern = pattern
        self._columns = {name: {each.name: each for each in columns} for name, columns in bound.columns.items()}
        # Of a rule that follows pointers these are in question, and whom they name is not.
        self._keys_stand = bool(pattern.keys) and self._follows(edit.level, x.variable_names(edit.expression))

    def _follows(self, level: str, names: Iterable[str]) -> bool:
        """Whether any of these names of a level is a pointer, or read through one."""
        for name in names:
            column = self._columns[level].get(name)
            if name in self._pattern.pointers and level == self._pattern.low:
                return True
            if isinstance(column, OtherRecordColumn):
                home = self._pattern.top if column.through == self._pattern.top else self._pattern.low
                read = () if column.variable is None else (column.variable,)
                if column.through in self._pattern.pointers or self._follows(home, read):
                    return True
            if isinstance(column, MembersColumn):
                names = () if column.condition is None else x.variable_names(column.condition)
                read = () if column.operand is None else (column.operand,)
                if self._follows(self._pattern.low, (*names, *read)):
                    return True
        return False

    def rule(self, expression: x.Expression, level: str, place: int | None) -> x.Expression:
        return self._cases(expression, level, place, {})

    def _cases(self, expression: x.Expression, level: str, place: int | None, decided: Decided) -> x.Expression:
        """Rule, case by case where it depends on conditions that are open."""
        try:
            return self._written(expression, level, place, decided)
        except _Open as found:
            if len(decided) >= MOST_OPEN or found.column.condition is None:
                raise UndefinedValue from found
            key = (found.column.name, found.place)
            holds = self._cases(found.column.condition, self._pattern.low, found.place, decided)
            yes = self._cases(expression, level, place, {**decided, key: 1})
            no = self._cases(expression, level, place, {**decided, key: 0})
            return any_of((all_of((holds, yes)), all_of((negated(holds), no))))
        except _OpenPointer as found:
            if len(decided) >= MOST_OPEN:
                raise UndefinedValue from found
            key = (found.pointer, found.place)
            pointer = x.VariableReference(name_of(*key))
            cases, others = [], []
            for target, named in self._pattern.nameable(key[1]).items():
                case = self._cases(expression, level, place, {**decided, key: target})
                cases.append(implied(x.Comparison("==", pointer, named), case))
                others.append(x.Comparison("!=", pointer, named))
            case = self._cases(expression, level, place, {**decided, key: NO_MEMBER})
            return all_of((*cases, implied(all_of(tuple(others)), case)))

    def _written(  # noqa: C901, PLR0911, PLR0912 - one for each kind of node
        self, node: x.Expression, level: str, place: int | None, decided: Decided
    ) -> x.Expression:
        match node:
            case x.And(operands):
                return all_of(self._written(each, level, place, decided) for each in operands)
            case x.Or(operands):
                return any_of(self._written(each, level, place, decided) for each in operands)
            case x.Not(operand):
                return negated(self._written(operand, level, place, decided))
            case x.IfThen(condition, consequent, otherwise):
                given = self._written(condition, level, place, decided)
                if isinstance(given, x.Truth):
                    chosen = consequent if given.value else otherwise
                    return x.Truth(True) if chosen is None else self._written(chosen, level, place, decided)
                then = self._written(consequent, level, place, decided)
                if otherwise is not None:
                    other = self._written(otherwise, level, place, decided)
                    return all_of((any_of((negated(given), then)), any_of((given, other))))
                return x.Truth(True) if then == x.Truth(True) else x.IfThen(given, then)
            case x.Comparison():
                return self._compared(node, level, place, decided)
            case (
                x.IsMissing(x.VariableReference(name))
                | x.MissingAs(x.VariableReference(name))
                | x.IsNumber(x.VariableReference(name))
                | x.Matches(x.VariableReference(name))
            ):
                read = self._read(name, level, place, decided)
                if read in self._pattern.keys and isinstance(node, x.Matches):
                    raise UndefinedValue
                if read in self._pattern.keys:
                    return x.Truth(isinstance(node, x.IsNumber) and isinstance(read, x.Number))
                if not isinstance(read, x.VariableReference):
                    raise UndefinedValue
                return replace(node, operand=read)
            case x.InOriginal():
                raise UndefinedValue
            case _:

                def change(each: x.Expression) -> x.Expression:
                    return (
                        self._read(each.name, level, place, decided) if isinstance(each, x.VariableReference) else each
                    )

                return x.rewritten(node, change)

    def _compared(self, node: x.Comparison, level: str, place: int | None, decided: Decided) -> x.Expression:
        for side, other, operator in x.both_ways(node):
            column = self._columns[level].get(side.name) if isinstance(side, x.VariableReference) else None
            if not isinstance(column, MembersColumn):
                continue
            if column.function in _TRUTHS and operator == "==" and other == x.Number(Fraction(1)):
                return self._truth(column, decided)
            function = _COUNTS.get((operator, other.value)) if isinstance(other, x.Number) else None
            counts = column.function == "count" and column.condition is not None and column.end == "exact"
            if function is not None and counts:
                return self._truth(replace(column, function=function), decided)
            if column.function in ("min", "max") and operator not in ("==", "!="):
                bound = self._written(other, level, place, decided)
                each = tuple(x.Comparison(operator, term, bound) for term in self._operands(column, decided))
                if not each:
                    raise UndefinedValue
                every = (column.function == "max") == (operator in ("<", "<="))
                return all_of(each) if every else any_of(each)
        left = self._written(node.left, level, place, decided)
        right = self._written(node.right, level, place, decided)
        if isinstance(left, x.Number) and isinstance(right, x.Number):
            return x.Truth((left.value > right.value) - (left.value < right.value) in x.SIGNS[node.operator])
        if isinstance(left, x.Text) and isinstance(right, x.Text) and node.operator in ("==", "!="):
            return x.Truth((left == right) == (node.operator == "=="))
        return x.Comparison(node.operator, left, right)

    def _truth(self, column: MembersColumn, decided: Decided) -> x.Expression:
        if column.function == "unique":
            terms = self._operands(column, decided)
            return all_of(x.Comparison("!=", a, b) for n, a in enumerate(terms) for b in terms[n + 1 :])
        each = []
        for place, truth in enumerate(self._truths(column)):
            if truth == OPEN:
                assert column.condition is not None
                each.append(self._cases(column.condition, self._pattern.low, place, decided))
            else:
                each.append(x.Truth(truth == 1))
        if column.function == "all":
            return all_of(tuple(each))
        if column.function == "one":
            apart = tuple(any_of((complement(a), complement(b))) for n, a in enumerate(each) for b in each[n + 1 :])
            return all_of((any_of(tuple(each)), *apart))
        return any_of(tuple(each)) if column.function == "any" else negated(any_of(tuple(each)))

    def _truths(self, column: MembersColumn) -> tuple[int, ...]:
        if column.condition is None:
            return (1,) * self._pattern.members
        truths = self._pattern.truths[column.name]
        if UNKNOWN in truths:
            raise UndefinedValue
        return truths

    def _meant(self, column: MembersColumn, decided: Decided) -> list[int]:
        """Members that a condition means."""
        found = []
        for place, truth in enumerate(self._truths(column)):
            if truth == OPEN and (column.name, place) not in decided:
                raise _Open(column, place)
            if truth == 1 or decided.get((column.name, place)) == 1:
                found.append(place)
        return found

    def _operands(self, column: MembersColumn, decided: Decided) -> list[x.Expression]:
        assert column.operand is not None
        low = self._pattern.low
        return [self._read(column.operand, low, place, decided) for place in self._meant(column, decided)]

    def _read(self, name: str, level: str, place: int | None, decided: Decided) -> x.Expression:
        """What a variable or computed column is in the long record."""
        column: LinkedColumn | None = self._columns[level].get(name)
        if column is None:
            if self._keys_stand and place is not None and name == self._pattern.key:
                return self._pattern.keys[place]
            return x.VariableReference(name_of(name, place))
        if isinstance(column, OtherRecordColumn):
            return self._of_other(column, level, place, decided)
        if not isinstance(column, MembersColumn) or column.end != "exact":
            raise UndefinedValue
        match column.function:
            case "count":
                return x.Number(Fraction(len(self._meant(column, decided))))
            case "sum":
                return sum_of(self._operands(column, decided))
            case "min" | "max" if terms := self._operands(column, decided):
                return terms[0] if len(terms) == 1 else x.Function(column.function, tuple(terms))
            case _:
                raise UndefinedValue

    def _of_other(self, column: OtherRecordColumn, level: str, place: int | None, decided: Decided) -> x.Expression:
        if column.through == self._pattern.top:
            if column.variable is None:
                return x.Number(Fraction(1))
            return self._read(column.variable, self._pattern.top, None, decided)
        target = NO_MEMBER if place is None else self._target(column.through, place, decided)
        if column.variable is None:
            return x.Number(Fraction(int(target >= 0)))
        if target < 0:
            raise UndefinedValue
        return self._read(column.variable, level, target, decided)

    def _target(self, through: str, place: int, decided: Decided) -> int:
        """Member that a member sees."""
        if not self._pattern.keys or through in NEIGHBOURS:
            return self._pattern.targets[through][place]
        if (through, place) not in decided:
            raise _OpenPointer(through, place)
        return decided[through, place]
