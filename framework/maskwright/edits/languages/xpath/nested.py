"""Expressions on nested records, parsed into what the language of levels says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeGuard, cast

from maskwright.edits import expression as x
from maskwright.edits.element_names import ElementNaming
from maskwright.edits.languages.xpath.conversions import as_condition, chooses_by_position, without_conversions
from maskwright.edits.languages.xpath.parser import Grown
from maskwright.edits.languages.xpath.xpath2 import XPath2Parser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from maskwright.edits.languages.schematron.options import NestedLevels, SchematronOptions
    from maskwright.edits.languages.xpath.parser import Parsed
    from maskwright.edits.languages.xpath.tokens import Token
    from maskwright.foundation.errors import Place


_CURRENT = "current()."
_BEFORE = "before."
"""In a predicate on members: a variable of those before."""
_NEIGHBOURS = {"preceding-sibling": "previous", "following-sibling": "following"}
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})

PATH, FIRST = "members", "first member"
"""Paths to members, or to a variable of theirs, while a text is parsed: what they mean depends on where they stand."""


class NestedParser(XPath2Parser):
    """Reads one expression about a record of a level."""

    def __init__(
        self,
        text: str,
        place: Place | None,
        variables: Mapping[str, Parsed],
        limits: SchematronOptions,
        levels: NestedLevels,
        level: str,
        namespaces: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(text, place, variables, limits, ElementNaming(namespaces or {}), later=namespaces is not None)
        self._levels, self._here, self._rule_level = levels, level, level
        self._inside = 0

    def meant(self, tree: Parsed) -> x.Expression:
        """What was read, as a condition of the language of levels."""
        return without_conversions(as_condition(self._as_truth(leaf(tree)).value))

    def value(self, tree: Parsed) -> x.Expression:
        """What was read, as a value of the language of levels."""
        return without_conversions(self._as_number(leaf(tree)).value)

    def _primary(self) -> Grown:
        token = self._token
        following = self._tokens[self._next + 1].text
        if token.kind == "sign" and token.text == "..":
            return self._upwards()
        if token.kind == "name" and token.text in _NEIGHBOURS and following == "::":
            return self._neighbour()
        if token.kind == "name" and token.text == "current" and following == "(":
            return self._current()
        if token.kind == "name" and token.text in ("count", "sum") and following == "(":
            return self._aggregate()
        if self._is_member(token, self._here):
            return self._path_of_members(self._here)
        return super()._primary()

    def _is_member(self, token: Token, level: str) -> bool:
        """Whether a step goes to the members of the records of a level."""
        below = self._levels.below(level)
        return token.kind == "name" and below is not None and token.text == below.element

    def _upwards(self) -> Grown:
        above = self._above(self._here)
        if self._is_member(self._token, above):
            return self._path_of_members(above)
        return leaf(x.VariableReference(f"{above}.{self._step()}"))

    def _above(self, level: str) -> str:
        """Level that the steps ``../`` lead to from a record of another."""
        steps = 0
        token = self._token
        while self._is_sign(".."):
            self._advance()
            self._expect("/")
            steps += 1
        found = self._levels.up(level, steps)
        if found is None:
            self._refuse.unsupported("what is around a record of the upper level", token)
        return found.name

    def _neighbour(self) -> Grown:
        token = self._advance()
        self._expect("::")
        element = self._advance()
        here = self._levels[self._here]
        if self._levels.depth(here.name) == 0 or element.text != here.element:
            self._refuse.unsupported(f"the axis {token.text}::", token)
        if self._inside and token.text == "preceding-sibling" and self._is_sign("/"):
            self._advance()
            return leaf(x.VariableReference(f"{_BEFORE}{self._step()}"))
        self._expect("[")
        if self._advance().text != "1":
            self._refuse.unsupported("a neighbour other than the next", token)
        self._expect("]")
        self._expect("/")
        return leaf(x.VariableReference(f"{_NEIGHBOURS[token.text]}.{self._step()}"))

    def _current(self) -> Grown:
        self._advance()
        self._expect("(")
        self._expect(")")
        self._expect("/")
        if self._is_sign(".."):
            owner = f"{self._above(self._rule_level)}."
        elif not self._inside:
            owner = ""
        elif self._levels.depth(self._rule_level) < self._levels.depth(self._here):
            owner = f"{self._rule_level}."
        else:
            owner = _CURRENT
        return leaf(x.VariableReference(f"{owner}{self._step()}"))

    def _aggregate(self) -> Grown:
        token = self._advance()
        self._advance()
        found = self._expression(1).tree
        self._expect(")")
        if not is_path(found) or found.function == FIRST or (token.text == "sum") != (found.operand is not None):
            what = f"{token.text}() of something else than members, and of their variables where it sums"
            self._refuse.unsupported(what, token)
        self._check_own(found, token.text)
        return leaf(replace(found, function=token.text))

    def _path_of_members(self, base: str) -> Grown:
        """``Person[p]/x`` or ``Household/Person/x``: members of the records of a level that the record is in, or is."""
        token = self._token
        level = base
        conditions: list[x.Expression] = []
        around: list[x.Expression] = []
        first = False
        operand = None
        while self._is_member(self._token, level):
            self._advance()
            below = self._levels.below(level)
            assert below is not None
            around += [x.rewritten(each, _of_level(level)) for each in conditions]
            level, conditions = below.name, []
            first = self._predicates(token, level, conditions, first=first)
            if not self._is_sign("/"):
                break
            self._advance()
        else:
            operand = self._step()
        self._refuse.path(self._token)
        return self._of_members(token, base, level, (around, conditions), operand, first=first)

    def _predicates(self, token: Token, level: str, conditions: list[x.Expression], *, first: bool) -> bool:
        """Take the conditions of members of a level; returns whether it is the first of them that is meant."""
        if first:
            self._refuse.unsupported("what is in the first member", token)
        while self._is_sign("["):
            self._advance()
            if self._token.text == "1" and self._tokens[self._next + 1].text == "]":
                self._advance()
                first = True
            elif first:
                self._refuse.unsupported("a condition of the first member", token)
            else:
                conditions.append(self._predicate(level))
            self._expect("]")
        return first

    def _of_members(
        self,
        token: Token,
        base: str,
        level: str,
        found: tuple[list[x.Expression], list[x.Expression]],
        operand: str | None,
        *,
        first: bool,
    ) -> Grown:
        """Members of a level in the records of another; `found`: conditions of what is between, and their own."""
        around, conditions = found
        is_direct = self._levels.up(level, 1) == self._levels[base]
        compares_before = any(name.startswith(_BEFORE) for each in conditions for name in x.variable_names(each))
        if compares_before and is_direct:
            return self._differ(token, level, conditions, operand)
        pointer = self._pointer(level, conditions) if is_direct else None
        if pointer is not None:
            if operand is None:
                return leaf(x.Not(x.IsMissing(x.VariableReference(f"{pointer}.{self._levels[level].key}"))))
            return leaf(x.VariableReference(f"{pointer}.{operand}"))
        if not is_direct and (first or compares_before or base != self._here or not self._are_seen_below(around)):
            # Rules say "first" of one group, and nothing of what is in other groups of the same group.
            self._refuse.unsupported("members across more than one level, other than all of a record", token)
        every = [*conditions, *around]
        condition = None if not every else every[0] if len(every) == 1 else x.And(tuple(every))
        variable = None if operand is None else x.VariableReference(operand)
        return leaf(x.GroupFunction(FIRST if first else PATH, level, variable, condition))

    def _are_seen_below(self, conditions: list[x.Expression]) -> bool:
        """Whether conditions of records say nothing but what records below these see of them."""
        nodes = [node for each in conditions for node in x.nodes(each)]
        names = [node.name for node in nodes if isinstance(node, x.VariableReference) and "." in node.name]
        levels = [level.name for level in self._levels.levels]
        return not any(isinstance(node, x.GroupFunction) for node in nodes) and all(
            name.partition(".")[0] in levels for name in names
        )

    def _predicate(self, level: str) -> x.Expression:
        outer, self._here = self._here, level
        self._inside += 1
        found = self._expression(1).tree
        if chooses_by_position(found):
            self._refuse.unsupported("a member that is chosen by its number", self._token)
        condition = self.meant(found)
        self._inside -= 1
        self._here = outer
        return condition

    def _differ(self, token: Token, level: str, conditions: list[x.Expression], operand: str | None) -> Grown:
        """``Person[pno = preceding-sibling::Person/pno]``: two members have the same."""
        match conditions:
            case [
                x.And(
                    (
                        x.Not(x.IsMissing(known)),
                        x.Comparison("==", x.VariableReference(one), x.VariableReference(other)),
                    )
                )
            ]:
                named = known.name == one
            case [x.Comparison("==", x.VariableReference(one), x.VariableReference(other))]:
                named = True
            case _:
                named, one, other = False, "", ""
        if operand is not None or not named or other != f"{_BEFORE}{one}":
            self._refuse.unsupported(
                "a comparison with all members before, other than whether they have the same", token
            )
        return leaf(x.Not(x.GroupFunction("unique", level, x.VariableReference(one))))

    def _pointer(self, level: str, conditions: list[x.Expression]) -> str | None:
        """Pointer that ``[pno = current()/mother]`` follows."""
        if len(conditions) != 1:
            return None
        match conditions[0]:
            case x.Comparison("==", x.VariableReference(one), x.VariableReference(other)):
                for key, pointer in ((one, other), (other, one)):
                    name = pointer.removeprefix(_CURRENT)
                    own = self._levels[level]
                    if key == own.key and name != pointer and name in own.pointers:
                        return name
        return None

    def _check_own(self, found: x.GroupFunction, use: str) -> None:
        """Refuse members that are compared with the one that the rule is about: no rule on levels says that."""
        names = () if found.condition is None else x.variable_names(found.condition)
        if any(name.startswith(_CURRENT) for name in names):
            own = self._levels[found.level]
            hint = f"understood is {own.element}[{own.key} = current()/NAME], NAME a pointer"
            self._refuse.fail(f"{use} of members that are compared with the record itself", hint)

    def _call(self) -> Grown:
        name = self._token.text
        start = self._next
        if name in ("not", "boolean", "number") and self._tokens[start + 1].text == "(":
            self._next += 2
            if not self._is_sign(")"):
                argument = self._expression(1)
                self._expect(")")
                self._check_of_record(argument)
                if name == "number":
                    argument = self._as_number(argument)
                    return self._grow(x.Function("number", (argument.value,)), argument)
                argument = self._as_truth(argument)
                holds = as_condition(argument.value)
                return self._grow(x.Not(holds) if name == "not" else holds, argument)
            self._next = start
        return super()._call()

    def _combine(self, operator: str, left: Grown, right: Grown) -> Grown:
        if operator in ("and", "or"):
            return super()._combine(operator, self._as_truth(left), self._as_truth(right))
        if operator not in _COMPARISONS:
            return super()._combine(operator, self._as_number(left), self._as_number(right))
        for members, other, mirrored in ((left, right, False), (right, left, True)):
            path = members.tree
            if is_path(path) and path.operand is not None and path.function == PATH:
                return self._some_member(operator, path, path.operand, other, mirrored=mirrored)
        return super()._combine(operator, self._as_number(left), self._as_number(right))

    def _some_member(
        self, operator: str, members: x.GroupFunction, own: x.VariableReference, other: Grown, *, mirrored: bool
    ) -> Grown:
        """``Person/x = v``: some member has a variable that compares so."""
        if is_path(other.tree):
            self._refuse.unsupported("a comparison of members with members", self._token)
        self._check_own(members, "a comparison")
        relation = cast("x.ComparisonOperator", "==" if operator == "=" else operator)
        is_inside = self._levels.depth(members.level) > self._levels.depth(self._here)
        if not is_inside and x.variable_names(other.value):
            self._refuse.unsupported("a comparison of members with the record itself", self._token)
        value = x.rewritten(other.value, _of_level(self._here))
        pair = (value, own) if mirrored else (own, value)
        compared = self.meant(x.Comparison(relation, *pair))
        condition = compared if members.condition is None else x.And((members.condition, compared))
        return leaf(x.GroupFunction("any", members.level, None, condition))

    def _as_truth(self, grown: Grown) -> Grown:
        """A path to members as a condition: there is one."""
        found = grown.tree
        if not is_path(found):
            return grown
        self._check_own(found, "a condition")
        condition = found.condition
        if found.operand is not None:
            there = x.Not(x.IsMissing(found.operand))
            condition = there if condition is None else x.And((condition, there))
        if condition is None:
            some: x.Expression = x.Comparison(">", x.GroupFunction("count", found.level), x.Number(Fraction(0)))
            return leaf(some)
        return leaf(x.GroupFunction("any", found.level, None, condition))

    def _as_number(self, grown: Grown) -> Grown:
        """A path to members as a value: that of the first."""
        found = grown.tree
        if not is_path(found):
            return grown
        self._check_own(found, "a value")
        if found.operand is None:
            self._refuse.unsupported("the text of a member as a whole", self._token)
        return leaf(replace(found, function="first"))


def _of_level(level: str) -> Callable[[x.Expression], x.Expression]:
    """What writes the variables of a record of a level as records below it see them."""

    def change(node: x.Expression) -> x.Expression:
        if isinstance(node, x.VariableReference) and "." not in node.name:
            return x.VariableReference(f"{level}.{node.name}")
        return node

    return change


def is_path(tree: Parsed) -> TypeGuard[x.GroupFunction]:
    """Whether a tree is a path to members, or to a variable of theirs."""
    return isinstance(tree, x.GroupFunction) and tree.function in (PATH, FIRST)


def leaf(tree: Parsed) -> Grown:
    """A tree whose size does not count."""
    return Grown(tree, 1, 1)
