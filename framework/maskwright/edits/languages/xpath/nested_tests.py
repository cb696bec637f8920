"""Tests and contexts on nested records: conditions on members as XPath 1 and XPath 2 write them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.xpath.conversions import chooses_by_position
from maskwright.edits.languages.xpath.kinds import NUMERIC_TYPES, XML_SCHEMA
from maskwright.edits.languages.xpath.nested import PATH, NestedParser, is_path, leaf
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.languages.schematron.options import NestedLevels
    from maskwright.edits.languages.xpath.parser import Grown, Parsed
    from maskwright.edits.languages.xpath.tokens import Token
    from maskwright.foundation.errors import Place

_OF_MEMBERS = frozenset({"sum", "min", "max"})


def parse_nested(
    text: str,
    level: str,
    levels: NestedLevels,
    place: Place | None = None,
    variables: Mapping[str, Parsed] | None = None,
    limits: SchematronOptions | None = None,
    *,
    as_value: bool = False,
    namespaces: Mapping[str, str] | None = None,
) -> x.Expression:
    """Parse a test on a record of a level into a condition of the language of levels.

    `namespaces`: of a test in XPath 2, addresses by prefix; None: it is in XPath 1.
    """
    parser = _MemberParser(text, place, variables or {}, limits or SchematronOptions(), levels, level, namespaces)
    tree = parser.parse()
    return parser.value(tree) if as_value else parser.meant(tree)


def parse_context(
    text: str,
    levels: NestedLevels,
    place: Place | None = None,
    limits: SchematronOptions | None = None,
    namespaces: Mapping[str, str] | None = None,
) -> tuple[str, x.Expression | None] | None:
    """Level of a rule's context, and the condition of its records; None: it is no record of a level."""
    match = re.fullmatch(rf"(?://?)?(?:{NCNAME}/)*(?P<name>{NCNAME})\s*(?:\[(?P<condition>.*)\])?", text, re.DOTALL)
    level = None if match is None else levels.named(match["name"])
    if match is None or level is None:
        return None
    if match["condition"] is None:
        return level, None
    parser = _MemberParser(match["condition"], place, {}, limits or SchematronOptions(), levels, level, namespaces)
    condition = parser.parse()
    if chooses_by_position(condition):
        wrong = "a record that is chosen by its number: rules are about all records of a level, or about some kind"
        raise EditError(Problem(wrong, place))
    return level, parser.meant(condition)


class _MemberParser(NestedParser):
    """Reads what XPath 2 says of members: ``some $p in Person satisfies``, ``sum(Person/xs:decimal(x))``."""

    _member: tuple[str, x.GroupFunction] | None = None

    def _binding(self, keyword: str) -> Grown:
        start = self._next
        token = self._advance()
        if keyword != "let" and token.kind == "reference":
            self._keyword("in")
            found = self._expression(1).tree
            if is_path(found) and found.function == PATH:
                return self._of_each(keyword, token, found)
        self._next = start
        return super()._binding(keyword)

    def _of_each(self, keyword: str, token: Token, members: x.GroupFunction) -> Grown:
        """What is said of each member, or computed of each."""
        if self._member is not None or self._inside or self._is_sign(","):
            self._refuse.unsupported("members of which something is said of others", token)
        self._check_own(members, "what is said of each")
        self._member = (token.text[1:].strip(), members)
        self._keyword("return" if keyword == "for" else "satisfies")
        said = self._expression(1)
        self._member = None
        if keyword == "for":
            variable = said.tree
            while isinstance(variable, x.Function) and variable.name == "number":
                (variable,) = variable.arguments
            if members.operand is not None or not isinstance(variable, x.VariableReference) or "." in variable.name:
                self._refuse.unsupported("'for' that returns something else than a variable of each member", token)
            return leaf(replace(members, operand=variable))
        condition, own = self.meant(said.tree), members.condition
        if members.operand is not None:
            # What is said of a variable is said of the members that have one.
            there = x.Not(x.IsMissing(members.operand))
            own = there if own is None else x.And((own, there))
        if keyword == "every":
            rule = condition if own is None else x.IfThen(own, condition)
            return leaf(x.GroupFunction("all", members.level, None, rule))
        return leaf(x.GroupFunction("any", members.level, None, condition if own is None else x.And((own, condition))))

    def _primary(self) -> Grown:
        token = self._token
        if self._member is not None and token.kind == "reference" and token.text[1:].strip() == self._member[0]:
            self._advance()
            operand = self._member[1].operand
            if operand is not None:
                return self._ended(leaf(operand))
            self._expect("/")
            return leaf(x.VariableReference(self._step()))
        return super()._primary()

    def _variable(self, token: Token, name: str | None) -> Grown:
        found = super()._variable(token, name)
        if self._member is None:
            return found
        # Beside `$p/age`, a name alone is of the record that the rule is about.
        assert isinstance(found.tree, x.VariableReference)
        return leaf(x.VariableReference(f"{self._here}.{found.tree.name}"))

    def _step(self) -> str:
        """A step, or the cast of one: ``Person/xs:decimal(x)``."""
        prefix, _, name = self._token.text.rpartition(":")
        is_cast = self._namespaces.get(prefix) == XML_SCHEMA and name in NUMERIC_TYPES
        is_call = self._tokens[self._next + 1 : self._next + 2] and self._tokens[self._next + 1].text == "("
        if not (self._later and is_call and (is_cast or self._token.text == "number")):
            return super()._step()
        self._next += 2
        found = super()._step()
        self._expect(")")
        return found

    def _aggregate(self) -> Grown:
        if not self._later:
            return super()._aggregate()
        token = self._advance()
        self._advance()
        found = self._sequence()
        self._expect(")")
        return self._of_function(token.text, found, token)

    def _of_function(self, name: str, argument: Grown, token: Token) -> Grown:
        found = argument.tree
        if not is_path(found):
            return super()._of_function(name, argument, token)
        self._check_own(found, f"{name}()")
        is_every = found.function == PATH
        match name:
            case "count" if is_every and found.operand is None:
                return leaf(replace(found, function=name))
            case _ if is_every and found.operand is not None and name in _OF_MEMBERS:
                return leaf(replace(found, function=name))
            case "exists":
                return self._as_truth(argument)
            case "empty":
                return leaf(x.Not(self._as_truth(argument).value))
        return self._unread(f"{name}() of members", token)
