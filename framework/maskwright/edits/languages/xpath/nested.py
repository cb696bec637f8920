"""Tests and contexts on nested records, parsed into what the language of levels says."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeGuard, cast

from maskwright.edits import expression as x
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.xpath.conversions import as_condition
from maskwright.edits.languages.xpath.parser import Grown, XPathParser
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.languages.schematron.options import NestedLevels
    from maskwright.edits.languages.xpath.parser import OriginalNodes
    from maskwright.edits.languages.xpath.tokens import Token
    from maskwright.foundation.errors import Place


def chooses_by_position(tree: x.Expression | OriginalNodes) -> bool:
    """Whether a predicate would choose by position."""
    match tree:
        case x.Number() | x.Arithmetic() | x.Negative() | x.GroupFunction("sum" | "count"):
            return True
        case x.Function(name):
            return name in ("number", "floor", "ceiling", "round")
        case _:
            return False


def without_conversions(condition: x.Expression) -> x.Expression:
    """Condition without XPath's conversions: in the language of levels a variable is a number or a text by itself."""

    def change(node: x.Expression) -> x.Expression:  # noqa: PLR0911 - one for each kind of node
        match node:
            case x.Function("number" | "string", (x.VariableReference() | x.GroupFunction() as inner,)):
                return inner
            case x.Function("number", (x.Number() as inner,)):
                return inner
            case x.Negative(x.Number(value)):
                return x.Number(-value)
            case x.Not(x.Not(inner)):
                return inner
            case x.Not(x.GroupFunction("any", level, None, x.Comparison(operator) as condition)):
                return x.GroupFunction("all", level, None, replace(condition, operator=x.NEGATED[operator]))
            case x.Not(x.GroupFunction("any", level, None, condition)):
                return x.GroupFunction("no", level, None, condition)
            case _:
                return node

    return x.rewritten(condition, change)


_CURRENT = "current()."
_BEFORE = "before."
"""In a predicate on members: a variable of those before."""
_NEIGHBOURS = {"preceding-sibling": "previous", "following-sibling": "following"}
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})


_PATH, _FIRST = "members", "first member"
"""Paths to members, or to a variable of theirs, while a text is parsed: what they mean depends on where they stand."""


def parse_nested(
    text: str,
    level: str,
    levels: NestedLevels,
    place: Place | None = None,
    variables: Mapping[str, x.Expression | OriginalNodes] | None = None,
    limits: SchematronOptions | None = None,
    *,
    as_value: bool = False,
) -> x.Expression:
    """Parse a test on a record of a level into a condition of the language of levels."""
    parser = _NestedParser(text, place, variables or {}, limits or SchematronOptions(), levels, level)
    return without_conversions(parser.value()) if as_value else without_conversions(as_condition(parser.condition()))


def parse_context(
    text: str, levels: NestedLevels, place: Place | None = None, limits: SchematronOptions | None = None
) -> tuple[str, x.Expression | None] | None:
    """Level of a rule's context, and the condition of its records; None: it is no record of a level."""
    match = re.fullmatch(rf"(?://?)?(?:{NCNAME}/)*(?P<name>{NCNAME})\s*(?:\[(?P<condition>.*)\])?", text, re.DOTALL)
    level = None if match is None else levels.named(match["name"])
    if match is None or level is None:
        return None
    if match["condition"] is None:
        return level, None
    parser = _NestedParser(match["condition"], place, {}, limits or SchematronOptions(), levels, level)
    condition = parser.parse()
    if chooses_by_position(condition):
        wrong = "a record that is chosen by its number: rules are about all records of a level, or about some kind"
        raise EditError(Problem(wrong, place))
    return level, without_conversions(as_condition(parser.truth(condition)))


