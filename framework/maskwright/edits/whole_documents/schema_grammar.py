"""What a schema may be made of (ISO/IEC 19757-3): its grammar and its names, every mistake with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.engines.engine_tests import XSL
from maskwright.edits.languages.schematron.document import XML
from maskwright.edits.languages.schematron.expansion import ALL, ANY, DEFAULT
from maskwright.edits.languages.schematron.inclusion import PATTERNS
from maskwright.edits.whole_documents.expressions import is_name, problem, walk
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.edits.engines.engine_tests import Version
    from maskwright.edits.languages.schematron.document import Element
    from maskwright.foundation.errors import Problem


def wrong_names_of(schema: Element) -> list[Problem]:
    """Find names that are used twice or stand for nothing, in what is carried out and in what is not."""
    patterns = [element for name in PATTERNS for element in schema.named(name)]
    found = [] if patterns else [problem(schema, "the schema holds no pattern")]
    found += _identities(schema) + _phases(schema, patterns) + _instances(patterns)
    return found + _messages(schema) + _abstract_rules(schema)


def _identities(schema: Element) -> list[Problem]:
    found: list[Problem] = []
    seen: dict[str, int] = {}
    for element in walk(schema):
        name = element.attributes.get("id")
        if name is None:
            continue
        if not is_name(name.strip()):
            found.append(problem(element, f"{name!r} can be no id: a name without spaces and colons is needed"))
        if name in seen:
            found.append(problem(element, f"the id {name!r} is used twice; first at line {seen[name]}"))
        seen.setdefault(name, element.line)
    spaces: dict[str, str] = {}
    for element in schema.named("ns"):
        prefix, uri = element.attributes.get("prefix", ""), element.attributes.get("uri", "")
        if spaces.get(prefix, uri) != uri:
            found.append(problem(element, f"the prefix {prefix!r} is declared twice, for different namespaces"))
        if prefix and not is_name(prefix):
            found.append(problem(element, f"{prefix!r} can be no prefix"))
        spaces[prefix] = uri
    return found


def _phases(schema: Element, patterns: Sequence[Element]) -> list[Problem]:
    """Phases and patterns that are named and are not there, in every phase, used or not."""
    found: list[Problem] = []
    phases = {phase.attributes.get("id", ""): phase for phase in schema.named("phase")}
    default = schema.attributes.get("defaultPhase", ALL).strip()
    if default not in (ALL, ANY, DEFAULT) and default not in phases:
        found.append(problem(schema, f"defaultPhase: {unknown_name('phase', default, phases)}"))
    concrete, abstract = ({_id(each) for each in patterns if each.is_abstract == kind} for kind in (False, True))
    for phase in phases.values():
        for active in phase.named("active"):
            name = active.attributes.get("pattern", "").strip()
            if name in abstract:
                found.append(problem(active, f"the pattern {name!r} is abstract: its instances are active, not itself"))
            elif name not in concrete:
                found.append(problem(active, unknown_name("pattern", name, filter(None, concrete))))
    return found


def _instances(patterns: Sequence[Element]) -> list[Problem]:
    """Instances of patterns that are not there or not abstract, or with more than parameters in them."""
    found: list[Problem] = []
    abstract = {_id(each) for each in patterns if each.is_abstract}
    for pattern in patterns:
        name = pattern.attributes.get("is-a", "").strip()
        if "is-a" not in pattern.attributes:
            continue
        if name not in abstract:
            found.append(problem(pattern, unknown_name("abstract pattern", name, filter(None, abstract))))
        found += [
            problem(child, f"an instance (is-a) holds no <{child.name}>: its abstract pattern does")
            for child in pattern
            if child.namespace == pattern.namespace and child.name in ("rule", "let")
        ]
    return found


def _messages(schema: Element) -> list[Problem]:
    """Diagnostics and properties that are named and are not there."""
    found: list[Problem] = []
    tests = [element for element in walk(schema) if element.name in ("assert", "report")]
    for kind, single in (("diagnostics", "diagnostic"), ("properties", "property")):
        known = {_id(each) for holder in schema.named(kind) for each in holder.named(single)}
        for test in tests:
            # In an abstract pattern a parameter may stand for the name.
            named_here = [name for name in test.attributes.get(kind, "").split() if "$" not in name]
            found += [
                problem(test, unknown_name(single, name, filter(None, known)))
                for name in named_here
                if name not in known
            ]
    return found


def _id(element: Element) -> str:
    return element.attributes.get("id", "")


def _abstract_rules(schema: Element) -> list[Problem]:
    """Rules that extend what is no abstract rule, or at last themselves."""
    rules = {
        rule.attributes["id"]: rule
        for rule in walk(schema)
        if rule.name == "rule" and rule.is_abstract and "id" in rule.attributes
    }
    found: list[Problem] = []
    for rule in (each for each in walk(schema) if each.name == "rule"):
        for extends in rule.named("extends"):
            name = extends.attributes.get("rule", "").strip()
            if "rule" in extends.attributes and name not in rules and "$" not in name:
                found.append(problem(extends, unknown_name("abstract rule", name, rules)))
    for name, rule in rules.items():
        reached: set[str] = set()
        waiting = [rule]
        while waiting:
            for extends in waiting.pop().named("extends"):
                other = extends.attributes.get("rule", "").strip()
                if other in rules and other not in reached:
                    reached.add(other)
                    waiting.append(rules[other])
        if name in reached:
            found.append(problem(rule, f"the abstract rule {name!r} extends itself"))
    return found


_INLINE = frozenset({"dir", "emph", "span"})
_MESSAGE = _INLINE | {"name", "value-of"}
_MESSAGES = frozenset({"assert", "report", "diagnostic", "property", *_INLINE})
_PATTERN = frozenset({"title", "p", "let", "rule", "param"})
_CHILDREN: Mapping[str, frozenset[str]] = {
    "schema": frozenset({"title", "ns", "p", "let", "phase", "pattern", "group", "rules", "diagnostics", "properties"}),
    "phase": frozenset({"title", "p", "let", "active"}),
    "active": _INLINE,
    "pattern": _PATTERN,
    "group": _PATTERN,
    "rules": frozenset({"title", "p", "rule"}),
    "rule": frozenset({"p", "let", "assert", "report", "extends"}),
    "assert": _MESSAGE,
    "report": _MESSAGE,
    "diagnostics": frozenset({"diagnostic"}),
    "diagnostic": _MESSAGE,
    "properties": frozenset({"property"}),
    "property": _MESSAGE,
    "p": _INLINE,
    "title": _INLINE,
    "emph": _MESSAGE,
    "span": _MESSAGE,
    "dir": _MESSAGE,
}
_HOLD_TEXT = frozenset({"active", "p", "title", "assert", "report", "diagnostic", "property", "let", *_INLINE})
_RICH = frozenset({"icon", "see", "fpi"})
_TEST = _RICH | {"id", "test", "role", "flag", "severity", "subject", "diagnostics", "properties"}
_PATTERN_ATTRIBUTES = _RICH | {"id", "name", "abstract", "is-a", "documents", "role"}
_ATTRIBUTES: Mapping[str, frozenset[str]] = {
    "schema": _RICH | {"id", "schemaVersion", "defaultPhase", "queryBinding", "schematronEdition", "version", "ns"},
    "ns": frozenset({"prefix", "uri"}),
    "p": frozenset({"id", "class", "icon"}),
    "title": frozenset({"id"}),
    "phase": _RICH | {"id", "from", "when"},
    "active": frozenset({"pattern"}),
    "pattern": _PATTERN_ATTRIBUTES,
    "group": _PATTERN_ATTRIBUTES,
    "rules": _RICH | {"id"},
    "rule": _RICH | {"id", "context", "abstract", "role", "flag", "severity", "subject", "visit-each"},
    "assert": _TEST,
    "report": _TEST,
    "let": frozenset({"name", "value", "as"}),
    "param": frozenset({"name", "value"}),
    "extends": frozenset({"rule", "href"}),
    "diagnostics": frozenset({"id"}),
    "properties": frozenset({"id"}),
    "diagnostic": _RICH | {"id", "role"},
    "property": _RICH | {"id", "role", "scheme"},
    "name": frozenset({"path"}),
    "value-of": frozenset({"select"}),
    "emph": frozenset({"class"}),
    "span": frozenset({"class"}),
    "dir": frozenset({"value", "class"}),
}
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "ns": ("prefix", "uri"),
    "phase": ("id",),
    "active": ("pattern",),
    "assert": ("test",),
    "report": ("test",),
    "let": ("name",),
    "param": ("name",),
    "diagnostic": ("id",),
    "property": ("id",),
    "value-of": ("select",),
}
_NOT_EMPTY = frozenset({"id", "prefix", "uri", "pattern", "name", "test", "context", "select", "is-a", "rule", "path"})
_AT_TOP: Mapping[Version, frozenset[str]] = {
    "1.0": frozenset({"key", "decimal-format"}),
    "3.0": frozenset({"key", "decimal-format", "function", "accumulator"}),
}
"""XSLT that a schema may hold next to its patterns, and is carried out by the engine in its sandbox."""

_INSTRUCTIONS = frozenset(
    "param sequence value-of variable if choose when otherwise for-each for-each-group perform-sort sort copy copy-of "  # noqa: SIM905
    "text element attribute comment number analyze-string matching-substring non-matching-substring try catch map "
    "map-entry array array-member iterate next-iteration break on-completion with-param accumulator-rule "
    "where-populated fallback".split()
)


def mistakes_of(schema: Element, version: Version) -> list[Problem]:
    """Find what is wrong with a schema's form, before anything in it is written out."""
    problems = [problem for element in walk(schema) for problem in _element(element, schema.namespace, version)]
    return problems + list(_foreign(schema, schema, version)) + wrong_names_of(schema)


