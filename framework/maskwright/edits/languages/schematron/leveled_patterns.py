"""Patterns of a Schematron schema about records inside records: each assert and report an edit of its level."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.negation import all_of
from maskwright.edits.expression import IfThen, Not, variable_names
from maskwright.edits.languages.schematron.lets import lets_of, trees
from maskwright.edits.languages.schematron.patterns import PatternReader, RuleOfPattern, TestOfRule
from maskwright.edits.languages.schematron.vocabulary import WRITTEN_FROM
from maskwright.edits.languages.xpath.nested import parse_context, parse_nested
from maskwright.edits.languages.xpath.tokens import tokens_of
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.expression import Expression
    from maskwright.edits.languages.schematron.document import Element
    from maskwright.edits.languages.schematron.lets import Let
    from maskwright.edits.languages.schematron.state import Reading
    from maskwright.edits.languages.xpath.nested_levels import NestedLevels
    from maskwright.edits.languages.xpath.parser import OriginalNodes

HINT = (
    "Rules that masking keeps are about one record of the upper level and its members; the others can be left to "
    "`maskwright validate`: give those that are to be kept a phase of their own, and name it"
)


class LeveledPatternReader(PatternReader):
    """Reads one pattern.

    `reading`: takes the edits, mistakes and notes. `number`: 1-based place of the pattern in the schema.
    """

    def __init__(
        self, reading: Reading, element: Element, number: int, outer: Mapping[str, Let], levels: NestedLevels
    ) -> None:
        super().__init__(reading, element, number, outer)
        self._levels = levels

    def read(self) -> None:
        """Read the pattern's rules, tests and messages."""
        reading = self._reading
        scope = lets_of(reading, self._element, self._outer, in_rule=False)
        before: dict[str, list[Expression | None]] = {}
        for element in reading.children(self._element):
            if element.name != "rule":
                continue
            reading.rules += 1
            context = " ".join(element.attributes.get("context", "").split())
            place = reading.place(element, context)
            try:
                found = parse_context(self._local(context), self._levels, place, reading.options)
            except EditError as error:
                reading.problems += error.problems
                continue
            if found is None:
                names = f"<{self._levels.group_element}> nor <{self._levels.member_element}>"
                reading.refuse(element, f"the context {context!r} names neither {names}", HINT)
                continue
            level, own = found
            earlier = before.setdefault(level, [])
            # Within a pattern only the first rule that matches a record fires.
            shadowed = None in earlier
            when = _together([*(Not(each) for each in earlier if each is not None), *([] if own is None else [own])])
            earlier.append(own)
            # The variables of a rule are looked at where they are used: they too may be about members.
            rule = RuleOfPattern(element, reading.rules, context, scope, shadowed, [])
            self._read_leveled(rule, level, when)

    def _read_leveled(self, rule: RuleOfPattern, level: str, when: Expression | None) -> None:
        reading = self._reading
        variables = self._variables(rule, level)
        for child in reading.children(rule.element):
            if child.name == "let":
                continue
            name, text = self._name(child), child.attributes.get("test")
            if text is None:
                reading.refuse(child, f"<{child.name}> needs a test")
                continue
            place = reading.place(child, " ".join(text.split()))
            try:
                test = parse_nested(self._local(text), level, self._levels, place, variables, reading.options)
            except EditError as error:
                reading.problems += [_with_hint(problem) for problem in error.problems]
                continue
            stated = self._stated(rule, TestOfRule(child, name, 0, None, None))
            holds = Not(test) if child.name == "report" else test
            expression = holds if when is None else IfThen(when, holds)
            try:
                parts = classify(expression, place)
            except EditError as error:
                reading.problems += error.problems
                continue
            # Level and condition say what the context said: it is not looked for among the elements of a file.
            assert stated.assertion is not None
            rule_text, its_condition = (child.qualified.get((WRITTEN_FROM, name)) for name in ("rule", "when"))
            assertion = replace(stated.assertion, rule=rule_text, when=its_condition)
            reading.edits.append(
                replace(
                    stated, expression=expression, parts=parts, variables=variable_names(expression), when=when,
                    binding="exact", level=level, context=None, assertion=assertion,
                )
            )  # fmt: skip

    def _local(self, text: str) -> str:
        """Expression in which elements of the one declared namespace that it names have no prefix.

        Variables are called by their local names; an engine sees the expression as it is written, and has the last
        word on whether the document is in that namespace.
        """
        namespaces = self._reading.namespaces
        try:
            names = [each for each in tokens_of(text, _no_tokens) if each.kind == "name" and ":" in each.text]
        except EditError:
            return text
        spaces = {namespaces.get(each.text.partition(":")[0]) for each in names}
        if len(spaces) != 1 or None in spaces:
            return text
        for token in reversed(names):
            local = token.text.partition(":")[2]
            text = text[: token.start] + local + text[token.start + len(token.text) :]
        return text

    def _variables(self, rule: RuleOfPattern, level: str) -> dict[str, Expression | OriginalNodes]:
        """What the variables of a rule stand for."""
        found = trees(rule.scope)
        for let in rule.element:
            name, value = let.attributes.get("name", "").strip(), let.attributes.get("value")
            if let.name != "let" or not name or value is None:
                continue
            place, limits = self._reading.place(let, value), self._reading.options
            try:
                found[name] = parse_nested(self._local(value), level, self._levels, place, found, limits, as_value=True)
            except EditError as error:
                self._reading.problems += [_with_hint(problem) for problem in error.problems]
        return found


def _no_tokens(reason: str) -> NoReturn:
    raise EditError(reason)


def _together(conditions: list[Expression]) -> Expression | None:
    return all_of(conditions) if conditions else None


def _with_hint(problem: Problem) -> Problem:
    return replace(problem, hint="; ".join(filter(None, (problem.hint, HINT))))
