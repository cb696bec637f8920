"""A schema as XSLT: stylesheets that visit a document and write SVRL, for libxslt (1.0) and Saxon (3.0).

Besides SVRL a stylesheet writes processing instructions named `MARK`, each before the element it speaks of:
``f RULE`` a rule fired, ``v TEST`` a test complained, ``e TEST CODE LOCATION`` a test could not be evaluated, ``E RULE
CODE LOCATION`` something else of a rule. Source: ISO/IEC 19757-3, clause 6 and the annexes on query languages and SVRL.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from maskwright.edits.engines.engine_tests import EXTENSIONS, OTHER_DOCUMENT, OTHER_PARAMETER, STANDARD_NAMESPACES, XSL
from maskwright.edits.evaluation.svrl_elements import MARK, SVRL_NAMESPACE
from maskwright.edits.languages.schematron.document import XML
from maskwright.edits.whole_documents.expressions import alternatives
from maskwright.edits.whole_documents.locations import LOCATIONS, OURS, X
from maskwright.edits.whole_documents.messages import (
    COMMON,
    FOUND,
    MessageWriter,
    attributes_of_test,
    braced,
    found,
    if_nodes,
    language_of,
    quoted,
    title_of,
    written_attributes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from maskwright.edits.languages.schematron.document import Element
    from maskwright.edits.whole_documents.schema_model import Expression, Let, Pattern, Rule, Schema, Test
    from maskwright.edits.whole_documents.selection import Documents


# Prefixes and names that no schema would choose: ours must not meet those of the rules.
_ERROR = "maskwright.error"
_NODE = "maskwright.node"
SUBJECT_IN_MESSAGES = 2025
"""Edition since which messages are about the subject of a test."""

_LINKABLE = ("id", "role", "flag", "severity", "see", "icon", "fpi")
_MATCHES_ATTRIBUTES = re.compile(r"@|attribute|\$|^\s*\.|\bkey\s*\(|\bid\s*\(")
_MATCHES_NODES = re.compile(r"text|node|comment|processing-instruction|\$|^\s*\.|\bkey\s*\(|\bid\s*\(")


def groups_of(schema: Schema) -> list[list[Pattern]]:
    """Patterns that may share a stylesheet: the variables of a pattern are not seen in another one of that name."""
    groups: list[list[Pattern]] = []
    taken: set[str] = set()
    for pattern in schema.patterns:
        names = {let.name for let in pattern.lets}
        if not groups or names & taken:
            groups.append([])
            taken = set()
        groups[-1].append(pattern)
        taken |= names
    return groups


def prefix_of_svrl(schema: Schema) -> str:
    """Prefix of SVRL elements: ``svrl`` unless the schema means something else by it."""
    return "svrl" if schema.namespaces.get("svrl", SVRL_NAMESPACE) == SVRL_NAMESPACE else "svrl.report"


def stylesheet_of(schema: Schema, patterns: Sequence[Pattern], documents: Documents) -> str:
    """Stylesheet that carries out some patterns of a schema."""
    return _Writer(schema).stylesheet(patterns, documents)


def stylesheet_of_questions(schema: Schema, questions: Sequence[Expression]) -> str:
    """Stylesheet that prints, line by line, what expressions find in a document.

    A question of the kind ``when`` prints one line where it is true.
    """
    writer = _Writer(schema)
    out = [writer.opening("text"), *writer.lets(schema.lets), f'<{X}:template match="/">']
    return "\n".join([*out, *map(writer.question, questions), f"</{X}:template></{X}:stylesheet>"])


def stylesheet_of_expression(schema: Schema, expression: Expression | None) -> str:
    """Stylesheet that holds one expression, to compile it alone; None: what all patterns share."""
    writer = _Writer(schema)
    out = [writer.opening()]
    if expression is not None:
        params = "".join(f'<{X}:param name="{name}" select="/"/>' for name in dict.fromkeys(expression.variables))
        text = quoteattr(expression.text)
        if expression.kind == "match":
            # A pattern with variables is carried out as an expression in XSLT 1.0; their values do not count here.
            match = expression.text if schema.version != "1.0" else re.sub(r"\$[\w.-]+", "true()", expression.text)
            out += [params, f"<{X}:template match={quoteattr(match)}/>"]
        else:
            out.append(f'<{X}:template match="/">{params}<{X}:variable name="{_NODE}" select={text}/></{X}:template>')
    return "\n".join([*out, f"</{X}:stylesheet>"])


class _Writer:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._is_first = schema.version == "1.0"
        self._svrl = prefix_of_svrl(schema)
        self._messages = MessageWriter(self._svrl, schema.element.namespace, is_first=self._is_first)
        self._document = ""

    def opening(self, method: str = "xml") -> str:
        """Start tag and everything that all patterns share but the variables."""
        spaces = dict(self._schema.namespaces)
        if not self._is_first:
            spaces = {**STANDARD_NAMESPACES, **spaces, _ERROR: "http://www.w3.org/2005/xqt-errors"}
        else:
            spaces |= {COMMON: "http://exslt.org/common", OURS: EXTENSIONS}
        excluded = f"{COMMON} {OURS}" if self._is_first else _ERROR
        spaces |= {X: XSL, self._svrl: SVRL_NAMESPACE}
        spaces.pop("xml", None)
        declared = "".join(f" xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in spaces.items())
        out = [
            f'<{X}:stylesheet version="{self._schema.version}"{declared} exclude-result-prefixes="{excluded}">',
            f'<{X}:output method="{method}" omit-xml-declaration="yes" indent="no"/>',
        ]
        out += [self._written(each, is_top=True) for each in self._schema.instructions]
        return "\n".join(out)

    def lets(self, lets: Iterable[Let]) -> list[str]:
        """Variables."""
        return [self._let(let) for let in lets]

    def question(self, question: Expression) -> str:
        """Lines that answer a question."""
        text = quoteattr(question.text)
        line = f'<{X}:value-of select="normalize-space()"/><{X}:text>&#10;</{X}:text>'
        if question.kind == "when":
            return f"<{X}:if test={text}><{X}:text>true</{X}:text></{X}:if>"
        if not self._is_first:
            return f"<{X}:for-each select={text}>{line}</{X}:for-each>"
        # XSLT 1.0 visits nodes only.
        return found(question.text) + if_nodes(f'<{X}:for-each select="${FOUND}">{line}</{X}:for-each>')

    def stylesheet(self, patterns: Sequence[Pattern], documents: Documents) -> str:
        schema = self._schema
        out = [self.opening(), *self.lets(schema.lets)]
        if not self._is_first:
            out += [
                f'<{X}:param name="{OTHER_PARAMETER}.{place + 1}" as="document-node()?" select="()"/>'
                for place in range(len(documents.others))
            ]
        out += [self._let(let) for pattern in patterns for let in pattern.lets]
        out.append(f'<{X}:template match="/"><{self._svrl}:schematron-output>')
        main = documents.main.path.name
        modes: list[tuple[str, Sequence[Rule], str]] = []
        for number, pattern in enumerate(patterns):
            rules = [[rule] for rule in pattern.rules] if pattern.is_group else [pattern.rules]
            start = schema.start if self._is_first or schema.start == "/" else f"outermost({schema.start})"
            about = {f"p{number}": (main, start)}
            if pattern.documents is not None:
                about = {
                    f"p{number}.d{place}": (documents.others[place][0], self._other(place))
                    for place in documents.of_patterns[pattern]
                }
            attributes = pattern.element.attributes
            name = title_of(pattern.element) or attributes.get("name")
            stated = {
                "id": attributes.get("id"), "name": name, "role": attributes.get("role"),
                "documents": " ".join(quoted(document) for document, _ in about.values()),
            }  # fmt: skip
            kind = "active-group" if pattern.is_group else "active-pattern"
            out.append(f"<{self._svrl}:{kind}{written_attributes(stated)}/>")
            for prefix, (document, nodes) in about.items():
                own = [(f"{prefix}.{part}", each, document) for part, each in enumerate(rules)]
                modes += own
                out += [f'<{X}:apply-templates select={quoteattr(nodes)} mode="{mode}"/>' for mode, *_ in own]
        out.append(f"</{self._svrl}:schematron-output></{X}:template>")
        for mode, each, document in modes:
            self._document = document
            out += self._templates(mode, each)
        out.append(LOCATIONS if self._is_first else "")
        return "\n".join([*out, f"</{X}:stylesheet>"])

    def _other(self, place: int) -> str:
        """Root of another document."""
        return f"{OURS}:{OTHER_DOCUMENT}({place + 1})/.." if self._is_first else f"${OTHER_PARAMETER}.{place + 1}"

    def _templates(self, mode: str, rules: Sequence[Rule]) -> list[str]:
        """Visit every node that a rule may be about; the first rule that matches it fires."""
        contexts = [rule.context for rule in rules]
        nodes = "node()" if any(_MATCHES_NODES.search(context) for context in contexts) else "*"
        # An axis is looked along only where a rule is about what is on it: attributes and texts are many.
        walk = f"@*|{nodes}" if any(_MATCHES_ATTRIBUTES.search(context) for context in contexts) else nodes
        on = f'<{X}:apply-templates select="{walk}" mode="{mode}"/>'
        every = f'<{X}:template match="/|@*|node()" mode="{mode}" priority="-1">'
        if self._is_first and any("$" in context for context in contexts):
            return self._dispatch(mode, rules, every, on)
        out = [f"{every}{on}</{X}:template>"]
        for place, rule in enumerate(rules):
            priority = len(rules) - place
            match = quoteattr(rule.context)
            out.append(f'<{X}:template match={match} mode="{mode}" priority="{priority}">')
            out += [self._body(rule), f"{on}</{X}:template>"]
        return out

    def _dispatch(self, mode: str, rules: Sequence[Rule], every: str, on: str) -> list[str]:
        """The same where contexts hold variables, which XSLT 1.0 has in no pattern: each context as a set of nodes."""
        out = []
        choices = []
        for rule in rules:
            name = f"maskwright.context.{mode}.{rule.number}"
            parts = (
                part if part.startswith("/") or re.match(r"(?:id|key)\s*\(", part) else f"//{part}"
                for part in alternatives(rule.context)
            )
            out.append(f'<{X}:variable name="{name}" select={quoteattr("|".join(parts))}/>')
            choices += [f'<{X}:when test="count(.|${name}) = count(${name})">', self._body(rule), f"</{X}:when>"]
        return [*out, f"{every}<{X}:choose>", *choices, f"</{X}:choose>{on}</{X}:template>"]

    def _body(self, rule: Rule) -> str:
        attributes = rule.element.attributes
        fired = {"context": rule.context} | {name: attributes.get(name) for name in _LINKABLE}
        fired["document"] = quoted(self._document)
        out = [
            self._mark(f"f {rule.number}"),
            f"<{self._svrl}:fired-rule{written_attributes(fired | language_of(rule.element))}/>",
        ]
        checks = [*map(self._let, rule.lets), *(self._check(rule, test) for test in rule.tests)]
        if "visit-each" in attributes:
            each = f"<{X}:for-each select={quoteattr(attributes['visit-each'])}>"
            lets, tests = checks[: len(rule.lets)], checks[len(rule.lets) :]
            checks = [*lets, each, *tests, f"</{X}:for-each>"]
        if not self._is_first:
            checks = [
                f'<{X}:variable name="{_NODE}" select="."/><{X}:try>', *checks, self._caught(f"E {rule.number}"),
                f"</{X}:try>",
            ]  # fmt: skip
        return "\n".join([*out, *checks])

    def _check(self, rule: Rule, test: Test) -> str:
        condition = quoteattr(test.element.attributes["test"])
        complaint = self._complaint(rule, test)
        if test.is_report:
            check = f"<{X}:if test={condition}>{complaint}</{X}:if>"
        else:
            check = f"<{X}:choose><{X}:when test={condition}/><{X}:otherwise>{complaint}</{X}:otherwise></{X}:choose>"
        return check if self._is_first else f"<{X}:try>{check}{self._caught(f'e {test.number}')}</{X}:try>"

    def _caught(self, mark: str) -> str:
        return (
            f'<{X}:catch><{X}:processing-instruction name="{MARK}" select="concat(\'{mark} \', '
            f"local-name-from-QName(${_ERROR}:code), ' ', path(${_NODE}))\"/></{X}:catch>"
        )

    def _complaint(self, rule: Rule, test: Test) -> str:
        attributes = test.element.attributes
        kind = "successful-report" if test.is_report else "failed-assert"
        stated = attributes_of_test(test.element, ("test", *_LINKABLE))
        subject = attributes.get("subject", rule.element.attributes.get("subject"))
        out = [
            self._mark(f"v {test.number}"),
            f"<{self._svrl}:{kind}{stated}{written_attributes(language_of(test.element))}>",
            f'<{X}:attribute name="location">{self._location(subject)}</{X}:attribute>',
        ]
        messages = [self._messages.message(test.element)]
        for of, element in test.references:
            single = "diagnostic" if of == "diagnostics" else "property"
            named: dict[str, str | None] = {single: element.attributes["id"]}
            if single == "property":
                named |= {name: element.attributes.get(name) for name in ("role", "scheme")}
            tag = f"{self._svrl}:{single}-reference"
            messages.append(f"<{tag}{written_attributes(named)}>{self._messages.message(element)}</{tag}>")
        written = "".join(messages)
        if subject is not None and self._schema.edition >= SUBJECT_IN_MESSAGES:
            there = f"<{X}:for-each select={quoteattr(f'({subject})[1]')}>{written}</{X}:for-each>"
            test_of_nodes = quoteattr(f"boolean({subject})" if self._is_first else f"exists({subject})")
            written = (
                f"<{X}:choose><{X}:when test={test_of_nodes}>{there}</{X}:when>"
                f"<{X}:otherwise>{written}</{X}:otherwise></{X}:choose>"
            )
        return "".join([*out, written, f"</{self._svrl}:{kind}>"])

    def _location(self, subject: str | None) -> str:
        if not self._is_first:
            nodes = f"({subject}, .)[. instance of node()]" if subject else ".[. instance of node()]"
            path = f"path(({nodes}, ${_NODE})[1])"
            return f"<{X}:value-of select={quoteattr(path)}/>"
        here = f'<{X}:apply-templates select="." mode="maskwright.location"/>'
        if not subject:
            return here
        there = quoteattr(f"({subject})[1]")
        return (
            f"<{X}:choose><{X}:when test={quoteattr(subject)}><{X}:apply-templates select={there} "
            f'mode="maskwright.location"/></{X}:when><{X}:otherwise>{here}</{X}:otherwise></{X}:choose>'
        )

    def _let(self, let: Let) -> str:
        attributes = let.element.attributes
        name = quoteattr(let.name)
        kind = f" as={quoteattr(attributes['as'])}" if "as" in attributes else ""
        if "value" in attributes:
            return f"<{X}:variable name={name} select={quoteattr(attributes['value'])}{kind}/>"
        content = self._content(let.element)
        if not self._is_first:
            # Of a type, it is a sequence of its elements: the space between them is none of it.
            elements = "".join(map(self._written, let.element))
            return f"<{X}:variable name={name}{kind}>{elements if kind and elements else content}</{X}:variable>"
        # In XSLT 1.0 a tree must be made a set of nodes before a path can look into it.
        tree = f"maskwright.tree.{let.name}"
        return (
            f'<{X}:variable name="{tree}">{content}</{X}:variable>'
            f'<{X}:variable name={name} select="{COMMON}:node-set(${tree})"/>'
        )

    def _content(self, element: Element) -> str:
        return "".join(
            f"<{X}:text>{escape(part)}</{X}:text>" if isinstance(part, str) else self._written(part)
            for part in element.content
        )

    def _written(self, element: Element, *, is_top: bool = False) -> str:
        """An element as it stands in the schema: XSLT as instructions, others as themselves, braces and all."""
        is_instruction = element.namespace == XSL
        declared = {prefix: uri for prefix, uri in element.prefixes.items() if prefix not in ("", "xml") and uri != XSL}
        if is_instruction:
            tag = f"{X}:{element.name}"
        elif not element.namespace:
            tag, declared = element.name, {"": "", **declared}
        elif element.prefixes.get("") == element.namespace:
            tag, declared = element.name, {"": element.namespace, **declared}
        else:
            prefix = next(prefix for prefix, uri in element.prefixes.items() if uri == element.namespace)
            tag = f"{prefix}:{element.name}"
        spaces = "".join(f" xmlns{':' if prefix else ''}{prefix}={quoteattr(uri)}" for prefix, uri in declared.items())
        out = [f"<{tag}{spaces}"]
        for name, text in element.attributes.items():
            out.append(f" {name}={quoteattr(text if is_instruction else braced(text))}")
        for (uri, name), text in element.qualified.items():
            prefix = (
                "xml" if uri == XML else next((each for each, of in element.prefixes.items() if of == uri and each), "")
            )
            out.append(f" {prefix}:{name}={quoteattr(braced(text))}")
        if is_top and is_instruction and element.name != "function":
            content = "".join(self._written(part) for part in element)
        else:
            content = (
                self._content(element)
                if not is_instruction
                else "".join(escape(part) if isinstance(part, str) else self._written(part) for part in element.content)
            )
        return "".join([*out, f">{content}</{tag}>"])

    def _mark(self, text: str) -> str:
        return f'<{X}:processing-instruction name="{MARK}">{text}</{X}:processing-instruction>'
