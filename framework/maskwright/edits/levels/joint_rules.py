"""Edits across levels as edits of one record: a group with all its members, ``income[1]``, ``income[2]``, ``total``.

What edits read besides masked variables is decided for each record beforehand: groups whose records agree on it are of
one *composition*, and their edits are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.edits.expression import (
    And,
    Expression,
    IfThen,
    IsMissing,
    IsNumber,
    MissingAs,
    Not,
    Or,
    VariableReference,
    variable_names,
)
from maskwright.edits.levels.changed_columns import changed_columns
from maskwright.edits.levels.linked_columns import LinkedColumn, MembersColumn, OtherRecordColumn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits

FALSE, TRUE, UNKNOWN = 0, 1, 2
"""Verdicts of a condition."""


@dataclass(frozen=True, eq=False)
class JointRules:
    """Edits that masked variables of two levels touch, and what has to be known of records to write them out.

    `top`, `low`: the levels of the groups and of their members. `changed`: computed columns that say something of them.
    `edits`: of either level, severity error; with what algebra sees of the rule. `conditions`: on what does not move:
    decided for each record. `pointers`: through which members see each other's masked variables.
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

    `own`: verdict of each condition of the upper level. `members`: of each member, in canonical order, the verdict of
    each condition of the lower level. `pointers`: of each pointer, the place of the member that each member points to;
    -1: none.
    """

    own: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    pointers: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class JoinedCell:
    """A column of joined records: a variable or computed column of the group, or of the member at a place.

    `member`: place of the member, 0 for the first; None: the group's own.
    """

    variable: str
    member: int | None = None

    @property
    def name(self) -> str:
        """Name of the column: ``income[1]`` of the first member."""
        return self.variable if self.member is None else f"{self.variable}[{self.member + 1}]"


def joint_rules(bound: BoundEdits, pair: tuple[str, str], masked: Mapping[str, Collection[str]]) -> JointRules:
    """Edits that variables of two levels touch.

    `pair`: the upper level and the lower one.
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
    columns = {(level, each.name): each for level, own in bound.columns.items() for each in own}

    def is_end(level: str, name: str) -> bool:
        column = columns.get((level, name))
        if isinstance(column, OtherRecordColumn) and column.variable is not None:
            return is_end(column.through if column.through in bound.columns else level, column.variable)
        return isinstance(column, MembersColumn) and column.end != "exact"

    by_ends = any(is_end(edit.level, name) for name in variable_names(edit.expression))
    return bound.plain[edit.name] if by_ends else edit.expression


class _Conditions:
    """Conditions on what does not move, and pointers, that are found in rules."""

    def __init__(self, rules: JointRules) -> None:
        self._rules = rules
        self.conditions: dict[str, dict[Expression, None]] = {rules.top: {}, rules.low: {}}
        self.pointers: dict[str, None] = {}

    def collect(self, rule: Expression, level: str) -> None:
        for leaf in _leaves(rule):
            if is_fixed(leaf, level, self._rules):
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


def is_fixed(leaf: Expression, level: str, rules: JointRules) -> bool:
    """Whether a condition of a level reads nothing that moves; missing cells stay what they are."""
    match leaf:
        case IsMissing(VariableReference(name)) | IsNumber(VariableReference(name)):
            return name not in rules.changed[level]
        case MissingAs(VariableReference(name)):
            return name not in rules.changed[level]
        case _:
            return not rules.moves(level, variable_names(leaf))
