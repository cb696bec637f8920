"""A whole document given to an engine, and its verdicts: counts, locations, SVRL."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from maskwright.edits.engines.checker import EngineProcess
from maskwright.edits.engines.engine_tests import ENGINE_OF
from maskwright.edits.evaluation.outcomes import Undecidable, count_undecidable
from maskwright.edits.evaluation.svrl_elements import MARK, SVRL_NAMESPACE, undecidable_instruction
from maskwright.edits.whole_documents.document import FIRST_LOCATIONS, MEGABYTE, DocumentOutcome, TestOutcome
from maskwright.edits.whole_documents.expressions import text_of
from maskwright.edits.whole_documents.messages import quoted
from maskwright.edits.whole_documents.stylesheet import (
    groups_of,
    prefix_of_svrl,
    stylesheet_of,
    stylesheet_of_expression,
)
from maskwright.foundation.errors import EditError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import IO

    from maskwright.edits.languages.schematron.document import Element
    from maskwright.edits.whole_documents.document import Limits
    from maskwright.edits.whole_documents.schema_model import Expression, Schema
    from maskwright.edits.whole_documents.selection import Documents

MOST_EXPRESSIONS_NAMED = 10
_MARKS = re.compile(rf"<\?{MARK}\s(?P<kind>[fveE]) (?P<number>\d+)(?: (?P<code>\S+))?(?: (?P<location>.*?))?\?>")
_LONGEST_MESSAGE = 500


def check_document(
    schema: Schema, documents: Documents, limits: Limits, *, svrl: IO[bytes] | None = None, messages: bool = False
) -> DocumentOutcome:
    """Verdict of every assert and report of a schema on a whole document."""
    engine = ENGINE_OF[schema.version]
    groups = groups_of(schema)
    stylesheets = [stylesheet_of(schema, group, documents) for group in groups]
    with EngineProcess(engine, limits.memory) as process:
        if any(process.reasons(stylesheets)):
            raise EditError(_refusals(process, schema, stylesheets))
        try:
            others = [text.text for _, text in documents.others]
            answer = process.answer({"apply": documents.main.text, "others": others}, limits.seconds)
        except EditError as error:
            hint = (
                f"it may take {limits.seconds:,.0f} seconds (--option max_seconds=N) and "
                f"{limits.memory / MEGABYTE:,.0f} MB of memory (--option max_memory=MB)"
            )
            raise EditError(replace(error.problems[0], place=Place(schema.element.file), hint=hint)) from None
    if "error" in answer:
        raise EditError(_stop(schema, stylesheets, answer))
    output = _EngineOutput(schema, keeps_messages=messages, others={quoted(name) for name, _ in documents.others})
    try:
        for text in answer["texts"]:
            output.take(text)
    except expat.ExpatError:
        message = f"the engine {engine} broke off its report of this document"
        hint = "in a message, attributes can be copied (xsl:copy-of) before its text only"
        raise EditError(Problem(message, schema.element.place, hint)) from None
    if svrl is not None:
        _write_svrl(svrl, schema, answer["texts"])
    return output.outcome(engine)


def _refusals(process: EngineProcess, schema: Schema, stylesheets: Sequence[str]) -> list[Problem]:
    """Find which expressions an engine refuses, each compiled alone."""
    expressions: list[Expression | None] = [None, *schema.expressions]
    reasons = process.reasons([stylesheet_of_expression(schema, each) for each in expressions])
    place = schema.element.place
    found = []
    for expression, reason in zip(expressions, reasons, strict=True):
        if reason is None:
            continue
        if expression is None:
            return [Problem(f"the engine refuses what stands beside the patterns: {reason}", place)]
        found.append(expression.problem(f"the engine refuses it: {reason}"))
    if found:
        return found[:MOST_EXPRESSIONS_NAMED]
    reason = next(filter(None, process.reasons(stylesheets)), "no reason is given")
    return [Problem(f"the engine refuses the schema: {reason}", place)]


def _stop(schema: Schema, stylesheets: Sequence[str], answer: dict[str, object]) -> Problem:
    """Say where libxslt stopped: a line of a stylesheet leads to the rule that was written there."""
    details = answer.get("details")
    details = details if isinstance(details, dict) else {}
    codes = ", ".join(str(code) for code in details.get("codes", ())) or str(answer["error"])
    place = Place(schema.element.file)
    if answer["error"] == "MemoryError":
        return Problem("the engine needs more memory than it may have", place, "--option max_memory=MB")
    for line in details.get("lines", ()):
        rules = [_rule_at(stylesheet, int(line)) for stylesheet in stylesheets]
        found = [number for number in rules if number is not None]
        if len(found) == 1:
            element = next(rule.element for rule in schema.rules if rule.number == found[0])
            where = element.place
            return Problem(
                f"a test of this rule, or what it rests on, cannot be evaluated ({codes})", where, _AS_NUMBER
            )
    return Problem(f"an expression of the schema cannot be evaluated on this document ({codes})", place, _AS_NUMBER)


_AS_NUMBER = "compare numbers as number(...), and say what is to hold where a node is missing or occurs more than once"


def _rule_at(stylesheet: str, line: int) -> int | None:
    """Number of the rule whose template holds a line of a stylesheet."""
    marks = re.findall(rf'name="{MARK}">f (\d+)<', "\n".join(stylesheet.split("\n")[:line]))
    return int(marks[-1]) if marks else None


def _write_svrl(stream: IO[bytes], schema: Schema, texts: Sequence[str]) -> None:
    prefix = prefix_of_svrl(schema)
    attributes = schema.element.attributes
    title = next((text_of(child) for child in schema.element if child.name == "title"), None)
    stated = {
        "title": None if title is None else " ".join(title.split()),
        "phase": schema.phase,
        "schemaVersion": attributes.get("schemaVersion"),
    }
    written = "".join(f" {name}={quoteattr(text)}" for name, text in stated.items() if text is not None)
    # Every stylesheet declares the same namespaces, and what is copied from the document may rest on them.
    opening = next(
        (_opening(text, prefix) for text in texts), f'<{prefix}:schematron-output xmlns:{prefix}="{SVRL_NAMESPACE}"'
    )
    out = ['<?xml version="1.0" encoding="UTF-8"?>\n', f"{opening}{written}>\n"]
    out += [
        f"<{prefix}:text{_paragraph_attributes(child)}>{escape(' '.join(text_of(child).split()))}</{prefix}:text>\n"
        for child in schema.element
        if child.name == "p" and child.namespace == schema.element.namespace
    ]
    out += [
        f"<{prefix}:ns-prefix-in-attribute-values prefix={quoteattr(name)} uri={quoteattr(uri)}/>\n"
        for name, uri in schema.namespaces.items()
    ]
    stream.write("".join(out).encode())
    for text in texts:
        start, end = text.find(">", text.index(f"<{prefix}:schematron-output")), text.rfind("</")
        if end > start:
            inner = _MARKS.sub(lambda mark: _reported(mark, schema), text[start + 1 : end])
            inner = re.sub(rf"(<{re.escape(prefix)}:(?:active|fired|failed|successful)-)", r"\n\1", inner)
            stream.write(inner.encode() + b"\n")
    stream.write(f"</{prefix}:schematron-output>\n".encode())


def _paragraph_attributes(element: Element) -> str:
    stated = {"icon": element.attributes.get("icon"), "xml:lang": element.language}
    return "".join(f" {name}={quoteattr(text)}" for name, text in stated.items() if text is not None)


def _reported(mark: re.Match[str], schema: Schema) -> str:
    """What a report says in place of a mark: which tests cannot be evaluated, and where."""
    number = int(mark["number"])
    if mark["kind"] == "e":
        names = [test.name for test in schema.tests if test.number == number]
    else:
        names = [
            test.name for rule in schema.rules for test in rule.tests if (mark["kind"], rule.number) == ("E", number)
        ]
    return "".join(undecidable_instruction(name, mark["code"] or "", mark["location"] or "") for name in names)


def _opening(text: str, prefix: str) -> str:
    start = text.index(f"<{prefix}:schematron-output")
    return text[start : text.index(">", start)].removesuffix("/")


@dataclass
class _EngineOutput:
    """Counts of marks, and the locations that follow them."""

    schema: Schema
    keeps_messages: bool
    others: Collection[str] = ()
    fired: Counter[int] = field(default_factory=Counter)
    violations: Counter[int] = field(default_factory=Counter)
    locations: dict[int, list[str]] = field(default_factory=dict)
    messages: dict[int, list[str]] = field(default_factory=dict)
    undecidable: dict[int, dict[str, Undecidable]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._depth = 0
        self._tests_of_rules = {rule.number: rule.tests for rule in self.schema.rules}
        self._test: int | None = None
        self._within = ""
        self._shown: int | None = None

    def take(self, text: str) -> None:
        """Read what a stylesheet wrote."""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.ProcessingInstructionHandler = self._mark
        parser.Parse(text.encode(), True)

    def _mark(self, target: str, text: str) -> None:
        # Marks stand next to what a rule prints; deeper ones would be a copy of the document's own.
        if target != MARK or self._depth != 1:
            return
        kind, number, *rest = text.split(" ", 3)
        match kind:
            case "f":
                self.fired[int(number)] += 1
            case "v":
                self.violations[int(number)] += 1
                self._test = int(number)
            case "e":
                self._cannot_decide(int(number), rest)
            case _:
                # A variable of the rule cannot be computed: none of its tests has a verdict on this node.
                for test in self._tests_of_rules[int(number)]:
                    self._cannot_decide(test.number, rest)

    def _cannot_decide(self, test: int, rest: Sequence[str]) -> None:
        code, location = [*rest, "", ""][:2]
        self.violations[test] += 1
        count_undecidable(self.undecidable.setdefault(test, {}), code, location)
        kept = self.locations.setdefault(test, [])
        if len(kept) < FIRST_LOCATIONS:
            kept.append(self._within + location)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._depth == 1 and name.endswith(":fired-rule"):
            document = attributes["document"]
            self._within = f"{document}: " if document in self.others else ""
        if self._depth == 1 and self._test is not None:
            kept = self.locations.setdefault(self._test, [])
            if len(kept) < FIRST_LOCATIONS:
                kept.append(self._within + attributes.get("location", ""))
        if self._depth == 2 and self._test is not None and name.endswith(":text") and self.keeps_messages:
            kept = self.messages.setdefault(self._test, [])
            if len(kept) < FIRST_LOCATIONS:
                self._shown = self._test
                kept.append("")
        self._depth += 1

    def _end(self, name: str) -> None:  # noqa: ARG002 - expat's call
        self._depth -= 1
        if self._depth == 1:
            self._test = None
        elif self._depth == 2:
            self._shown = None

    def _text(self, text: str) -> None:
        if self._shown is not None:
            self.messages[self._shown][-1] += text

    def outcome(self, engine: str) -> DocumentOutcome:
        """What was found, of every test."""
        tests = [
            TestOutcome(
                name=test.name,
                kind=test.element.name,
                checked_by=engine,
                severity=test.severity,
                violations=self.violations[test.number],
                fired=self.fired[rule.number],
                first_locations=tuple(self.locations.get(test.number, ())),
                first_messages=self._messages(test.number) if self.keeps_messages else None,
                undecidable=tuple(self.undecidable.get(test.number, {}).values()),
            )
            for rule in self.schema.rules
            for test in rule.tests
        ]
        rules_fired = sum(self.fired.values())
        return DocumentOutcome(tuple(tests), self.schema.phase, rules_fired, self.schema.notes)

    def _messages(self, number: int) -> tuple[str, ...]:
        return tuple(" ".join(text.split())[:_LONGEST_MESSAGE] for text in self.messages.get(number, ()))
