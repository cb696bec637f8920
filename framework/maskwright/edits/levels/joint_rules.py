"""Edits across levels as edits of one record: a group with all its members, ``income[1]``, ``income[2]``, ``total``.

What edits read besides masked variables is decided for each record beforehand: groups whose records agree on it are of
one *composition*, and their edits are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.algebra.classify import classify
from maskwright.edits.edit import Edit
from maskwright.edits.expression import (
    MIRRORED,
    And,
    Arithmetic,
    Comparison,
    ComparisonOperator,
    Expression,
    IfThen,
    InOriginal,
    IsMissing,
    IsNumber,
    MissingAs,
    Not,
    Number,
    Or,
    Truth,
    VariableReference,
    rewritten,
    variable_names,
)
from maskwright.edits.levels.changed_columns import changed_columns
from maskwright.edits.levels.linked_columns import LinkedColumn, MembersColumn, OtherRecordColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from maskwright.edits.levels.binding import BoundEdits

FALSE, TRUE, UNKNOWN = 0, 1, 2
"""Verdicts of a condition."""


@dataclass(frozen=True, eq=False)
class JointRules:
    """Edits that masked variables of two levels touch, and what has to be known of records to write them out.

    Attributes
    ----------
    top, low : str
        The levels of the groups and of their members.
    columns : mapping of level name to (mapping of name to LinkedColumn)
    masked : mapping of level name to frozenset of str
        Variables that move.
    changed : mapping of level name to frozenset of str
        Computed columns that say something of them.
    edits : tuple of (Edit, Expression)
        Of either level, severity error; with what algebra sees of the rule.
    conditions : mapping of level name to tuple of Expression
        On what does not move: decided for each record.
    pointers : tuple of str
        Through which members see each other's masked variables.
    """

    top: str
    low: str
    columns: Mapping[str, Mapping[str, LinkedColumn]]
    masked: Mapping[str, frozenset[str]]
    changed: Mapping[str, frozenset[str]]
    edits: tuple[tuple[Edit, Expression], ...]
    conditions: Mapping[str, tuple[Expression, ...]]
    pointers: tuple[str, ...]

    def moves(self, level: str, names: Iterable[str]) -> bool:
        """Whether one of these variables or computed columns of a level moves."""
        return any(name in self.masked[level] or name in self.changed[level] for name in names)

    def beside(self, level: str) -> tuple[str, ...]:
        """Computed columns of a level that the edits read and that do not move."""
        inside = {name for edit, rule in self.edits if edit.level == level for name in variable_names(rule)}
        inside |= {name for each in self.conditions[level] for name in variable_names(each)}
        # What a record reads through others may be read by the computed columns too.
        inside |= {each.operand or "" for own in self.columns.values() for each in own.values()
                   if isinstance(each, MembersColumn)}  # fmt: skip
        inside |= {each.variable or "" for own in self.columns.values() for each in own.values()
                   if isinstance(each, OtherRecordColumn)}  # fmt: skip
        return tuple(name for name in self.columns[level] if name in inside and name not in self.changed[level])


@dataclass(frozen=True)
class Composition:
    """What groups have in common, so that their edits are the same.

    Attributes
    ----------
    own : tuple of int
        Verdict of each condition of the upper level.
    members : tuple of tuple of int
        Of each member, in canonical order, the verdict of each condition of the lower level.
    pointers : tuple of tuple of int
        Of each pointer, the place of the member that each member points to; -1: none.
    """

    own: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    pointers: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class JoinedCell:
    """A column of joined records: a variable or computed column of the group, or of the member at a place.

    Attributes
    ----------
    variable : str
    member : int or None
        Place of the member, 0 for the first; None: the group's own.
    """

    variable: str
    member: int | None = None

    @property
    def name(self) -> str:
        """Name of the column: ``income[1]`` of the first member."""
        return self.variable if self.member is None else f"{self.variable}[{self.member + 1}]"


@dataclass(frozen=True)
class JointEdits:
    """Edits of the groups of one composition.

    Attributes
    ----------
    edits : tuple of Edit
        On joined records.
    stated : mapping of name to str
        Name of each as it was stated.
    cells : tuple of JoinedCell
        That these edits read.
    open : tuple of str
        Stated edits that cannot be written out so: they are only checked.
    """

    edits: tuple[Edit, ...]
    stated: Mapping[str, str]
    cells: tuple[JoinedCell, ...]
    open: tuple[str, ...] = ()


def joint_rules(bound: BoundEdits, pair: tuple[str, str], masked: Mapping[str, Collection[str]]) -> JointRules:
    """Edits that variables of two levels touch.

    Parameters
    ----------
    bound : BoundEdits
    pair : (str, str)
        The upper level and the lower one.
    masked : mapping of level name to collection of str
        Variables that move.
    """
    columns = {level: {each.name: each for each in bound.columns[level]} for level in pair}
    own = {level: frozenset(masked.get(level, ())) for level in pair}
    changed = changed_columns({level: bound.columns[level] for level in pair}, own)
    rules = JointRules(*pair, columns, own, changed, (), dict.fromkeys(pair, ()), ())
    edits = tuple(
        (edit, _rule(edit, bound)) for level in pair for edit in bound.edits[level]
        if edit.severity == "error" and edit.engine is None and rules.moves(level, variable_names(_rule(edit, bound)))
    )  # fmt: skip
    found = _Conditions(rules)
    for edit, rule in edits:
        found.collect(rule, edit.level)
    conditions = {level: tuple(found.conditions[level]) for level in pair}
    return replace(rules, edits=edits, conditions=conditions, pointers=tuple(found.pointers))


def _rule(edit: Edit, bound: BoundEdits) -> Expression:
    """Rule with the comparisons of what members say as they are written."""
    columns = {each.name: each for each in bound.columns[edit.level]}
    read = (columns.get(name) for name in variable_names(edit.expression))
    by_ends = any(isinstance(each, MembersColumn) and each.end != "exact" for each in read)
    return bound.plain[edit.name] if by_ends else edit.expression


class _Conditions:
    """Conditions on what does not move, and pointers, that are found in rules."""

    def __init__(self, rules: JointRules) -> None:
        self._rules = rules
        self.conditions: dict[str, dict[Expression, None]] = {rules.top: {}, rules.low: {}}
        self.pointers: dict[str, None] = {}

    def collect(self, rule: Expression, level: str) -> None:
        for leaf in _leaves(rule):
            if _is_fixed(leaf, level, self._rules):
                self.conditions[level].setdefault(leaf)
                continue
            for name in variable_names(leaf):
                self._read(name, level)

    def _read(self, name: str, level: str) -> None:
        column = self._rules.columns[level].get(name)
        if column is None or name not in self._rules.changed[level]:
            return
        if isinstance(column, OtherRecordColumn) and column.variable is not None:
            above = column.through == self._rules.top
            if not above:
                self.pointers.setdefault(column.through)
            self._read(column.variable, self._rules.top if above else level)
        if isinstance(column, MembersColumn):
            if column.condition is not None:
                self.collect(column.condition, column.level)
            if column.operand is not None:
                self._read(column.operand, column.level)


def _leaves(rule: Expression) -> Iterator[Expression]:
    """Conditions that ``and``, ``or``, ``not`` and ``if`` are made of."""
    match rule:
        case And(operands) | Or(operands):
            for each in operands:
                yield from _leaves(each)
        case Not(operand):
            yield from _leaves(operand)
        case IfThen(condition, consequent, otherwise):
            yield from _leaves(condition)
            yield from _leaves(consequent)
            if otherwise is not None:
                yield from _leaves(otherwise)
        case _:
            yield rule


def _is_fixed(leaf: Expression, level: str, rules: JointRules) -> bool:
    match leaf:
        case IsMissing(VariableReference(name)) | IsNumber(VariableReference(name)):
            return name not in rules.changed[level]
        case MissingAs(VariableReference(name)):
            return name not in rules.changed[level]
        case _:
            return not rules.moves(level, variable_names(leaf))


class _Unknown(Exception):  # noqa: N818 - never leaves the module
    """Something that a comparison reads is not there."""


class _Open(Exception):  # noqa: N818 - never leaves the module
    """A rule that cannot be written out."""


@dataclass
class JointWriter:
    """Writes rules out for compositions; remembers what it classified.

    Attributes
    ----------
    rules : JointRules
    """

    rules: JointRules
    _known: dict[tuple[str, Expression], Edit] = field(default_factory=dict)

    def edits(self, composition: Composition) -> JointEdits:
        """Edits of the groups of a composition.

        Parameters
        ----------
        composition : Composition

        Raises
        ------
        EditError
            A rule that algebra finds never to hold.
        """
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
                if not variable_names(expression):
                    continue
                name = edit.name if place is None else f"{edit.name} [{place + 1}]"
                found.append(self._edit(edit, name, expression))
                stated[name] = edit.name
        return JointEdits(tuple(found), stated, tuple(written.cells.values()), tuple(left))

    def _edit(self, edit: Edit, name: str, expression: Expression) -> Edit:
        key = name, expression
        if key not in self._known:
            parts = classify(expression, edit.place)
            self._known[key] = Edit(
                name, expression, parts, variable_names(expression), edit.text, message=edit.message, place=edit.place
            )
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
        self, rule: Expression, level: str, member: int | None, *, positive: bool
    ) -> Expression:
        """Rule about a group, or about the member at a place.

        What is unknown is taken as what never makes a rule false: true, or false under ``not``.
        """

        def inner(each: Expression, *, positive: bool) -> Expression:
            return self.truth(each, level, member, positive=positive)

        match rule:
            case And(operands):
                return _all([inner(each, positive=positive) for each in operands])
            case Or(operands):
                return _any([inner(each, positive=positive) for each in operands])
            case Not(operand):
                return _not(inner(operand, positive=not positive))
            case IfThen(condition, consequent, otherwise):
                then = _if(inner(condition, positive=not positive), inner(consequent, positive=positive))
                if otherwise is None:
                    return then
                other = _not(inner(condition, positive=positive))
                return _all([then, _if(other, inner(otherwise, positive=positive))])
            case Truth():
                return rule
            case _ if _is_fixed(rule, level, self._rules):
                return self._verdict(rule, level, member, positive=positive)
        try:
            return self._leaf(rule, level, member, positive=positive)
        except _Unknown:
            return Truth(positive)

    def _verdict(self, rule: Expression, level: str, member: int | None, *, positive: bool) -> Truth:
        verdicts = self._composition.own if member is None else self._composition.members[member]
        verdict = verdicts[self._place[level][rule]]
        return Truth(positive if verdict == UNKNOWN else verdict == TRUE)

    def _leaf(self, rule: Expression, level: str, member: int | None, *, positive: bool) -> Expression:
        if isinstance(rule, InOriginal):
            raise _Open
        if isinstance(rule, Comparison):
            for side, other, operator in (
                (rule.left, rule.right, rule.operator),
                (rule.right, rule.left, MIRRORED[rule.operator]),
            ):
                column = self._members_column(side, level)
                if column is None:
                    continue
                if column.function in ("any", "all", "no") and operator == "==" and column.condition is not None:
                    return self._of_condition(column, column.condition, positive=positive)
                if column.function in ("min", "max"):
                    return self._of_extreme(column, operator, self._number(other, level, member))
        return self._number(rule, level, member)

    def _members_column(self, side: Expression, level: str) -> MembersColumn | None:
        """Column of members that a side of a comparison is, seen from its own level or through the group."""
        if not isinstance(side, VariableReference) or side.name not in self._rules.changed[level]:
            return None
        column = self._rules.columns[level].get(side.name)
        if isinstance(column, OtherRecordColumn) and column.through == self._rules.top and column.variable is not None:
            return self._members_column(VariableReference(column.variable), self._rules.top)
        return column if isinstance(column, MembersColumn) else None

    def _of_condition(self, column: MembersColumn, condition: Expression, *, positive: bool) -> Expression:
        asked = Not(condition) if column.function == "no" else condition
        each = [
            self.truth(asked, column.level, place, positive=positive) for place in range(len(self._composition))
        ]  # fmt: skip
        return _any(each) if column.function == "any" else _all(each)

    def _of_extreme(self, column: MembersColumn, operator: ComparisonOperator, bound: Expression) -> Expression:
        assert column.operand is not None
        values = [self._value(column.operand, column.level, place) for place in self._meant(column)]
        if not values:
            raise _Unknown
        of_all, of_one = ("<=", "<"), (">=", ">")
        if column.function == "min":
            of_all, of_one = of_one, of_all
        if operator in of_all:
            return _all([Comparison(operator, each, bound) for each in values])
        if operator in of_one:
            return _any([Comparison(operator, each, bound) for each in values])
        if operator == "!=":
            raise _Open
        beyond: ComparisonOperator = "<=" if column.function == "max" else ">="
        within = [Comparison(beyond, each, bound) for each in values]
        return _all([*within, _any([Comparison(MIRRORED[beyond], each, bound) for each in values])])

    def _meant(self, column: MembersColumn) -> list[int]:
        """Places of the members that satisfy the condition of a column."""
        if column.condition is None:
            return list(range(len(self._composition)))
        found = []
        for place in range(len(self._composition)):
            most = self.truth(column.condition, column.level, place, positive=True)
            least = self.truth(column.condition, column.level, place, positive=False)
            if not isinstance(most, Truth) or not isinstance(least, Truth):
                raise _Open
            if most != least:
                raise _Unknown
            if most.value:
                found.append(place)
        return found

    def _number(self, expression: Expression, level: str, member: int | None) -> Expression:
        """Expression in joined variables."""
        return rewritten(expression, self._renaming(level, member))

    def _renaming(self, level: str, member: int | None) -> Callable[[Expression], Expression]:
        def change(node: Expression) -> Expression:
            match node:
                case VariableReference(name):
                    return self._value(name, level, member)
                case IsMissing() | IsNumber() | MissingAs() | InOriginal():
                    raise _Open
                case _:
                    return node

        return change

    def _value(self, name: str, level: str, member: int | None) -> Expression:
        column = self._rules.columns[level].get(name)
        if isinstance(column, OtherRecordColumn) and column.through == self._rules.top and column.variable is not None:
            return self._value(column.variable, self._rules.top, None)
        if column is None or name not in self._rules.changed[level]:
            cell = JoinedCell(name, member)
            self.cells.setdefault(cell.name, cell)
            return VariableReference(cell.name)
        if isinstance(column, OtherRecordColumn) and column.variable is not None:
            return self._through(column.through, column.variable, level, member)
        if isinstance(column, MembersColumn) and column.function == "sum" and column.operand is not None:
            total: Expression | None = None
            for place in self._meant(column):
                term = self._value(column.operand, column.level, place)
                total = term if total is None else Arithmetic("+", total, term)
            return Number(Fraction(0)) if total is None else total
        raise _Open

    def _through(self, through: str, variable: str, level: str, member: int | None) -> Expression:
        if through not in self._rules.pointers or member is None:
            raise _Open
        there = self._composition.pointers[self._rules.pointers.index(through)][member]
        if there < 0:
            raise _Unknown
        return self._value(variable, level, there)


def _all(operands: list[Expression]) -> Expression:
    left = [each for each in operands if each != Truth(True)]
    if Truth(False) in left:
        return Truth(False)
    return Truth(True) if not left else left[0] if len(left) == 1 else And(tuple(left))


def _any(operands: list[Expression]) -> Expression:
    left = [each for each in operands if each != Truth(False)]
    if Truth(True) in left:
        return Truth(True)
    return Truth(False) if not left else left[0] if len(left) == 1 else Or(tuple(left))


def _not(operand: Expression) -> Expression:
    return Truth(not operand.value) if isinstance(operand, Truth) else Not(operand)


def _if(condition: Expression, consequent: Expression) -> Expression:
    if isinstance(condition, Truth):
        return consequent if condition.value else Truth(True)
    if isinstance(consequent, Truth):
        return Truth(True) if consequent.value else _not(condition)
    return IfThen(condition, consequent)
