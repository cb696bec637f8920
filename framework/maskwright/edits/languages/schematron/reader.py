"""Schematron rule files read as edits, flat or with records inside records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import all_of
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import IfThen, Not, variable_names
from maskwright.edits.languages.schematron.document import Element, read_document
from maskwright.edits.languages.schematron.expansion import expand
from maskwright.edits.languages.schematron.expressions import LATER_BINDINGS, XPATH_1_BINDINGS, lets_of, trees
from maskwright.edits.languages.schematron.inclusion import PATTERNS
from maskwright.edits.languages.schematron.options import WRITTEN_FROM, NestedLevels, SchematronOptions
from maskwright.edits.languages.schematron.patterns import PatternReader, RuleOfPattern, TestOfRule
from maskwright.edits.languages.schematron.state import Reading
from maskwright.edits.languages.xpath.nested_tests import parse_context, parse_nested
from maskwright.edits.languages.xpath.tokens import tokens_of
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.levels.linked_data import LevelDeclaration
    from maskwright.edits.expression import Expression
    from maskwright.edits.languages.schematron.expressions import Let
    from maskwright.edits.languages.xpath.parser import Parsed


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
                found = parse_context(self._local(context), self._levels, place, reading.options, self._namespaces)
            except EditError as error:
                reading.problems += error.problems
                continue
            if found is None:
                names = " nor ".join(f"<{level.element}>" for level in self._levels.levels)
                reading.refuse(element, f"the context {context!r} names neither {names}", HINT)
                continue
            level, own = found
            earlier = before.setdefault(level, [])
            # Within a pattern only the first rule that matches a record fires.
            shadowed = None in earlier
            conditions = [*(Not(each) for each in earlier if each is not None), *([] if own is None else [own])]
            when = all_of(conditions) if conditions else None
            earlier.append(own)
            # The variables of a rule are parsed where they are used: they too may be about members.
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
                test = parse_nested(
                    self._local(text), level, self._levels, place, variables, reading.options,
                    namespaces=self._namespaces,
                )  # fmt: skip
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
        """Expression in which elements of declared namespaces have no prefix.

        Variables are called by their local names; an engine sees the expression as it is written, and decides
        whether the elements of the document are in those namespaces.
        """
        namespaces = self._reading.namespaces
        try:
            is_later = self._reading.later_binding is not None
            tokens = tokens_of(text, _no_tokens, later=is_later)
            names = [
                each for before, each, after in zip([None, *tokens], tokens, tokens[1:], strict=False)
                if each.kind == "name" and ":" in each.text and after.text != "("
                and (before is None or before.text not in ("as", "of"))
            ]  # fmt: skip
        except EditError:
            return text
        spaces: dict[str, str | None] = {}
        for each in names:
            prefix, _, local = each.text.partition(":")
            uri = namespaces.get(prefix)
            if uri is None or spaces.setdefault(local, uri) != uri:
                return text
        for token in reversed(names):
            local = token.text.partition(":")[2]
            text = text[: token.start] + local + text[token.start + len(token.text) :]
        return text

    @property
    def _namespaces(self) -> Mapping[str, str] | None:
        """Namespaces of tests in XPath 2; None: they are in XPath 1."""
        return None if self._reading.later_binding is None else self._reading.namespaces

    def _variables(self, rule: RuleOfPattern, level: str) -> dict[str, Parsed]:
        """What the variables of a rule stand for."""
        found = trees(rule.scope)
        for let in rule.element:
            name, value = let.attributes.get("name", "").strip(), let.attributes.get("value")
            if let.name != "let" or not name or value is None:
                continue
            place, limits = self._reading.place(let, value), self._reading.options
            try:
                found[name] = parse_nested(
                    self._local(value), level, self._levels, place, found, limits, as_value=True,
                    namespaces=self._namespaces,
                )  # fmt: skip
            except EditError as error:
                self._reading.problems += [_with_hint(problem) for problem in error.problems]
        return found


def _no_tokens(reason: str) -> NoReturn:
    raise EditError(reason)


def _with_hint(problem: Problem) -> Problem:
    return replace(problem, hint="; ".join(filter(None, (problem.hint, HINT))))


ISO_NAMESPACE = "http://purl.oclc.org/dsdl/schematron"
ASCC_NAMESPACE = "http://www.ascc.net/xml/schematron"


def read_schematron(
    path: str | Path,
    options: SchematronOptions | None = None,
    *,
    for_engine: bool = False,
    levels: Mapping[str, LevelDeclaration] | None = None,
) -> EditSet:
    """Read a Schematron file.

    `path`: a schema in the ISO or the 1.5 namespace, without a DOCTYPE. `options`: the phase, the folder for included
    files, and limits. `for_engine`: whether an engine gets every test, understood or not: for files that are no flat
    records. `levels`: of data whose records are inside each other: tests are then read as rules of the language of
    levels. Returns one edit for every assert and report, in file order. A report holds where its test is false. `notes`
    say what was left out.

    Names: the assert's ``id``, else its pattern's id (or name) with ``.2``, ``.3`` for the next ones without an id,
    else ``edit-N`` with N the position in the file. ``role`` (then ``flag``, then ``severity``) ``warning`` or
    ``info`` makes an edit a warning. Within a pattern only the first rule that matches a record fires
    (ISO/IEC 19757-3, section 6.5), so later rules with the same context are `shadowed`.

    A test outside the understood subset, or one that XPath 1.0 and the file's later ``queryBinding`` may answer
    differently, is given to an engine: lxml for XSLT 1, Saxon for the others (the extra ``maskwright[xpath3]``).
    What neither can check is an error.
    """
    path = Path(path)
    chosen = options or SchematronOptions()
    schema = read_document(path, chosen)
    reading = Reading(path, chosen, for_engine=for_engine)
    _check_root(reading, schema)
    schema, notes = expand(schema, chosen)
    reading.notes += notes
    _read_references(reading, schema)
    scope = lets_of(reading, schema, {}, in_rule=False)
    asserts = [child for pattern in schema for rule in pattern for child in rule if child.name in ("assert", "report")]
    reading.names.update(child.attributes["id"] for child in asserts if "id" in child.attributes)
    patterns = [each for child in reading.children(schema) if child.name in PATTERNS for each in _patterns_of(child)]
    for number, pattern in enumerate(patterns, start=1):
        if levels is None:
            PatternReader(reading, pattern, number, scope).read()
        else:
            LeveledPatternReader(reading, pattern, number, scope, NestedLevels.of(levels).without_prefixes()).read()
    reading.compile()
    if not reading.edits and not reading.problems:
        reading.refuse(schema, "the schema holds no assert and no report")
    if reading.problems:
        raise EditError(reading.problems)
    if reading.left_out:
        left_out = ", ".join(f"{name} (line {line})" for name, line in reading.left_out.items())
        reading.notes.append(f"{path}: not used: {left_out}")
    return EditSet(tuple(reading.edits), tuple(reading.notes))


def _check_root(reading: Reading, schema: Element) -> None:
    if schema.name != "schema" or schema.namespace not in (ISO_NAMESPACE, ASCC_NAMESPACE):
        found = f"<{schema.name}>" + (
            f" in the namespace {schema.namespace}" if schema.namespace else " in no namespace"
        )
        hint = f'the first element must be <schema xmlns="{ISO_NAMESPACE}">'
        raise EditError(Problem(f"expected a Schematron schema, found {found}", reading.place(schema), hint))
    reading.check_attributes(schema)
    binding = (reading.options.query_binding or schema.attributes.get("queryBinding", "xslt")).strip().lower()
    if binding in LATER_BINDINGS:
        reading.later_binding = binding
    elif binding not in XPATH_1_BINDINGS:
        known = ", ".join(sorted(XPATH_1_BINDINGS | LATER_BINDINGS))
        reading.refuse(schema, f"the queryBinding {binding!r} is not understood", f"understood are: {known}")


def _patterns_of(element: Element) -> list[Element]:
    """A pattern; a group is as many patterns as it has rules, for each of them fires."""
    if element.name == "pattern":
        return [element]
    rules = element.named("rule")
    others = [part for part in element.content if not (isinstance(part, Element) and part in rules)]
    return [replace(element, name="pattern", content=[*others, rule]) for rule in rules]


def _read_references(reading: Reading, schema: Element) -> None:
    """What asserts refer to: namespaces, diagnostics and properties."""
    for child in schema:
        if child.namespace != schema.namespace:
            continue
        if child.name == "ns":
            prefix, uri = child.attributes.get("prefix", ""), child.attributes.get("uri", "")
            if not prefix or not uri:
                reading.refuse(child, "<ns> needs a prefix and a uri")
            if reading.namespaces.setdefault(prefix, uri) != uri:
                reading.refuse(child, f"the prefix {prefix!r} is declared twice, for different namespaces")
        elif child.name in ("diagnostics", "properties"):
            single = "diagnostic" if child.name == "diagnostics" else "property"
            for each in child:
                if each.name != single or "id" not in each.attributes:
                    reading.refuse(each, f"expected <{single} id=...> in <{child.name}>, found <{each.name}>")
                    continue
                reading.references.setdefault(child.name, {})[each.attributes["id"]] = each
