"""Rules that span records as rules of one level: what they read of other records becomes columns of that level."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.classify import classify
from maskwright.edits.edit import CheckedPart, Edit
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.edit_names import unquoted_text
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.levels.structure import NEIGHBOURS, End, LinkedColumn, MembersColumn, OtherRecordColumn
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.nearest_names import nearest_name, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from maskwright.edits.levels.structure import Structure

_ONE = x.Number(Fraction(1))
SUM_OF_ONE = re.compile(r"\bsum\(\s*(\w+)\s*\)")
"""A sum of one variable, as rules in YAML may write it: no node of the rule says so."""

_TRUTHS = ("any", "all", "one", "no", "unique")
_ENDS: tuple[End, End] = ("least", "most")
_WITH_ENDS = ("count", "min", "max")
"""Of these, known members may decide a comparison though others are not known."""


@dataclass(frozen=True)
class BoundEdits:
    """Edits by level, and the columns that they read in addition to the variables of that level.

    `edits`: each with `level`; all levels, the top first. `columns`: in an order in which they can be computed.
    `plain`: the rules with the comparisons of what members say as they are written: what algebra sees.
    """

    edits: Mapping[str, EditSet]
    columns: Mapping[str, tuple[LinkedColumn, ...]]
    plain: Mapping[str, x.Expression] = field(default_factory=dict)

    def columns_of(self, level: str, names: Iterable[str]) -> tuple[LinkedColumn, ...]:
        """Those columns of a level that are among these names, and the ends between which what members say lies."""
        wanted = set(names)
        return tuple(column for column in self.columns[level] if self._as_written(column) in wanted)

    def _as_written(self, column: LinkedColumn) -> str:
        """Name by which a rule reads a column."""
        if isinstance(column, OtherRecordColumn) and column.through in self.columns:
            above = next((each for each in self.columns[column.through] if each.name == column.variable), None)
            return column.name if above is None else f"{column.through}.{self._as_written(above)}"
        if isinstance(column, MembersColumn) and column.end != "exact":
            return column.name.removeprefix(f"{column.end} ")
        return column.name


def bind(edits: EditSet, structure: Structure) -> BoundEdits:
    """Give each edit its level, and variables of that level only.

    A rule is about the lowest level of the names outside its functions of members; where there is none, about the
    highest of the levels just above these members.
    """
    binder = _Binder(structure)
    problems: list[Problem] = []
    found: dict[str, list[Edit]] = {name: [] for name in structure.names}
    for edit in edits:
        try:
            bound = binder.bound(edit)
        except _Unbound as error:
            place = edit.place
            hint = error.hint or (None if error.name is None else unquoted_text(edit.expression, error.name))
            problems.append(Problem(error.message, place, hint, edit=edit.name))
            continue
        found[bound.level].append(bound)
    if problems:
        raise EditError(problems)
    return BoundEdits(
        {name: EditSet(tuple(each), edits.notes if name == structure.names[0] else ()) for name, each in found.items()},
        {name: tuple(each.values()) for name, each in binder.columns.items()},
        binder.plain,
    )


class _Unbound(Exception):  # noqa: N818 - never leaves the module
    def __init__(self, message: str, hint: str | None = None, name: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint, self.name = message, hint, name


class _Binder:
    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self.columns: dict[str, dict[str, LinkedColumn]] = {name: {} for name in structure.names}
        self.plain: dict[str, x.Expression] = {}

    def bound(self, edit: Edit) -> Edit:
        level = edit.level or self._level(edit.expression)
        self._refuse_sum_of_one(edit, level)
        through: dict[str, None] = {}
        expression = self._on(edit.expression, level, through)
        plain = self._on(edit.expression, level, {}, decided=False)
        when = None if edit.when is None else self._on(edit.when, level, through)
        if through:
            # A record that points to none is not what the rule is about.
            columns = [OtherRecordColumn(f"{each} is there", each, None) for each in through]
            there = [x.Comparison("==", self._read(level, each), _ONE) for each in columns]
            present: x.Expression = there[0] if len(there) == 1 else x.And(tuple(there))
            expression, plain = x.IfThen(present, expression), x.IfThen(present, plain)
            when = present if when is None else x.And((present, when))
        self.plain[edit.name] = plain
        parts = (CheckedPart(plain),) if x.has_ranges(plain) else classify(plain, edit.place)
        return replace(
            edit, level=level, expression=expression, when=when, parts=parts, variables=x.variable_names(plain)
        )

    def _refuse_sum_of_one(self, edit: Edit, level: str) -> None:
        """Refuse ``sum(wages) == total``: what is meant is the sum over members, and it says the value of each."""
        own, above = self._structure[level].variables, self._structure.above(level)
        alone = [name for name in SUM_OF_ONE.findall(edit.text) if name in own]
        if (
            alone
            and edit.assertion is None
            and any(self._level_of(name) in above for name in x.variable_names(edit.expression))
        ):
            message = f"sum({alone[0]}) is {alone[0]} of one {level}"
            raise _Unbound(message, f"Write sum({level}.{alone[0]}) for the sum over members, or {alone[0]} alone.")

    def _level(self, expression: x.Expression) -> str:
        """Level of a rule: the lowest of its names; of members alone, the highest just above some of them."""
        found: list[str] = []
        homes = [self._structure.names[0]]
        for node in x.nodes(expression):
            match node:
                case x.GroupFunction(_, level):
                    homes.append(self._home(level, None))
                case x.VariableReference(name):
                    found.append(self._level_of(name))
                case x.InOriginal(names):
                    found += [self._level_of(name) for name in names]
                case x.VariableRange(first, last):
                    found += [self._level_of(first), self._level_of(last)]
        return max(found, key=self._structure.depth) if found else min(homes[1:] or homes, key=self._structure.depth)

    def _level_of(self, name: str) -> str:
        known = self._structure.levels_of(name)
        if len(known) > 1:
            written = " or ".join(f"{level}.{name}" for level in known)
            raise _Unbound(f"{name!r} is a variable of more than one level", f"Write {written}.")
        if known:
            return known[0]
        prefix, _, rest = name.partition(".")
        if name in self._structure.names:
            own = self._structure[name].variables
            raise _Unbound(f"{name} is a level, and no variable", f"Name a variable of it, as sum({name}.{own[-1]}).")
        if not rest:
            every = [each for level in self._structure.levels for each in level.variables]
            raise _Unbound(unknown_name("variable", name, every), name=None if nearest_name(name, every) else name)
        if prefix in self._structure.names:
            if rest not in self._structure[prefix].variables:
                raise _Unbound(unknown_name(f"variable of the level {prefix}", rest, self._structure[prefix].variables))
            return prefix
        for level in self._structure.levels:
            if prefix in level.pointers:
                return level.name
        if prefix in NEIGHBOURS:
            return self._level_of(rest)
        pointers = [each for level in self._structure.levels for each in level.pointers]
        raise _Unbound(unknown_name("level or pointer", prefix, [*self._structure.names, *pointers, *NEIGHBOURS]))

    def _home(self, level: str, seen_from: str | None) -> str:
        """Level whose records a function of members is about, in a rule or condition on records of another level.

        Of records further below, it is of all that are in the record: ``sum(person.income)`` of a region.
        """
        if level not in self._structure.names:
            raise _Unbound(unknown_name("level", level, self._structure.names))
        above = self._structure.above(level)
        if not above:
            raise _Unbound(f"{level} is the top level: its records are members of no group")
        return seen_from if seen_from in above else above[0]

    def _on(
        self, expression: x.Expression, level: str, through: dict[str, None], *, decided: bool = True
    ) -> x.Expression:
        """Expression whose names are variables and computed columns of one level."""

        def change(node: x.Expression) -> x.Expression:  # noqa: PLR0911 - one for each kind of node
            match node:
                case x.GroupFunction():
                    return self._members(node, level)
                case x.VariableReference(name):
                    return x.VariableReference(self._name(name, level, through))
                case x.Unique() | x.Aggregate():
                    raise _Unbound(
                        "unique(a) and sum(a by b) are about a file without levels",
                        "Of members: unique(person.pno), sum(person.income) == total.",
                    )
                case x.IsMissing(operand) | x.MissingAs(operand) | x.Matches(operand):
                    return replace(node, operand=x.VariableReference(self._name(operand.name, level, {})))
                case x.IsNumber(operand):
                    return x.IsNumber(x.VariableReference(self._name(operand.name, level, through)))
                case x.InOriginal(names, document):
                    return x.InOriginal(tuple(self._name(name, level, through) for name in names), document)
                case x.Comparison() if decided:
                    return self._decided(node, level)
                case _:
                    return node

        return x.rewritten(expression, change)

    def _name(self, name: str, level: str, through: dict[str, None]) -> str:
        """Variable or computed column of a level that a name of a rule of this level means."""
        structure = self._structure
        if name in structure[level].variables or name in self.columns[level]:
            return name
        prefix, _, rest = name.partition(".")
        if rest and prefix == level:
            return self._name(rest, level, through)
        if rest and (prefix in structure[level].pointers or prefix in NEIGHBOURS):
            through.setdefault(prefix)
            self._add(level, OtherRecordColumn(name, prefix, self._name(rest, level, {})))
            return name
        for above in structure.above(level):
            wanted = rest if rest and prefix == above else name
            if wanted in structure[above].variables:
                column = OtherRecordColumn(f"{above}.{wanted}", above, wanted)
                self._add(level, column)
                return column.name
        self._level_of(name)  # says what is wrong with a name that nothing has
        raise _Unbound(f"a record of the level {level} does not see {name}", "Functions of members do: sum(person.x).")

    def _members(self, node: x.GroupFunction, level: str) -> x.Expression:
        home = self._home(node.level, level)
        inner: dict[str, None] = {}
        condition = None if node.condition is None else self._on(node.condition, node.level, inner)
        operand = None if node.operand is None else self._operand(node, node.operand.name, inner)
        column = MembersColumn(rule_text(node), node.level, node.function, operand, condition)
        self._add(home, column)
        read = x.VariableReference(self._seen_from(level, home, column.name))
        return x.Comparison("==", read, _ONE) if node.function in _TRUTHS else read

    def _operand(self, node: x.GroupFunction, written: str, through: dict[str, None]) -> str:
        """Variable or computed column of the members that a function is of."""
        name = self._name(written, node.level, through)
        column = self.columns[node.level].get(name)
        if isinstance(column, OtherRecordColumn) and column.through in self._structure.above(node.level):
            message = (
                f"{rule_text(node)}: {column.variable} is a variable of {column.through}, not of each {node.level}"
            )
            hint = f"Write {column.variable} alone"
            if node.function == "sum":
                members = rule_text(x.GroupFunction("count", node.level, None, node.condition))
                hint += f"; if each {node.level} is to add it once more, {members} * {column.variable}"
            raise _Unbound(message, f"{hint}.")
        return name

    def _seen_from(self, level: str, home: str, name: str) -> str:
        """Column of a level above as the records of this one see it."""
        if level == home:
            return name
        column = OtherRecordColumn(f"{home}.{name}", home, name)
        self._add(level, column)
        return column.name

    def _decided(self, node: x.Comparison, level: str) -> x.Expression:
        """Comparison that known members may decide: with the fewest and the most that the members can say."""
        for side, other, operator in x.both_ways(node):
            home, column = self._open(side, level)
            if column is not None:
                ends: dict[str, x.Expression] = {"exact": side}
                for end in _ENDS:
                    bounded = replace(column, name=f"{end} {column.name}", end=end)
                    self._add(home, bounded)
                    ends[end] = x.VariableReference(self._seen_from(level, home, bounded.name))
                return _by_ends(ends, operator, other)
        return node

    def _open(self, side: x.Expression, level: str) -> tuple[str, MembersColumn | None]:
        """Column of members whose value may be known only in part, and the level whose records it is about."""
        if not isinstance(side, x.VariableReference):
            return level, None
        column = self.columns[level].get(side.name)
        if isinstance(column, OtherRecordColumn) and column.through in self._structure.above(level):
            level, column = column.through, self.columns[column.through].get(column.variable or "")
        if not isinstance(column, MembersColumn) or column.function not in _WITH_ENDS:
            return level, None
        return level, column if column.condition is not None or column.function != "count" else None

    def _read(self, level: str, column: LinkedColumn) -> x.VariableReference:
        self._add(level, column)
        return x.VariableReference(column.name)

    def _add(self, level: str, column: LinkedColumn) -> None:
        self.columns[level].setdefault(column.name, column)


def _by_ends(ends: Mapping[str, x.Expression], operator: x.ComparisonOperator, other: x.Expression) -> x.Expression:
    """True or false where both ends agree, else unknown: that is what the exact value, which is missing, says then."""
    is_known = x.Comparison("==", ends["exact"], ends["exact"])
    if operator in (">", ">="):
        return x.Or(
            (
                x.Comparison(operator, ends["least"], other),
                x.And((x.Comparison(operator, ends["most"], other), is_known)),
            )
        )
    if operator in ("<", "<="):
        return x.Or(
            (
                x.Comparison(operator, ends["most"], other),
                x.And((x.Comparison(operator, ends["least"], other), is_known)),
            )
        )
    inside = x.And((x.Comparison("<=", ends["least"], other), x.Comparison(">=", ends["most"], other)))
    if operator == "==":
        return x.And((*inside.operands, x.Comparison("==", ends["exact"], other)))
    outside = x.Or((x.Comparison(">", ends["least"], other), x.Comparison("<", ends["most"], other)))
    return x.Or((*outside.operands, x.Comparison("!=", ends["exact"], other)))
