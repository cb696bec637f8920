"""Structure of levels: names, variables, pointers, the columns rules read of other records, their changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from maskwright.edits.expression import GroupFunction, nodes, variable_names
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.foundation.errors import EditError, InputError, Problem, refuse_problems
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.expression import Expression
    from maskwright.foundation.errors import Place


Neighbour = Literal["previous", "following"]
End = Literal["exact", "least", "most"]


@dataclass(frozen=True)
class MembersColumn:
    """What the members of each group say together: ``sum(person.income where age < 16)``.

    `name`: as a rule writes it; that of the computed column. `function`: ``sum``, ``count``, ..., as in
    `maskwright.edits.expression.GroupFunction`. Truth is the number 1 or 0. `operand`: the members' variable, or the
    computed column. `condition`: about variables of the members, and their computed columns. `end`: of a count:
    fewest and most members that may satisfy the condition, where a cell that it reads is missing.
    """

    name: str
    level: str
    function: str
    operand: str | None = None
    condition: Expression | None = None
    end: End = "exact"


@dataclass(frozen=True)
class OtherRecordColumn:
    """What one other record says: ``household.total``, ``mother.age``, ``previous.end``.

    `name`: that of the computed column. `through`: level above, pointer, or ``previous`` and ``following``. `variable`:
    of that record, or the computed column; None: whether there is such a record, 1 or 0.
    """

    name: str
    through: str
    variable: str | None


@dataclass(frozen=True)
class StructureColumn:
    """Whether a record breaks what linking rests on, 1 or 0.

    `variable`: a variable of the upper level that ``varies`` among the rows of a flat file, or a pointer that
    ``dangles``: names no record of the group, or its own.
    """

    name: str
    variable: str
    broken: Literal["varies", "dangles"]


LinkedColumn = MembersColumn | OtherRecordColumn | StructureColumn


NEIGHBOURS = ("previous", "following")
_COMMA = re.compile(r"\s*-?[0-9]+,[0-9]+\s*")


@dataclass(frozen=True)
class LevelNames:
    """One level."""

    name: str
    variables: tuple[str, ...]
    above: str | None = None
    pointers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Structure:
    """All levels, the top first."""

    levels: tuple[LevelNames, ...]

    @classmethod
    def of(cls, linked: LinkedData) -> Structure:
        """Structure of data."""
        return cls(
            tuple(LevelNames(each.name, each.data.names, each.declared.above, tuple(each.pointers)) for each in linked)
        )

    def __getitem__(self, name: str) -> LevelNames:
        for level in self.levels:
            if level.name == name:
                return level
        raise InputError(unknown_name("level", name, [each.name for each in self.levels]))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels, the top first."""
        return tuple(level.name for level in self.levels)

    def above(self, name: str) -> tuple[str, ...]:
        """Levels above one, the nearest first."""
        found: list[str] = []
        level = self[name].above
        while level is not None:
            found.append(level)
            level = self[level].above
        return tuple(found)

    def depth(self, name: str) -> int:
        """How many levels are above one."""
        return len(self.above(name))

    def levels_of(self, variable: str) -> tuple[str, ...]:
        """Levels that have a variable of this name."""
        return tuple(level.name for level in self.levels if variable in level.variables)


def refuse_conditions(linked: LinkedData) -> None:
    """Refuse conditions of incomplete groups that read what groups do not have."""
    problems = []
    for level in linked:
        if level.declared.incomplete is None or level.declared.above is None:
            continue
        above = linked[level.declared.above]
        condition = parse_expression(level.declared.incomplete)
        where = f"level {level.name}: incomplete: "
        if any(isinstance(node, GroupFunction) for node in nodes(condition)):
            problems.append(Problem(f"{where}it is about variables of the level {above.name}, not about members"))
        problems += [
            Problem(where + unknown_name(f"variable of the level {above.name}", name, above.data.names))
            for name in variable_names(condition) if name not in above.data
        ]  # fmt: skip
    refuse_problems(problems)


def refuse_texts(linked: LinkedData, columns: Mapping[str, Iterable[LinkedColumn]], rules: EditSet) -> None:
    """Refuse sums and extremes of members' texts."""
    problems = []
    for column in (each for every in columns.values() for each in every):
        if not isinstance(column, MembersColumn) or column.function not in ("sum", "min", "max"):
            continue
        data, name = linked[column.level].data, column.operand
        if column.end == "exact" and name is not None and name in data and not data[name].variable.is_numeric:
            message = f"{column.name}: {name} is no number: it is {data[name].variable.type}"
            hint = "Members with a text are counted, as count(person where sex == 'F'); a number is declared as one."
            if any(_COMMA.fullmatch(text) for text in data[name].variable.categories):
                hint = 'It has numbers with a comma: declare `decimal: ","` in the data section if that is their mark.'
            problems.append(Problem(message, _place(column, rules), hint))
    if problems:
        raise EditError(problems)


def _place(column: MembersColumn, rules: EditSet) -> Place | None:
    """Where the first rule stands that reads what members say."""
    for rule in rules:
        for node in nodes(rule.expression):
            if isinstance(node, GroupFunction) and rule_text(node) == column.name:
                return rule.place
    return None


def changed_columns(
    columns: Mapping[str, Sequence[LinkedColumn]], masked: Mapping[str, Collection[str]]
) -> dict[str, frozenset[str]]:
    """Computed columns that change with masked variables."""
    return {
        level: frozenset(
            column.name for column in own
            if any(name in masked.get(where, ()) for where, name in sources_of(columns, level, column.name))
        )
        for level, own in columns.items()
    }  # fmt: skip


def sources_of(
    columns: Mapping[str, Sequence[LinkedColumn]], level: str, name: str, *, conditions: bool = True
) -> set[tuple[str, str]]:
    """Variables, with their levels, that a variable or a computed column says something of."""
    column = next((each for each in columns[level] if each.name == name), None)
    if column is None:
        return {(level, name)}
    if isinstance(column, StructureColumn):
        return set()
    if isinstance(column, OtherRecordColumn):
        home = column.through if column.through in columns else level
        return set() if column.variable is None else sources_of(
            columns, home, column.variable, conditions=conditions
        )  # fmt: skip
    inner = () if column.condition is None or not conditions else variable_names(column.condition)
    read = (*inner, *(() if column.operand is None else (column.operand,)))
    found = (sources_of(columns, column.level, each, conditions=conditions) for each in read)
    return set().union(*found)
