"""Rules across records as tests of XPath 1.0 on nested records, with the same verdict on every record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import conjunction, disjunction, interval_comparisons, negation
from maskwright.edits.languages.conversion.binary_comparison import Grids
from maskwright.edits.languages.conversion.converted import Inexpressible, PathReference
from maskwright.edits.languages.conversion.exact_as_xpath import XPathWriter, is_coded
from maskwright.edits.languages.conversion.xpath_text import path_text, xpath_text
from maskwright.edits.levels.structure import NEIGHBOURS, MembersColumn, OtherRecordColumn
from maskwright.edits.rule_language.rules import parse_expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.levels.linked_data import LevelDeclaration
    from maskwright.edits.element_names import WrittenNames
    from maskwright.edits.languages.schematron.options import NestedLevels
    from maskwright.edits.levels.structure import LinkedColumn


@dataclass(frozen=True)
class SeenRecord:
    """A record as a test sees it.

    `path`: path to it, which a step can follow; empty for the record that the test or the predicate is about.
    `absolute`: path to it from inside of a predicate; None: there is none.
    """

    level: str
    path: str = ""
    absolute: str | None = "current()/"

    def along(self, step: str, level: str) -> SeenRecord:
        """Record of a level that a step of a path leads to from here."""
        return SeenRecord(level, self.path + step, None if self.absolute is None else self.absolute + step)


ONE = x.Number(Fraction(1))
TRUTHS = ("any", "all", "one", "no", "unique")


@dataclass(frozen=True)
class LevelTests:
    """What tests need to know of levels.

    `columns`: computed columns that rules read. `variables`: all numeric variables of the level are known to these.
    """

    names: NestedLevels
    declared: Mapping[str, LevelDeclaration]
    columns: Mapping[str, Mapping[str, LinkedColumn]]
    variables: Mapping[str, Grids]
    naming: Mapping[str, WrittenNames]

    def path(self, level: str, variable: str) -> str:
        """Path to a variable from a record of its level."""
        return path_text(variable, self.naming[level])

    def test(self, expression: x.Expression, level: str) -> x.Expression:
        """Test of a rule of a level, as a tree in XPath's types."""
        match expression:
            case x.IfThen(_, x.Comparison() as compared, None) if self._tests_only_existence(expression, level):
                # Where there is no other record the comparison is unknown, which the test says by itself.
                expression = compared
            case _:
                pass
        return negation(_Writer(self, SeenRecord(level)).truth(expression, holds=False))

    def _tests_only_existence(self, node: x.IfThen, level: str) -> bool:
        """Whether the condition is only about the existence of records that pointers or neighbours name."""
        conditions = node.condition.operands if isinstance(node.condition, x.And) else (node.condition,)
        return all(isinstance(each, x.Comparison) and self.tests_existence(each, level) for each in conditions)

    def tests_existence(self, node: x.Comparison, level: str) -> bool:
        """Whether a comparison is about the existence of another record."""
        match node:
            case x.Comparison("==", x.VariableReference(name), x.Number()):
                column = self.columns[level].get(name)
                return isinstance(column, OtherRecordColumn) and column.variable is None
            case _:
                return False