def _element(element: Element, namespace: str, version: Version) -> Iterator[Problem]:
    name = element.name
    if name not in _ATTRIBUTES and name not in _CHILDREN:
        return  # reported where it stands
    yield from _attributes(element)
    if name not in _HOLD_TEXT and any(isinstance(part, str) and part.strip() for part in element.content):
        yield problem(element, f"<{name}> holds text outside its elements")
    if name != "let":
        allowed = _CHILDREN.get(name, frozenset())
        for child in element:
            if child.namespace == namespace and child.name not in allowed:
                yield problem(child, f"in <{name}>: {unknown_name('element', child.name, allowed)}")
    yield from _special(element, version)


def _attributes(element: Element) -> Iterator[Problem]:
    name = element.name
    known = _ATTRIBUTES.get(name, frozenset())
    for attribute in element.attributes:
        if attribute not in known:
            yield problem(element, f"<{name}>: {unknown_name('attribute', attribute, known)}")
        elif attribute in _NOT_EMPTY and not element.attributes[attribute].strip():
            yield problem(element, f"<{name}> has an empty attribute {attribute}")
    for attribute in _REQUIRED.get(name, ()):
        if attribute not in element.attributes:
            yield problem(element, f"<{name}> needs the attribute {attribute}")


def _special(element: Element, version: Version) -> Iterator[Problem]:
    """What hangs together in one element."""
    abstract = element.attributes.get("abstract", "false").strip()
    if abstract not in ("true", "false"):
        yield problem(element, f"abstract is 'true' or 'false', not {abstract!r}")
    match element.name:
        case "rule":
            yield from _rule(element)
        case "pattern" | "group":
            yield from _pattern(element)
        case "let":
            yield from _let(element, version)
        case "extends" if "rule" not in element.attributes:
            yield problem(element, "<extends> needs the attribute rule")


