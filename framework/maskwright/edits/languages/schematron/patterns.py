"""Patterns of a Schematron schema: rules in order, each assert and report an edit of the model or of an engine."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.edits.algebra.classify import classify
from maskwright.edits.edit import Edit, Severity
from maskwright.edits.element_names import Assertion, StatedNames
from maskwright.edits.engines.engine_tests import ENGINE_OF, EnginePattern, EngineRule, EngineTest, Screening, screen
from maskwright.edits.expression import EngineCondition, Not, variable_names
from maskwright.edits.languages.schematron.expressions import (
    Let,
    Scope,
    lets_of,
    message_of,
    understood_test,
    with_lets,
)
from maskwright.edits.languages.schematron.state import Undecided, refusal
from maskwright.edits.languages.xpath.conversions import as_condition
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.languages.schematron.document import Element
    from maskwright.edits.languages.schematron.state import Reading
    from maskwright.edits.languages.xpath.xpath2 import XPath2Test
    from maskwright.foundation.errors import Place

_NAME = rf"(?:{NCNAME}:)?{NCNAME}"
_CONTEXT = re.compile(rf"(?://)?(?P<name>{_NAME})|(?P<path>/{_NAME}/{_NAME})")
_WARNINGS = frozenset({"warning", "warn", "info", "information", "informational"})
_ERRORS = frozenset({"error", "fatal"})
_SEVERITIES = ("role", "flag", "severity")


@dataclass
class TestOfRule:
    """An assert or report on its way to becoming an edit.

    `understood`: the test, where it is in the subset. `problem`: why an engine has to give its verdict, if one has to.
    """

    element: Element
    name: str
    rule: int
    understood: XPath2Test | None
    problem: Problem | None
    place: int = 0

    @property
    def is_report(self) -> bool:
        """Whether it complains where the test holds."""
        return self.element.name == "report"


@dataclass
class RuleOfPattern:
    """A rule of a pattern while it is read."""

    element: Element
    number: int
    context: str
    scope: Scope
    shadowed: bool
    tests: list[TestOfRule]


class PatternReader:
    """Reads one pattern.

    `reading`: takes the edits, mistakes and notes. `number`: 1-based place of the pattern in the schema.
    """

    def __init__(self, reading: Reading, element: Element, number: int, outer: Mapping[str, Let]) -> None:
        self._reading = reading
        self._element = element
        self._number = number
        self._outer = outer
        self._unnamed = 0
        self._position = len(reading.edits)

    @property
    def id(self) -> str | None:
        """The pattern's id, or its name."""
        return self._element.attributes.get("id") or self._element.attributes.get("name")

    def read(self) -> None:
        """Read the pattern's rules, tests and messages."""
        reading = self._reading
        if self._element.attributes.get("documents") is not None:
            reading.refuse(self._element, "<pattern documents=...> is not read", "rules are checked on the data file")
            return
        scope = lets_of(reading, self._element, self._outer, in_rule=False)
        elements = [child for child in reading.children(self._element) if child.name == "rule"]
        contexts = [" ".join(element.attributes.get("context", "").split()) for element in elements]
        is_plain = self._are_plain(contexts)
        rules: list[RuleOfPattern] = []
        seen: dict[str, int] = {}
        for element, written in zip(elements, contexts, strict=True):
            reading.rules += 1
            if not written:
                reading.refuse(element, "<rule> needs a context", "the record's element name, for instance")
                continue
            match = _CONTEXT.fullmatch(written)
            context = written if match is None else reading.naming.with_one_prefix(match["name"] or match["path"])
            for prefix in re.findall(rf"({NCNAME}):(?!:)", context) if match is not None else ():
                if prefix not in reading.namespaces:
                    reading.refuse(element, f"no <ns> declares the prefix {prefix!r} of the context {written!r}")
            if context in seen:
                message = (
                    f"this rule never fires: the rule at line {seen[context]} of its pattern matches the same records"
                )
                reading.note(element, message)
            own = lets_of(reading, element, scope, in_rule=True)
            rule = RuleOfPattern(element, reading.rules, context, own, is_plain and context in seen, [])
            seen.setdefault(context, element.line)
            rules.append(rule)
            self._read_tests(rule, len(rules) - 1, is_plain=is_plain)
        left = [test for rule in rules for test in rule.tests if test.problem is not None]
        pattern = self._engine_pattern(rules) if left else None
        for rule in rules:
            for test in rule.tests:
                self._add(rule, test, pattern)

    def _are_plain(self, contexts: Sequence[str]) -> bool:
        """Whether the contexts alone determine which rule a record fires."""
        naming, matches = self._reading.naming, [_CONTEXT.fullmatch(context) for context in contexts]
        plain = [naming.with_one_prefix(match["name"] or match["path"]) for match in matches if match is not None]
        return len(plain) == len(contexts) and not any(
            one != other and one.rpartition("/")[2] == other.rpartition("/")[2] and not (one[0] == other[0] == "/")
            for one in plain
            for other in plain
        )

    def _read_tests(self, rule: RuleOfPattern, number: int, *, is_plain: bool) -> None:
        reading = self._reading
        for child in reading.children(rule.element):
            if child.name == "let":
                continue
            name = self._name(child)
            text = child.attributes.get("test")
            if text is None:
                reading.refuse(child, f"<{child.name}> needs a test")
                continue
            understood, problem = understood_test(reading, child, text, rule.scope)
            if not is_plain and understood is not None:
                understood = None
                message = f"which rule of the pattern fires on a record cannot be derived from {rule.context!r} alone"
                problem = Problem(message, reading.place(child, " ".join(text.split())))
            rule.tests.append(TestOfRule(child, name, number, understood, problem))
        if rule.element.attributes.keys() & set(_SEVERITIES):
            reading.note(rule.element, "role, flag and severity count on an assert, not on its rule")

    def _name(self, element: Element) -> str:
        """Name of the next edit, unique in the file."""
        reading = self._reading
        own = element.attributes.get("id")
        self._position += 1
        if own is not None:
            taken = reading.given
            if own in taken and not element.is_copy:
                reading.refuse(element, f"the id {own!r} is used twice")
            name, number = own, 1
            while name in taken:
                number += 1
                name = f"{own}.{number}"
        else:
            stem = self.id or f"edit-{self._position}"
            number = 1
            if self.id is not None:
                self._unnamed += 1
                number = self._unnamed
            name = stem if number == 1 else f"{stem}.{number}"
            while name in reading.names:
                number += 1
                name = f"{stem}.{number}"
        reading.names.add(name)
        reading.given.add(name)
        return name

    def _engine_pattern(self, rules: Sequence[RuleOfPattern]) -> EnginePattern:
        """Pattern of the tests that are left to an engine; every rule is in it, for their order counts."""
        reading = self._reading
        contexts = [self._screened(rule.context) for rule in rules]
        lets: dict[str, str] = {}
        stays = True
        made = []
        for rule in rules:
            left = [test for test in rule.tests if test.problem is not None]
            # An absolute path as context says where the records are, and is met by the records' own path.
            stays = stays and self._screened(rule.context.lstrip("/")).stays_in_record
            own: dict[str, str] = {}
            for place, test in enumerate(left):
                test.place = place
                screened = [self._screened(test.element.attributes["test"])]
                needed = self._needed(screened[0], rule.scope)
                screened += [self._screened(let.value) for let in needed.values()]
                stays = stays and all(each.stays_in_record for each in screened)
                for name, let in needed.items():
                    if let.in_rule:
                        own[name] = let.value
                    else:
                        stays = stays and self._screened(let.value).is_constant
                        lets.setdefault(name, let.value)
            tests = tuple(test.element.attributes["test"] for test in left)
            reports = tuple(test.is_report for test in left)
            ordered = tuple((name, own[name]) for name in rule.scope if name in own)
            made.append(EngineRule(rule.context, ordered, tests, reports))
        names = tuple(dict.fromkeys(name for each in contexts for name in each.names))
        spaces = tuple(reading.namespaces.items())
        return EnginePattern(reading.version, spaces, tuple(lets.items()), tuple(made), stays, names)

    def _screened(self, text: str) -> Screening:
        reading = self._reading
        return screen(text, reading.version, reading.namespaces, reading.options)

    def _needed(self, screened: Screening, scope: Scope) -> dict[str, Let]:
        """Variables that an expression rests on, also through others."""
        found: dict[str, Let] = {}
        waiting = list(screened.references)
        while waiting:
            name = waiting.pop()
            if name in scope and name not in found:
                found[name] = scope[name]
                waiting += self._screened(scope[name].value).references
        return found

    def _reason(self, test: TestOfRule, rule: RuleOfPattern) -> str | None:
        """Why no engine gets a test."""
        screened = self._screened(test.element.attributes["test"])
        needed = self._needed(screened, rule.scope)
        references = [screened.references, *(self._screened(let.value).references for let in needed.values())]
        for name in dict.fromkeys(name for each in references for name in each):
            if name not in rule.scope and not self._is_bound(test.element.attributes["test"], name):
                return unknown_name("let variable", name, rule.scope)
            if name in self._outer and rule.scope.get(name) is not self._outer[name] and name in needed:
                return f"the variable {name!r} hides another one of that name"
        if re.search(r"(?:text|node)\s*\(", rule.context) is not None:
            return "a rule is about elements, not about their texts"
        reasons = (each.reason for each in (screened, *(self._screened(let.value) for let in needed.values())))
        return next(filter(None, reasons), None) or self._screened(rule.context).reason

    @staticmethod
    def _is_bound(text: str, name: str) -> bool:
        """Whether the expression itself gives the variable its values, as ``for $x in`` does."""
        binding = rf"(?:for|let|some|every|,|\()\s*\$\s*{re.escape(name)}\s*(?:in\b|:=|as\b|[,)])"
        return re.search(binding, text) is not None

    def _add(self, rule: RuleOfPattern, test: TestOfRule, pattern: EnginePattern | None) -> None:
        """Take up the edit of a test, or the reason why there is none."""
        stated = self._stated(rule, test)
        if test.problem is None:
            assert test.understood is not None
            self._take_up(self._as_understood(stated, test, test.understood))
        else:
            assert pattern is not None
            self._add_for_engine(stated, rule, test, pattern, test.problem)

    def _stated(self, rule: RuleOfPattern, test: TestOfRule) -> Edit:
        """Edit as the file states it, before it is parsed."""
        reading = self._reading
        element = test.element
        attributes = element.attributes
        text = " ".join(attributes["test"].split())
        place = reading.place(element, text)
        message, problems, notes = self._message(element, rule, place)
        reading.problems += problems
        reading.notes += notes
        return Edit(
            name=test.name,
            expression=EngineCondition(text),
            parts=(),
            variables=(),
            text=f"not({text})" if test.is_report else text,
            binding="xpath1",
            message=message,
            severity=severity_of(element),
            place=place,
            context=rule.context,
            stated=self._names(rule.context, ()),
            shadowed=rule.shadowed,
            assertion=Assertion(
                test=text,
                context=rule.context,
                report=test.is_report,
                pattern=self.id,
                pattern_number=self._number,
                rule_number=rule.number,
                id=attributes.get("id"),
                role=attributes.get("role"),
                flag=attributes.get("flag"),
                diagnostics=self._referred(element, "diagnostics", rule),
                properties=self._referred(element, "properties", rule),
            ),
        )

    def _as_understood(self, stated: Edit, test: TestOfRule, understood: XPath2Test) -> Edit | list[Problem]:
        """Edit whose test is in the understood subset."""
        expression = Not(understood.tree) if test.is_report else understood.tree
        try:
            parts = classify(as_condition(expression), stated.place)
        except EditError as error:
            return list(error.problems)
        names = variable_names(expression)
        return replace(
            stated, expression=expression, parts=parts, variables=names, binding=understood.binding,
            stated=self._names(stated.context or "", names),
        )  # fmt: skip

    def _names(self, context: str, variables: Sequence[str]) -> StatedNames | None:
        """Elements that an edit names; None where an engine decides what the context is about."""
        match = _CONTEXT.fullmatch(context)
        naming = self._reading.naming
        if match is None:
            return None
        steps = tuple(naming.expanded(step) for step in context.split("/") if step)
        known = tuple((name, naming.names.get(name, name)) for name in variables)
        # A prefix that nothing declares was refused.
        return StatedNames(tuple(step or "" for step in steps), known)

    def _take_up(self, found: Edit | list[Problem]) -> None:
        if isinstance(found, Edit):
            self._reading.edits.append(found)
        else:
            self._reading.problems += found

    def _add_for_engine(
        self, stated: Edit, rule: RuleOfPattern, test: TestOfRule, pattern: EnginePattern, problem: Problem
    ) -> None:
        """Take up an edit that an engine is to check; whether the engine takes it is checked at the end of the file."""
        reading = self._reading
        reason = self._reason(test, rule)
        if reason is not None:
            reading.problems.append(refusal(problem, reason))
            return
        engine_rule = pattern.rules[test.rule]
        single = replace(engine_rule, tests=(engine_rule.tests[test.place],), reports=(test.is_report,))
        engine = EngineTest(pattern, test.rule, test.place, self._names_in(test, rule))
        reading.undecided.append(Undecided(replace(pattern, rules=(single,)), problem))
        edit = replace(stated, checked_by=ENGINE_OF[pattern.version], engine=engine)
        if test.understood is not None:
            kept = self._as_understood(stated, test, test.understood)
            edit = replace(kept, validated_by=engine) if isinstance(kept, Edit) else edit
        reading.edits.append(edit)

    def _names_in(self, test: TestOfRule, rule: RuleOfPattern) -> tuple[str, ...]:
        """Elements that a test and the variables it rests on mention."""
        screened = self._screened(test.element.attributes["test"])
        lets = [self._screened(let.value) for let in self._needed(screened, rule.scope).values()]
        return tuple(dict.fromkeys(name for each in (screened, *lets) for name in each.names))

    def _message(self, element: Element, rule: RuleOfPattern, place: Place) -> tuple[str, list[Problem], list[str]]:
        naming = self._reading.naming
        return message_of(element, rule.context, place, lambda part: with_lets(part, rule.scope), naming)

    def _referred(self, element: Element, kind: str, rule: RuleOfPattern) -> tuple[tuple[str, str], ...]:
        """Diagnostics or properties that an assert names, with their texts."""
        known = self._reading.references.get(kind, {})
        found = []
        for name in element.attributes.get(kind, "").split():
            if name not in known:
                single = "diagnostic" if kind == "diagnostics" else "property"
                self._reading.refuse(element, unknown_name(single, name, known))
                continue
            place = self._reading.place(known[name])
            text, problems, notes = self._message(known[name], rule, place)
            self._reading.problems += problems
            self._reading.notes += [note for note in notes if note not in self._reading.notes]
            found.append((name, text))
        return tuple(found)


def severity_of(element: Element) -> Severity:
    """Severity that an assert or report states by its role, else its flag, else its severity."""
    for name in _SEVERITIES:
        for word in element.attributes.get(name, "").lower().split():
            if word in _WARNINGS:
                return "warning"
            if word in _ERRORS:
                return "error"
    return "error"