class _Writer(XPathWriter):
    """Writes conditions on one record."""

    def __init__(self, tests: LevelTests, record: SeenRecord) -> None:
        self._tests, self._record = tests, record
        grids = tests.variables[record.level]
        self._known = dict(grids.known)
        self._coded: dict[str, x.Expression] = {
            name: is_coded(x.VariableReference(name), texts, grids) for name, texts in grids.empty.items() if texts
        }
        super().__init__(Grids(self._known, grids.otherwise, empty=dict(grids.empty)), self._coded, {})

    def truth(self, node: x.Expression, *, holds: bool) -> x.Expression:  # noqa: PLR0911 - one for each kind of node
        match node:
            case x.InInterval() if bounds := interval_comparisons(node):
                return self.truth(bounds[0] if len(bounds) == 1 else x.And(bounds), holds=holds)
            case x.InSet(x.VariableReference(name) as counted, members) if isinstance(
                self._find(self._record, name)[1], MembersColumn
            ):
                return self.truth(disjunction([x.Comparison("==", counted, each) for each in members]), holds=holds)
            case x.Comparison("==", x.VariableReference() as reference, x.Number(value)) if (
                value == 1 and not isinstance(reference, PathReference)
            ):
                there, found = self._find(self._record, reference.name)
                if isinstance(found, MembersColumn) and found.function in TRUTHS:
                    return conjunction([self._of_members(there, found, holds=holds), *self._complete(there, found)])
                if found is None:
                    own = self._tests.path(there.level, self._tests.declared[there.level].key)
                    key = PathReference(f"{there.path}{own}")
                    return key if holds else negation(key)
            case _:
                pass
        if isinstance(node, (x.And, x.Or, x.Not, x.IfThen, x.Truth)):
            return super().truth(node, holds=holds)
        if isinstance(node, x.Comparison):
            decided = self._decided(node if holds else replace(node, operator=x.NEGATED[node.operator]))
            if decided is not None:
                return decided
        placed, guards = self.placed(node)
        return conjunction([super().truth(placed, holds=holds), *guards])

    def placed(self, node: x.Expression) -> tuple[x.Expression, list[x.Expression]]:
        """Term with paths in place of names, and what has to hold for it to be known."""
        guards: list[x.Expression] = []

        def change(inner: x.Expression) -> x.Expression:
            match inner:
                case x.VariableReference():
                    return self._path(inner, guards)
                case x.IsMissing(operand) | x.IsNumber(operand) | x.MissingAs(operand) | x.Matches(operand):
                    return replace(inner, operand=self._path(operand, guards))
                case x.InOriginal(names):
                    if any(isinstance(self._path(x.VariableReference(name), guards), PathReference) for name in names):
                        raise Inexpressible("XPath 1.0 cannot look up what other records say in the original file")
                    return inner
                case _:
                    return inner

        return x.rewritten(node, change), guards

    def _comparison(self, node: x.Comparison) -> x.Expression:
        sides = (node.left, node.right)
        if any(isinstance(each, PathReference) and each.name in self._known for each in sides):
            return self._numbers(node)
        return super()._comparison(node)

    def _path(self, reference: x.VariableReference, guards: list[x.Expression]) -> x.VariableReference:
        if isinstance(reference, PathReference):
            return reference
        there, found = self._find(self._record, reference.name)
        if isinstance(found, MembersColumn):
            return self._value(there, found, guards)
        assert isinstance(found, str)
        grids = self._tests.variables[there.level]
        if found in grids.dates:
            raise Inexpressible("it is about dates and other records")
        if not there.path:
            return x.VariableReference(found)
        path = PathReference(f"{there.path}{self._tests.path(there.level, found)}")
        if found in grids.known:
            self._known[path.name] = grids.known[found]
        if grids.empty.get(found):
            self._coded[path.name] = is_coded(path, grids.empty[found], self.grids)
            self.grids = replace(self.grids, empty={**self.grids.empty, path.name: grids.empty[found]})
        return path

    def _find(self, record: SeenRecord, name: str) -> tuple[SeenRecord, str | MembersColumn | None]:
        """Record that has what a name says, and the variable or the column; None: it is about its existence."""
        column = self._tests.columns[record.level].get(name)
        if column is None:
            return record, name
        if isinstance(column, MembersColumn):
            return record, column
        assert isinstance(column, OtherRecordColumn)
        there = self._other(record, column.through)
        return (there, None) if column.variable is None else self._find(there, column.variable)

    def _other(self, record: SeenRecord, through: str) -> SeenRecord:
        names = self._tests.names
        if through in self._tests.declared:
            return record.along("../" * (names.depth(record.level) - names.depth(through)), through)
        element = names[record.level].element
        if through in NEIGHBOURS:
            if self._tests.declared[record.level].order is not None:
                raise Inexpressible("XPath 1.0 knows the order of the document only, and `order` declares another")
            step = f"{'preceding' if through == 'previous' else 'following'}-sibling::{element}[1]/"
        else:
            if record.absolute is None:
                raise Inexpressible("XPath 1.0 cannot follow the pointers of each member")
            key, pointer = (self._tests.path(record.level, each) for each in (names[record.level].key, through))
            step = f"../{element}[{key} = {record.absolute}{pointer}]/"
        return record.along(step, record.level)

    # What members say together.

    def _members(self, there: SeenRecord, level: str, *conditions: x.Expression) -> str:
        """Path to the members of a group, of a level below it, that satisfy conditions about them."""
        found = f"{there.path}{'/'.join(self._tests.names.path(there.level, level))}"
        together = conjunction(conditions)
        return found if together == x.Truth(True) else f"{found}[{xpath_text(together, self._tests.naming[level])}]"

    def _some(self, there: SeenRecord, level: str, *conditions: x.Expression) -> x.Expression:
        never = x.Truth(False) in conditions
        return x.Truth(False) if never else PathReference(self._members(there, level, *conditions))

    def _member(self, column: MembersColumn) -> tuple[_Writer, x.Expression, x.Expression]:
        """Writer of conditions on a member, "it is surely meant", and "it may be meant"."""
        writer = _Writer(self._tests, SeenRecord(column.level, "", None))
        if column.condition is None:
            return writer, x.Truth(True), x.Truth(True)
        never = writer.truth(column.condition, holds=False)
        return writer, writer.truth(column.condition, holds=True), negation(never)

    def _of_members(self, there: SeenRecord, column: MembersColumn, *, holds: bool) -> x.Expression:
        """Truth of `any`, `all`, `one`, `no` and `unique`."""
        writer, sure, perhaps = self._member(column)

        def some(condition: x.Expression) -> x.Expression:
            return self._some(there, column.level, condition)

        match column.function:
            case "any":
                return some(sure) if holds else negation(some(perhaps))
            case "no":
                return negation(some(perhaps)) if holds else some(sure)
            case "all":
                return negation(some(negation(sure))) if holds else some(negation(perhaps))
            case "one":
                surely, possibly = (self._count(there, column.level, each) for each in (sure, perhaps))
                if holds:
                    return conjunction([x.Comparison("==", surely, ONE), x.Comparison("==", possibly, ONE)])
                return disjunction([x.Comparison(">", surely, ONE), negation(some(perhaps))])
            case _:
                return self._unique(there, column, writer, holds=holds)

    def _unique(self, there: SeenRecord, column: MembersColumn, writer: _Writer, *, holds: bool) -> x.Expression:
        if column.condition is not None:
            raise Inexpressible("XPath 1.0 has no unique() of some members only")
        self._refuse_deep(there, column)
        assert column.operand is not None
        operand = writer.placed(x.VariableReference(column.operand))[0]
        if isinstance(operand, PathReference) or not isinstance(operand, x.VariableReference):
            raise Inexpressible("unique() is about a variable of the members")
        shown = xpath_text(writer.as_number(operand), self._tests.naming[column.level])
        known = writer.truth(x.Not(x.IsMissing(operand)), holds=True)
        before = f"{self._tests.names[column.level].element}/{self._tests.path(column.level, column.operand)}"
        twice: list[x.Expression] = [PathReference(f"{shown} = preceding-sibling::{before}")]
        if column.operand not in writer.grids.known:
            twice.insert(0, known)
        same = self._some(there, column.level, *twice)
        if not holds:
            return same
        return conjunction([negation(same), negation(self._some(there, column.level, negation(known)))])

    def _refuse_deep(self, there: SeenRecord, column: MembersColumn) -> None:
        """Refuse what XPath says of the members of one group, and not of all groups in a group."""
        if len(self._tests.names.path(there.level, column.level)) > 1:
            message = f"XPath 1.0 has no {column.function}() of members across more than one level"
            raise Inexpressible(message)

    def as_number(self, operand: x.Expression) -> x.Expression:
        """Term as a number where the variable is one."""
        name = operand.name if isinstance(operand, x.VariableReference) else ""
        return x.Function("number", (operand,)) if name in self._known else operand

    def _count(self, there: SeenRecord, level: str, condition: x.Expression) -> PathReference:
        path = PathReference(f"count({self._members(there, level, condition)})", is_number=True)
        self._known[path.name] = 0
        return path

    def _value(self, there: SeenRecord, column: MembersColumn, guards: list[x.Expression]) -> PathReference:
        """Path to a number or cell that members say together; to `guards` is added when it is known."""
        writer, sure, perhaps = self._member(column)
        guards += self._complete(there, column)
        doubtful = conjunction([perhaps, negation(sure)])
        if column.function == "count":
            if column.condition is not None:
                guards.append(negation(self._some(there, column.level, doubtful)))
            return self._count(there, column.level, sure)
        assert column.operand is not None
        if column.function not in ("sum", "first"):
            raise Inexpressible(f"XPath 1.0 has no {column.function}() but alone on a side of a comparison")
        operand, inner = writer.placed(x.VariableReference(column.operand))
        assert isinstance(operand, x.VariableReference)
        cell = xpath_text(operand, self._tests.naming[column.level])
        if column.function == "sum":
            lost = negation(conjunction([sure, writer.surely_number(operand), *inner]))
            guards.append(negation(self._some(there, column.level, perhaps, lost)))
            summed = f"sum({self._members(there, column.level, sure)}/{cell})"
            path = PathReference(summed, is_number=True, is_sum=True)
        else:
            self._refuse_deep(there, column)
            if self._tests.declared[column.level].order is not None:
                raise Inexpressible("XPath 1.0 knows the order of the document only, and `order` declares another")
            if column.condition is not None:
                surely = xpath_text(sure, self._tests.naming[column.level])
                guards.append(PathReference(f"{self._members(there, column.level, perhaps)}[1][{surely}]"))
            path = PathReference(f"{self._members(there, column.level, sure)}[1]/{cell}")
        if operand.name in writer.grids.known:
            self._known[path.name] = writer.grids.known[operand.name]
        return path

    def surely_number(self, operand: x.VariableReference) -> x.Expression:
        """XPath for "the cell holds a number"."""
        return self.guarded(operand, self.known(operand))

    def _complete(self, there: SeenRecord, column: MembersColumn) -> list[x.Expression]:
        """That a group is not known to lack members, nor to have a group that does."""
        found = []
        level = column.level
        while level != there.level:
            incomplete = self._tests.declared[level].incomplete
            level = self._tests.declared[level].above or there.level
            if incomplete is None:
                continue
            is_own = level == there.level
            writer = _Writer(self._tests, there if is_own else SeenRecord(level, "", None))
            lacking = writer.truth(parse_expression(incomplete), holds=True)
            found.append(negation(lacking if is_own else self._some(there, level, lacking)))
        return found

    def _decided(self, node: x.Comparison) -> x.Expression | None:
        """Comparison that known members decide, where all are not known; None: it is another."""
        for side, other, operator in x.both_ways(node):
            if not isinstance(side, x.VariableReference) or isinstance(side, PathReference):
                continue
            there, column = self._find(self._record, side.name)
            if not isinstance(column, MembersColumn):
                continue
            complete = self._complete(there, column)
            if column.function in ("min", "max"):
                return conjunction([self._extreme(there, column, operator, other), *complete])
            if column.function == "count" and column.condition is not None:
                return conjunction([self._counted(there, column, operator, other), *complete])
        return None

    def _counted(
        self, there: SeenRecord, column: MembersColumn, operator: x.ComparisonOperator, other: x.Expression
    ) -> x.Expression:
        """With the fewest and the most members that may be meant."""
        _, sure, perhaps = self._member(column)
        placed, guards = self.placed(other)
        least, most = (self._count(there, column.level, each) for each in (sure, perhaps))

        def compared(sign: x.ComparisonOperator, end: x.Expression) -> x.Expression:
            return self.guarded(placed, self._numbers(x.Comparison(sign, end, placed)))

        found = {
            ">": lambda: compared(">", least), ">=": lambda: compared(">=", least),
            "<": lambda: compared("<", most), "<=": lambda: compared("<=", most),
            "==": lambda: conjunction([compared(">=", least), compared("<=", most)]),
            "!=": lambda: disjunction([compared(">", least), compared("<", most)]),
        }[operator]()  # fmt: skip
        return conjunction([found, *guards])

    def _extreme(
        self, there: SeenRecord, column: MembersColumn, operator: x.ComparisonOperator, other: x.Expression
    ) -> x.Expression:
        """`max() > b`: some member is above; `max() <= b`: all are known to be below, and there is one."""
        if operator == "==":
            return conjunction([self._extreme(there, column, "<=", other), self._extreme(there, column, ">=", other)])
        if operator == "!=":
            return disjunction([self._extreme(there, column, "<", other), self._extreme(there, column, ">", other)])
        writer, sure, perhaps = self._member(column)
        assert column.operand is not None
        outside = self._inside(there, column.level)
        placed, guards = outside.placed(other)
        writer.learn(outside)
        compared = x.Comparison(operator, x.VariableReference(column.operand), placed)
        below = conjunction([writer.truth(compared, holds=True), *guards])
        if (column.function == "max") == (operator in (">", ">=")):
            return self._some(there, column.level, sure, below)
        operand, inner = writer.placed(x.VariableReference(column.operand))
        assert isinstance(operand, x.VariableReference)
        there_is = self._some(there, column.level, sure, writer.surely_number(operand), *inner)
        not_below = negation(conjunction([sure, below]))
        return conjunction([there_is, negation(self._some(there, column.level, perhaps, not_below))])

    def _inside(self, there: SeenRecord, level: str) -> _Writer:
        """Writer for what the record of a rule says, seen from inside of a predicate on members of a group."""
        if self._record == there:
            steps = len(self._tests.names.path(there.level, level))
            return _Writer(self._tests, SeenRecord(there.level, "../" * steps, None))
        absolute = self._record.absolute
        if absolute is None:
            raise Inexpressible("XPath 1.0 compares members with members of the same group only in part")
        return _Writer(self._tests, SeenRecord(self._record.level, absolute, absolute))

    def learn(self, other: _Writer) -> None:
        """Take over what another writer knows of its paths."""
        self._known.update({name: places for name, places in other.grids.known.items() if "/" in name or "(" in name})