def _rule(element: Element) -> Iterator[Problem]:
    attributes = element.attributes
    if not element.is_abstract and "context" not in attributes:
        yield problem(element, "<rule> needs a context")
    if element.is_abstract and "context" in attributes:
        yield problem(element, "an abstract rule has no context: the rules that extend it have")
    if element.is_abstract and "id" not in attributes and (XML, "id") not in element.qualified:
        yield problem(element, "an abstract rule needs an id, by which it is extended")


def _pattern(element: Element) -> Iterator[Problem]:
    attributes = element.attributes
    if element.is_abstract and "id" not in attributes:
        yield problem(element, f"an abstract {element.name} needs an id, by which others are instances of it")
    if element.is_abstract and "is-a" in attributes:
        yield problem(element, f"a {element.name} is abstract or an instance (is-a), not both")
    for child in element:
        if child.name == "param" and "value" not in child.attributes and not element.is_abstract:
            yield problem(child, "<param> needs the attribute value, which an abstract pattern alone may leave out")
    if "is-a" not in attributes and not element.is_abstract:
        for child in element:
            if child.name == "param" and child.namespace == element.namespace:
                yield problem(child, "<param> belongs into an instance (is-a) or an abstract pattern")


def _let(element: Element, version: Version) -> Iterator[Problem]:
    attributes = element.attributes
    if "value" in attributes and any(not isinstance(part, str) or part.strip() for part in element.content):
        yield problem(element, "<let> has a value or content, not both")
    if "name" in attributes and not is_name(attributes["name"].strip()):
        yield problem(element, f"{attributes['name']!r} can be no variable's name")
    if "as" in attributes and version == "1.0":
        yield problem(element, "<let as=...> needs a queryBinding of xslt2 or later")


def _foreign(element: Element, schema: Element, version: Version) -> Iterator[Problem]:
    """Refuse XSLT that is not carried out; other namespaces say nothing to a validator."""
    for child in element:
        if child.namespace == schema.namespace:
            yield from _foreign(child, schema, version)
        elif element.name == "let":
            yield from _foreign_in_let(child)
        elif child.namespace == XSL:
            if element is schema and child.name in _AT_TOP[version]:
                yield from _instructions(child)
            elif element.name in _MESSAGES and child.name in ("copy-of", "value-of"):
                if set(child.attributes) != {"select"} or list(child):
                    yield problem(child, f"<xsl:{child.name}> in a message has select=... and nothing else")
            else:
                allowed = ", ".join(f"xsl:{name}" for name in sorted(_AT_TOP[version]))
                hint = f"beside patterns, {allowed} are understood"
                yield problem(child, f"<xsl:{child.name}> in <{element.name}> is refused", hint)


def _foreign_in_let(element: Element) -> Iterator[Problem]:
    """Instructions and elements that are a variable's value."""
    if element.namespace == XSL and element.name not in _INSTRUCTIONS:
        yield problem(element, f"<xsl:{element.name}> is refused in <let>")
    yield from _instructions(element)


def _instructions(element: Element) -> Iterator[Problem]:
    """Refuse instructions that write, read or load, in what is left to the engine."""
    for child in element:
        if child.namespace == XSL and child.name not in _INSTRUCTIONS:
            yield problem(child, f"<xsl:{child.name}> is refused in <{element.name}>")
        yield from _instructions(child)
