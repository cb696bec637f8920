"""Schematron rule files: asserts and reports on flat records, read as edits.

Both namespaces are read: ISO/IEC 19757-3 (``http://purl.oclc.org/dsdl/schematron``) and Schematron 1.5
(``http://www.ascc.net/xml/schematron``). What would change the meaning of a rule and is not understood stops the
reading, by name and place; what is for people only is left out with a note.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.edits.classify import classify
from maskwright.edits.edit import Assertion, Edit, EditSet, Severity
from maskwright.edits.expression import Expression, Not, variable_names
from maskwright.edits.schematron_binding import LATER_BINDINGS, XPATH_1_BINDINGS, reason_to_refuse
from maskwright.edits.schematron_document import Element, read_document
from maskwright.edits.schematron_message import message_of
from maskwright.edits.xpath import NCNAME, parse_xpath
from maskwright.edits.xpath_conversions import as_condition
from maskwright.errors import EditError, Place, Problem, nearest_name, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ISO_NAMESPACE = "http://purl.oclc.org/dsdl/schematron"
ASCC_NAMESPACE = "http://www.ascc.net/xml/schematron"

_CONTEXT = re.compile(rf"(?://)?(?P<name>{NCNAME})|(?P<path>/{NCNAME}/{NCNAME})")
_WARNINGS = frozenset({"warning", "warn", "info", "information", "informational"})
_ERRORS = frozenset({"error", "fatal"})

_EVERYWHERE = frozenset({"id", "icon", "see", "fpi"})
_ATTRIBUTES = {
    "schema": {"schemaVersion", "defaultPhase", "queryBinding", "version", "ns"},
    "pattern": {"name", "abstract", "is-a", "documents"},
    "rule": {"context", "role", "flag", "severity", "subject", "abstract"},
    "assert": {"test", "role", "flag", "severity", "subject", "diagnostics", "properties"},
    "report": {"test", "role", "flag", "severity", "subject", "diagnostics", "properties"},
    "let": {"name", "value", "as"},
}
_UNDERSTOOD = {
    "schema": {"let", "pattern"},
    "pattern": {"let", "rule"},
    "rule": {"let", "assert", "report"},
}
_FOR_PEOPLE = frozenset({"title", "p"})
_NOT_USED = frozenset({"ns", "diagnostics", "properties", "phase", "key"})
_NOT_READ = {
    "include": "copy the included rules into this file",
    "extends": "copy the extended rules into this rule",
    "library": "copy the rules into this file",
    "group": "use pattern instead of group",
}


@dataclass(frozen=True)
class _Let:
    text: str
    tree: Expression


_Scope = dict[str, _Let]


@dataclass
class _Reading:
    """What has been found so far in one file."""

    path: Path
    later_binding: str | None = None
    problems: list[Problem] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    left_out: dict[str, int] = field(default_factory=dict)
    rules: int = 0

    def place(self, element: Element, text: str | None = None) -> Place:
        return Place(str(self.path), element.line, None, text)

    def refuse(self, element: Element, message: str, hint: str | None = None, text: str | None = None) -> None:
        self.problems.append(Problem(message, self.place(element, text), hint))

    def note(self, element: Element, message: str) -> None:
        self.notes.append(f"{self.path}:{element.line}: {message}")


@dataclass
class _Pattern:
    element: Element
    number: int
    unnamed: int = 0

    @property
    def id(self) -> str | None:
        return self.element.attributes.get("id") or self.element.attributes.get("name")


@dataclass(frozen=True)
class _Rule:
    """What the asserts of one rule share."""

    pattern: _Pattern
    number: int
    context: str
    scope: Mapping[str, _Let]
    shadowed: bool


def read_schematron(path: str | Path) -> EditSet:
    """Read a Schematron file.

    Parameters
    ----------
    path : str or Path
        A schema in the ISO or the 1.5 namespace, at most 8 MB, without a DOCTYPE.

    Returns
    -------
    EditSet
        One edit for every assert and report, in file order. A report holds where its test is false. `notes` say
        what was left out.

    Raises
    ------
    EditError
        The file cannot be read safely, or has parts that are not understood; one problem for each, with its line.

    Notes
    -----
    Names: the assert's ``id``, else its pattern's id (or name) with ``.2``, ``.3`` for the next ones without an id,
    else ``edit-N`` with N the position in the file. ``role`` (then ``flag``, then ``severity``) ``warning`` or
    ``info`` makes an edit a warning. Within a pattern only the first rule that matches a record fires
    (ISO/IEC 19757-3, section 6.5), so later rules with the same context are `shadowed`.
    """
    path = Path(path)
    schema = read_document(path)
    reading = _Reading(path)
    _check_root(reading, schema)
    scope = _lets(reading, schema, {}, in_rule=False)
    asserts = [child for pattern in schema for rule in pattern for child in rule if child.name in ("assert", "report")]
    reading.names.update(child.attributes["id"] for child in asserts if "id" in child.attributes)
    patterns = [child for child in _children(reading, schema) if child.name == "pattern"]
    for number, pattern in enumerate(patterns, start=1):
        _read_pattern(reading, pattern, number, scope)
    if not reading.edits and not reading.problems:
        reading.refuse(schema, "the schema holds no assert and no report")
    if reading.problems:
        raise EditError(reading.problems)
    if reading.left_out:
        left_out = ", ".join(f"{name} (line {line})" for name, line in reading.left_out.items())
        reading.notes.append(f"{path}: not used: {left_out}")
    return EditSet(tuple(reading.edits), tuple(reading.notes))


def _check_root(reading: _Reading, schema: Element) -> None:
    if schema.name != "schema" or schema.namespace not in (ISO_NAMESPACE, ASCC_NAMESPACE):
        found = f"<{schema.name}>" + (
            f" in the namespace {schema.namespace}" if schema.namespace else " in no namespace"
        )
        hint = f'the first element must be <schema xmlns="{ISO_NAMESPACE}">'
        raise EditError(Problem(f"expected a Schematron schema, found {found}", reading.place(schema), hint))
    _check_attributes(reading, schema)
    binding = schema.attributes.get("queryBinding", "xslt").strip().lower()
    if binding in LATER_BINDINGS:
        reading.later_binding = binding
    elif binding not in XPATH_1_BINDINGS:
        known = ", ".join(sorted(XPATH_1_BINDINGS | LATER_BINDINGS))
        reading.refuse(schema, f"the queryBinding {binding!r} is not understood", f"understood are: {known}")
    if schema.attributes.get("defaultPhase", "#ALL") != "#ALL":
        hint = "remove defaultPhase: all patterns are then used"
        reading.refuse(schema, "defaultPhase selects some of the patterns, and phases are not read", hint)


def _check_attributes(reading: _Reading, element: Element) -> None:
    known = _ATTRIBUTES[element.name] | _EVERYWHERE
    for name in element.attributes:
        if name not in known:
            nearest = nearest_name(name, known)
            hint = f"did you mean {nearest!r}?" if nearest else None
            reading.refuse(element, f"<{element.name}> has the attribute {name!r}, which is not understood", hint)
    for name in element.foreign_attributes:
        reading.note(element, f"the attribute {name!r} of another namespace on <{element.name}> is not used")


def _children(reading: _Reading, element: Element) -> Iterator[Element]:
    """Understood children; the others are noted or refused."""
    for child in element:
        if child.namespace != element.namespace:
            where = f"the namespace {child.namespace}" if child.namespace else "no namespace"
            reading.refuse(child, f"<{child.name}> in {where} is refused: only Schematron elements are read")
        elif child.name in _UNDERSTOOD[element.name]:
            _check_attributes(reading, child)
            yield child
        elif child.name in _NOT_USED:
            reading.left_out.setdefault(child.name, child.line)
        elif child.name in _NOT_READ:
            reading.refuse(child, f"<{child.name}> is not read", _NOT_READ[child.name])
        elif child.name not in _FOR_PEOPLE:
            expected = _UNDERSTOOD[element.name] | _FOR_PEOPLE | _NOT_USED
            reading.refuse(child, f"in <{element.name}>: {unknown_name('element', child.name, expected)}")
    if any(isinstance(part, str) and part.strip() for part in element.content):
        reading.refuse(element, f"<{element.name}> holds text outside its elements")


def _lets(reading: _Reading, element: Element, outer: Mapping[str, _Let], *, in_rule: bool) -> _Scope:
    """Variables visible inside an element: its own ones hide those of the elements around it."""
    scope = dict(outer)
    own: set[str] = set()
    for let in element:
        if let.name != "let" or let.namespace != element.namespace:
            continue
        name, value = let.attributes.get("name", "").strip(), let.attributes.get("value")
        if not name or value is None or any(True for _ in let):
            reading.refuse(let, "<let> needs a name and a value; a value written as elements is not read")
            continue
        if name in own:
            reading.refuse(let, f"the variable {name!r} is defined twice in one <{element.name}>")
            continue
        own.add(name)
        try:
            tree = parse_xpath(value, reading.place(let), {known: let.tree for known, let in scope.items()})
        except EditError as error:
            reading.problems.extend(error.problems)
            continue
        if not in_rule and variable_names(tree):
            hint = "move the <let> into the rule"
            message = f"the variable {name!r} outside a rule is computed at the top of the document, not on a record"
            reading.refuse(let, message, hint, value)
            continue
        scope[name] = _Let(_with_lets(value, scope), tree)
    return scope


def _with_lets(text: str, scope: Mapping[str, _Let]) -> str:
    """XPath text with its variables written out, for ``value-of``."""

    def written_out(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None or name not in scope:
            return match.group()
        return f"({scope[name].text})"

    return re.sub(rf"\"[^\"]*\"|'[^']*'|\$\s*(?P<name>{NCNAME})", written_out, text)


def _read_pattern(reading: _Reading, pattern: Element, number: int, outer: Mapping[str, _Let]) -> None:
    for name, hint in (
        ("is-a", "write the rules of the abstract pattern out"),
        ("abstract", "write the pattern once for each use, without abstract"),
        ("documents", "rules are checked on the data file only"),
    ):
        if pattern.attributes.get(name, "false") != "false":
            reading.refuse(pattern, f"<pattern {name}=...> is not read", hint)
            return
    scope = _lets(reading, pattern, outer, in_rule=False)
    contexts: dict[str, int] = {}
    rules = [child for child in _children(reading, pattern) if child.name == "rule"]
    in_order = _Pattern(pattern, number)
    for rule in rules:
        reading.rules += 1
        if rule.attributes.get("abstract", "false") != "false":
            reading.refuse(rule, "<rule abstract=...> is not read", "write the rule out where it is used")
            continue
        context = _context(reading, rule)
        if context is None:
            continue
        overlapping = next((known for known in contexts if _overlap(known, context)), None)
        if overlapping is not None and overlapping != context:
            hint = "write both contexts in the same way"
            message = f"the contexts {overlapping} and {context} of one pattern can match the same record"
            reading.refuse(rule, message, hint)
            continue
        if overlapping is not None:
            line = contexts[overlapping]
            reading.note(
                rule, f"this rule never fires: the rule at line {line} of its pattern matches the same records"
            )
        contexts.setdefault(context, rule.line)
        own_scope = _lets(reading, rule, scope, in_rule=True)
        _read_rule(reading, rule, _Rule(in_order, reading.rules, context, own_scope, overlapping is not None))


def _overlap(one: str, other: str) -> bool:
    if one.startswith("/") and other.startswith("/"):
        return one == other
    return one.rpartition("/")[2] == other.rpartition("/")[2]


def _context(reading: _Reading, rule: Element) -> str | None:
    text = rule.attributes.get("context", "").strip()
    match = _CONTEXT.fullmatch(text)
    if match is None:
        message = f"the context {text!r} is not understood" if text else "<rule> needs a context"
        reading.refuse(rule, message, "understood are the record's element name, and /root/name")
        return None
    return match["name"] or match["path"]


def _read_rule(reading: _Reading, element: Element, rule: _Rule) -> None:
    for child in _children(reading, element):
        if child.name == "let":
            continue
        name = _name(reading, child, rule.pattern)
        try:
            reading.edits.append(_edit(reading, child, rule, name, _test(reading, child, rule.scope)))
        except EditError as error:
            reading.problems.extend(error.problems)
    if element.attributes.keys() & {"role", "flag", "severity"}:
        reading.note(element, "role, flag and severity count on an assert, not on its rule")


def _name(reading: _Reading, element: Element, pattern: _Pattern) -> str:
    """Name of the next edit, unique in the file."""
    own = element.attributes.get("id")
    position = len(reading.edits) + 1
    if own is not None:
        if any(edit.name == own for edit in reading.edits):
            reading.refuse(element, f"the id {own!r} is used twice")
        return own
    stem = pattern.id or f"edit-{position}"
    name = stem
    if pattern.id is not None:
        pattern.unnamed += 1
        name = stem if pattern.unnamed == 1 else f"{stem}.{pattern.unnamed}"
    number = pattern.unnamed if pattern.id is not None else 1
    while name in reading.names:
        number += 1
        name = f"{stem}.{number}"
    reading.names.add(name)
    return name


def _test(reading: _Reading, element: Element, scope: Mapping[str, _Let]) -> Expression:
    text = element.attributes.get("test")
    place = reading.place(element)
    if text is None:
        raise EditError(Problem(f"<{element.name}> needs a test", place))
    tree = parse_xpath(text, place, {name: let.tree for name, let in scope.items()})
    shown = reading.place(element, " ".join(text.split()))
    if reading.later_binding is not None:
        reason = reason_to_refuse(tree)
        if reason is not None:
            message = f"XPath 1.0 and the {reading.later_binding} binding may answer differently: {reason}"
            raise EditError(Problem(message, shown))
    for name in variable_names(tree):
        if "-" in name:
            reading.note(
                element, f"{name!r} is read as one name; a difference needs spaces: {name.replace('-', ' - ')}"
            )
    return tree


def _edit(reading: _Reading, element: Element, rule: _Rule, name: str, tree: Expression) -> Edit:
    test = " ".join(element.attributes["test"].split())
    is_report = element.name == "report"
    expression = Not(tree) if is_report else tree
    place = reading.place(element, test)
    message, problems, notes = message_of(element, rule.context, place, lambda text: _with_lets(text, rule.scope))
    reading.problems.extend(problems)
    reading.notes.extend(notes)
    if element.attributes.keys() & {"diagnostics", "properties"}:
        reading.left_out.setdefault("diagnostics", element.line)
    attributes = element.attributes
    return Edit(
        name=name,
        expression=expression,
        parts=classify(as_condition(expression), place),
        variables=variable_names(expression),
        text=f"not({test})" if is_report else test,
        binding="xpath1",
        message=message,
        severity=_severity(element),
        place=place,
        context=rule.context,
        shadowed=rule.shadowed,
        assertion=Assertion(
            test=test,
            report=is_report,
            pattern=rule.pattern.id,
            pattern_number=rule.pattern.number,
            rule_number=rule.number,
            id=attributes.get("id"),
            role=attributes.get("role"),
            flag=attributes.get("flag"),
        ),
    )


def _severity(element: Element) -> Severity:
    for name in ("role", "flag", "severity"):
        for word in element.attributes.get(name, "").lower().split():
            if word in _WARNINGS:
                return "warning"
            if word in _ERRORS:
                return "error"
    return "error"