class _NestedParser(XPathParser):
    def __init__(
        self,
        text: str,
        place: Place | None,
        variables: Mapping[str, x.Expression | OriginalNodes],
        limits: SchematronOptions,
        levels: NestedLevels,
        level: str,
    ) -> None:
        super().__init__(text, place, variables, limits)
        self._levels, self._here, self._rule_level = levels, level, level
        self._inside = 0

    def condition(self) -> x.Expression:
        """The whole text as a condition."""
        return self.truth(self.parse())

    def truth(self, tree: x.Expression | OriginalNodes) -> x.Expression:
        """What was read, as a condition."""
        return self._as_truth(Grown(tree, 1, 1)).value

    def value(self) -> x.Expression:
        """The whole text as a value."""
        return self._as_number(Grown(self.parse(), 1, 1)).value

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
        if token.kind == "name" and token.text == self._levels.member_element and self._here == self._levels.group:
            return self._path_of_members()
        return super()._primary()

    def _upwards(self) -> Grown:
        token = self._advance()
        if self._here != self._levels.member:
            self._refuse.unsupported("what is around a record of the upper level", token)
        self._expect("/")
        if self._token.kind == "name" and self._token.text == self._levels.member_element:
            return self._path_of_members()
        return _leaf(x.VariableReference(f"{self._levels.group}.{self._step()}"))

    def _step(self) -> str:
        token = self._advance()
        if token.kind != "name" or ":" in token.text or self._is_sign("("):
            self._refuse.unsupported("a step that names no element of a record", token)
        self._refuse.path(self._token)
        return token.text

    def _neighbour(self) -> Grown:
        token = self._advance()
        self._expect("::")
        element = self._advance()
        if self._here != self._levels.member or element.text != self._levels.member_element:
            self._refuse.unsupported(f"the axis {token.text}::", token)
        if self._inside and token.text == "preceding-sibling" and self._is_sign("/"):
            self._advance()
            return _leaf(x.VariableReference(f"{_BEFORE}{self._step()}"))
        self._expect("[")
        if self._advance().text != "1":
            self._refuse.unsupported("a neighbour other than the next", token)
        self._expect("]")
        self._expect("/")
        return _leaf(x.VariableReference(f"{_NEIGHBOURS[token.text]}.{self._step()}"))

    def _current(self) -> Grown:
        token = self._advance()
        self._expect("(")
        self._expect(")")
        self._expect("/")
        if self._is_sign(".."):
            self._advance()
            self._expect("/")
            if self._rule_level != self._levels.member:
                self._refuse.unsupported("what is around a record of the upper level", token)
            return _leaf(x.VariableReference(f"{self._levels.group}.{self._step()}"))
        name = self._step()
        if not self._inside:
            return _leaf(x.VariableReference(name))
        if self._rule_level == self._levels.group:
            return _leaf(x.VariableReference(f"{self._levels.group}.{name}"))
        return _leaf(x.VariableReference(f"{_CURRENT}{name}"))

    def _aggregate(self) -> Grown:
        token = self._advance()
        self._advance()
        found = self._expression(1).tree
        self._expect(")")
        if not _is_path(found) or found.function == _FIRST or (token.text == "sum") != (found.operand is not None):
            what = f"{token.text}() of something else than members, and of their variables where it sums"
            self._refuse.unsupported(what, token)
        self._check_own(found, token.text)
        return _leaf(replace(found, function=token.text))

    def _path_of_members(self) -> Grown:
        """``Person[p]/x``: members of the group of the record, or of the record itself."""
        token = self._advance()
        conditions: list[x.Expression] = []
        first = False
        while self._is_sign("["):
            self._advance()
            if self._token.text == "1" and self._tokens[self._next + 1].text == "]":
                self._advance()
                first = True
            elif first:
                self._refuse.unsupported("a condition of the first member", token)
            else:
                conditions.append(self._predicate())
            self._expect("]")
        operand = None
        if self._is_sign("/"):
            self._advance()
            operand = self._step()
        self._refuse.path(self._token)
        if any(name.startswith(_BEFORE) for each in conditions for name in x.variable_names(each)):
            return self._differ(token, conditions, operand)
        pointer = self._pointer(conditions)
        if pointer is not None:
            if operand is None:
                return _leaf(x.Not(x.IsMissing(x.VariableReference(f"{pointer}.{self._levels.key}"))))
            return _leaf(x.VariableReference(f"{pointer}.{operand}"))
        condition = None if not conditions else conditions[0] if len(conditions) == 1 else x.And(tuple(conditions))
        variable = None if operand is None else x.VariableReference(operand)
        return _leaf(x.GroupFunction(_FIRST if first else _PATH, self._levels.member, variable, condition))

    def _predicate(self) -> x.Expression:
        outer, self._here = self._here, self._levels.member
        self._inside += 1
        found = self._expression(1)
        if chooses_by_position(found.tree):
            self._refuse.unsupported("a member that is chosen by its number", self._token)
        grown = self._as_truth(found)
        self._inside -= 1
        self._here = outer
        return without_conversions(as_condition(grown.value))

    def _differ(self, token: Token, conditions: list[x.Expression], operand: str | None) -> Grown:
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
        return _leaf(x.Not(x.GroupFunction("unique", self._levels.member, x.VariableReference(one))))

    def _pointer(self, conditions: list[x.Expression]) -> str | None:
        """Pointer that ``[pno = current()/mother]`` follows."""
        if len(conditions) != 1:
            return None
        match conditions[0]:
            case x.Comparison("==", x.VariableReference(one), x.VariableReference(other)):
                for key, pointer in ((one, other), (other, one)):
                    name = pointer.removeprefix(_CURRENT)
                    if key == self._levels.key and name != pointer and name in self._levels.pointers:
                        return name
        return None

    def _check_own(self, found: x.GroupFunction, use: str) -> None:
        """Refuse members that are compared with the one that the rule is about: no rule on levels says that."""
        names = () if found.condition is None else x.variable_names(found.condition)
        if any(name.startswith(_CURRENT) for name in names):
            hint = f"understood is {self._levels.member_element}[{self._levels.key} = current()/NAME], NAME a pointer"
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
            if _is_path(path) and path.operand is not None and path.function == _PATH:
                return self._some_member(operator, path, path.operand, other, mirrored=mirrored)
        return super()._combine(operator, self._as_number(left), self._as_number(right))

    def _some_member(
        self, operator: str, members: x.GroupFunction, own: x.VariableReference, other: Grown, *, mirrored: bool
    ) -> Grown:
        """``Person/x = v``: some member has a variable that compares so."""
        if _is_path(other.tree):
            self._refuse.unsupported("a comparison of members with members", self._token)
        self._check_own(members, "a comparison")
        relation = cast("x.ComparisonOperator", "==" if operator == "=" else operator)
        if self._here != self._levels.group and x.variable_names(other.value):
            self._refuse.unsupported("a comparison of members with the record itself", self._token)
        value = x.rewritten(other.value, self._of_group)
        pair = (value, own) if mirrored else (own, value)
        compared = without_conversions(as_condition(x.Comparison(relation, *pair)))
        condition = compared if members.condition is None else x.And((members.condition, compared))
        return _leaf(x.GroupFunction("any", self._levels.member, None, condition))

    def _of_group(self, node: x.Expression) -> x.Expression:
        if isinstance(node, x.VariableReference) and "." not in node.name:
            return x.VariableReference(f"{self._levels.group}.{node.name}")
        return node

    def _as_truth(self, grown: Grown) -> Grown:
        """A path to members as a condition: there is one."""
        found = grown.tree
        if not _is_path(found):
            return grown
        self._check_own(found, "a condition")
        condition = found.condition
        if found.operand is not None:
            there = x.Not(x.IsMissing(found.operand))
            condition = there if condition is None else x.And((condition, there))
        if condition is None:
            some: x.Expression = x.Comparison(">", x.GroupFunction("count", self._levels.member), x.Number(Fraction(0)))
            return _leaf(some)
        return _leaf(x.GroupFunction("any", self._levels.member, None, condition))

    def _as_number(self, grown: Grown) -> Grown:
        """A path to members as a value: that of the first."""
        found = grown.tree
        if not _is_path(found):
            return grown
        self._check_own(found, "a value")
        if found.operand is None:
            self._refuse.unsupported("the text of a member as a whole", self._token)
        return _leaf(replace(found, function="first"))


def _is_path(tree: x.Expression | OriginalNodes) -> TypeGuard[x.GroupFunction]:
    return isinstance(tree, x.GroupFunction) and tree.function in (_PATH, _FIRST)


def _leaf(tree: x.Expression) -> Grown:
    return Grown(tree, 1, 1)
