"""A Schematron schema read for whole documents: written out, checked, its tests named and numbered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maskwright.edits.engines.engine_tests import XSL
from maskwright.edits.languages.schematron.document import Element, read_document
from maskwright.edits.languages.schematron.expansion import ALL, ANY, DEFAULT, expand_included
from maskwright.edits.languages.schematron.expressions import LATER_BINDINGS, XPATH_1_BINDINGS
from maskwright.edits.languages.schematron.inclusion import PATTERNS, with_included
from maskwright.edits.languages.schematron.patterns import severity_of
from maskwright.edits.languages.schematron.reader import ASCC_NAMESPACE, ISO_NAMESPACE
from maskwright.edits.whole_documents.expressions import problem, reason_to_refuse, walk
from maskwright.edits.whole_documents.messages import is_computed
from maskwright.edits.whole_documents.schema_grammar import mistakes_of
from maskwright.edits.whole_documents.schema_model import Expression, Let, Pattern, Rule, Schema, Test
from maskwright.foundation.errors import EditError
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from maskwright.edits.engines.engine_tests import Version
    from maskwright.edits.whole_documents.document import DocumentOptions
    from maskwright.foundation.errors import Problem

EXTENDED_BINDINGS = frozenset({"exslt"})
_XSL_EXPRESSIONS = frozenset(
    {"select", "match", "use", "test", "group-by", "group-adjacent", "initial-value", "count", "from", "value"}
)
_MESSAGE_EXPRESSIONS = {"value-of": "select", "name": "path"}


def read_schema(path: Path, options: DocumentOptions) -> Schema:
    """Read a schema for checking whole documents."""
    root = read_document(path, options)
    version = _version(root, options)
    whole = with_included(root, options)
    problems = mistakes_of(whole, version)
    if problems:
        raise EditError(problems)
    phase = _phase(whole, options)
    start = next((_text(each, "from") for each in whole.named("phase") if _text(each, "id") == phase), "") or "/"
    if phase == ANY:
        schema, _ = expand_included(whole, options.model_copy(update={"phase": ALL}))
        return _Builder(schema, whole, version, options).choices(whole.named("phase"))
    schema, notes = expand_included(whole, options.model_copy(update={"phase": phase}))
    return _Builder(schema, whole, version, options).schema(phase, start, notes)


def _version(root: Element, options: DocumentOptions) -> Version:
    if root.name != "schema" or root.namespace not in (ISO_NAMESPACE, ASCC_NAMESPACE):
        where = f"in the namespace {root.namespace}" if root.namespace else "in no namespace"
        hint = f'the first element must be <schema xmlns="{ISO_NAMESPACE}">'
        raise EditError(problem(root, f"expected a Schematron schema, found <{root.name}> {where}", hint))
    binding = (options.query_binding or root.attributes.get("queryBinding", "xslt")).strip().lower()
    if binding in XPATH_1_BINDINGS | EXTENDED_BINDINGS:
        return "1.0"
    if binding in LATER_BINDINGS:
        return "3.0"
    known = ", ".join(sorted(XPATH_1_BINDINGS | EXTENDED_BINDINGS | LATER_BINDINGS))
    raise EditError(problem(root, f"no engine here evaluates the queryBinding {binding!r}", f"understood are: {known}"))


def _phase(whole: Element, options: DocumentOptions) -> str:
    default = whole.attributes.get("defaultPhase", ALL).strip()
    phase = options.phase if options.phase not in (None, DEFAULT) else default
    phase = ALL if phase == DEFAULT else str(phase)
    known = [_text(each, "id") for each in whole.named("phase")]
    if phase not in (ALL, ANY, *known):
        raise EditError(problem(whole, unknown_name("phase", phase, [ALL, ANY, *known])))
    return phase


class _Builder:
    def __init__(self, schema: Element, whole: Element, version: Version, options: DocumentOptions) -> None:
        self._element = schema
        self._version: Version = version
        self._options = options
        self._problems: list[Problem] = []
        self._expressions: list[Expression] = []
        self._namespaces = {_text(each, "prefix"): _text(each, "uri") for each in schema.named("ns")}
        self._instructions = tuple(child for child in schema if child.namespace == XSL)
        self._functions = {
            (child.prefixes.get(prefix, ""), local)
            for child in self._instructions
            if child.name == "function"
            for prefix, _, local in (child.attributes.get("name", "").rpartition(":"),)
        }
        self._references = {
            (kind, _text(each, "id")): each
            for kind, single in (("diagnostics", "diagnostic"), ("properties", "property"))
            for holder in schema.named(kind)
            for each in holder.named(single)
        }
        own = [each.attributes["id"] for each in walk(whole) if "id" in each.attributes]
        self._names: set[str] = set(own)
        self._given: set[str] = set()
        self._rules = self._tests = 0

    def schema(self, phase: str, start: str, notes: list[str]) -> Schema:
        """Schema of the written-out element."""
        schema = self._element
        lets = self._lets(schema, {})
        names = tuple(let.name for let in lets)
        if start != "/":
            self._take(schema, "from", "select", start, names)
        for each in self._instructions:
            self._instruction_expressions(each, names)
        patterns = tuple(
            self._pattern(child, lets)
            for child in schema
            if child.name in PATTERNS and child.namespace == schema.namespace
        )
        if self._problems:
            raise EditError(self._problems)
        return Schema(
            schema, self._version, phase, start, self._namespaces, lets, self._instructions, patterns,
            tuple(self._expressions), tuple(notes),
        )  # fmt: skip

    def choices(self, phases: Iterable[Element]) -> Schema:
        """Schema that says when each of its phases is active."""
        schema = self._element
        lets = self._lets(schema, {})
        names = tuple(let.name for let in lets)
        for each in self._instructions:
            self._instruction_expressions(each, names)
        found = [
            (_text(phase, "id"), self._take(phase, "when", "when", phase.attributes["when"], names))
            for phase in phases
            if "when" in phase.attributes
        ]
        if self._problems:
            raise EditError(self._problems)
        return Schema(
            schema, self._version, ANY, "/", self._namespaces, lets, self._instructions, (), tuple(self._expressions),
            (), tuple((phase, expression) for phase, expression in found if expression is not None),
        )  # fmt: skip

    def _documents(self, element: Element, names: tuple[str, ...]) -> Expression | None:
        """Other documents that a pattern is about."""
        if "documents" not in element.attributes:
            return None
        if self._options.document_folder is None:
            hint = "name the folder that they may be in: --option document_folder=FOLDER (document_folder= in Python)"
            message = "documents=... names other documents, which are not read unless a folder is declared for them"
            self._problems.append(problem(element, message, hint))
        if element.named("let"):
            hint = "move it into the rules that use it"
            self._problems.append(problem(element, f"<let> in a <{element.name}> of other documents is not read", hint))
        if self._version == "1.0" and any("$" in rule.attributes.get("context", "") for rule in element.named("rule")):
            message = "a variable in a context that is about other documents needs a queryBinding of xslt2 or later"
            self._problems.append(problem(element, message))
        return self._take(element, "documents", "select", element.attributes["documents"], names)

    def _lets(self, element: Element, outer: Mapping[str, str]) -> tuple[Let, ...]:
        """Variables of an element, in an order in which each is known to those that use it."""
        found: dict[str, Let] = {}
        elements = element.named("let")
        in_rule = element.name == "rule"
        names = {_text(let, "name") for let in elements}
        for let in elements:
            name = _text(let, "name")
            if name in found:
                self._problems.append(problem(let, f"the variable {name!r} is defined twice in one <{element.name}>"))
            elif name in outer and not in_rule:
                self._problems.append(problem(let, f"the variable {name!r} is defined by the {outer[name]} already"))
            # Variables of a rule are computed one after the other; the others may be used before they stand.
            visible = {*outer, *found} if in_rule else {*outer, *names} - {name}
            if "value" in let.attributes:
                self._take(let, "value", "select", let.attributes["value"], tuple(visible))
            else:
                for each in let:
                    self._instruction_expressions(each, tuple(visible))
            found[name] = Let(name, let)
        return tuple(found.values())

    def _pattern(self, element: Element, outer: Collection[Let]) -> Pattern:
        around = dict.fromkeys((let.name for let in outer), "schema or its phase")
        lets = self._lets(element, around)
        documents = self._documents(element, tuple(around))
        before = len(self._expressions)
        scope = {**around, **dict.fromkeys((let.name for let in lets), element.name)}
        unnamed = 0
        rules = []
        for rule in element.named("rule"):
            if rule.is_abstract:
                continue
            context = rule.attributes["context"]
            self._take(rule, "context", "match", context, tuple(scope))
            own = self._lets(rule, scope)
            names = (*scope, *(let.name for let in own))
            for attribute in ("visit-each", "subject"):
                if attribute in rule.attributes:
                    self._take(rule, attribute, "select", rule.attributes[attribute], names)
            tests = []
            for child in rule:
                if child.namespace != rule.namespace or child.name not in ("assert", "report"):
                    continue
                unnamed += "id" not in child.attributes
                tests.append(self._test(child, element, unnamed, names))
            rules.append(Rule(self._rules, rule, context, own, tuple(tests)))
            self._rules += 1
        if documents is not None and self._version == "1.0":
            # libxslt keeps keys of the main document alone.
            reason = "key() in a pattern of other documents needs a queryBinding of xslt2 or later"
            asking = [each for each in self._expressions[before:] if re.search(r"\bkey\s*\(", each.text)]
            self._problems += [each.problem(reason) for each in asking]
        return Pattern(element, lets, tuple(rules), documents)

    def _test(self, element: Element, pattern: Element, unnamed: int, names: tuple[str, ...]) -> Test:
        computed = [name for name, text in element.attributes.items() if is_computed(name, text)]
        for attribute in ("test", "subject", *computed):
            if attribute in element.attributes:
                self._take(element, attribute, "select", element.attributes[attribute], names)
        self._message(element, names)
        references = []
        for kind in ("diagnostics", "properties"):
            for name in element.attributes.get(kind, "").split():
                if (kind, name) not in self._references:
                    known = [other for of, other in self._references if of == kind]
                    self._problems.append(problem(element, unknown_name(kind, name, known)))
                    continue
                references.append((kind, self._references[kind, name]))
                self._message(self._references[kind, name], names)
        self._tests += 1
        name = self._name(element, pattern, unnamed)
        return Test(self._tests - 1, name, element, severity_of(element), tuple(references))

    def _name(self, element: Element, pattern: Element, unnamed: int) -> str:
        own = element.attributes.get("id")
        stem = own or pattern.attributes.get("id") or pattern.attributes.get("name")
        number = unnamed if own is None and stem is not None else 1
        stem = stem or f"edit-{self._tests}"
        name = stem if number == 1 else f"{stem}.{number}"
        while name in self._given or (own is None and number > 1 and name in self._names):
            number += 1
            name = f"{stem}.{number}"
        self._given.add(name)
        return name

    def _message(self, element: Element, names: tuple[str, ...]) -> None:
        for child in element:
            attribute = _MESSAGE_EXPRESSIONS.get(child.name) if child.namespace == element.namespace else None
            if child.namespace == XSL:
                attribute = "select"
            if attribute in child.attributes:
                self._take(child, str(attribute), "select", child.attributes[str(attribute)], names)
            self._message(child, names)

    def _instruction_expressions(self, element: Element, names: tuple[str, ...]) -> None:
        """Look over what is left to the engine: no attribute may reach out, in an expression or between braces."""
        if element.namespace == XSL:
            bound = {*names, *self._bound(element)}
            spaces = {**self._namespaces, **element.prefixes}
            for attribute in _XSL_EXPRESSIONS & element.attributes.keys():
                text = element.attributes[attribute]
                reason = reason_to_refuse(text, self._version, spaces, bound, self._functions, self._options)
                if reason is not None:
                    self._problems.append(Expression(element, attribute, "select", text, ()).problem(reason))
        for child in element:
            self._instruction_expressions(child, names)

    def _bound(self, element: Element) -> set[str]:
        """Variables that instructions bind anywhere; the engine knows their scope."""
        tops = (*self._instructions, *(each for each in _all(self._element) if each.name == "let"))
        found = {
            _text(each, "name")
            for top in tops
            for each in _all(top)
            if each.namespace == XSL and each.name in ("param", "variable")
        }
        return found | ({"value"} if element.name == "accumulator-rule" else set())

    def _take(
        self, element: Element, attribute: str, kind: str, text: str, names: tuple[str, ...]
    ) -> Expression | None:
        expression = Expression(element, attribute, kind, text, names)
        reason = reason_to_refuse(text, self._version, self._namespaces, names, self._functions, self._options)
        if reason is not None:
            self._problems.append(expression.problem(reason))
            return None
        self._expressions.append(expression)
        return expression


def _all(element: Element) -> Iterator[Element]:
    yield element
    for child in element:
        yield from _all(child)


def _text(element: Element, attribute: str) -> str:
    return element.attributes.get(attribute, "").strip()
