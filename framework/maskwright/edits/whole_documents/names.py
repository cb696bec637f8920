"""Names in a schema: those borne twice, and those that nothing bears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.languages.schematron.expansion import ALL, DEFAULT, PATTERNS
from maskwright.edits.whole_documents.elements import is_abstract, named, problem, walk
from maskwright.edits.whole_documents.expressions import is_name
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.edits.languages.schematron.document import Element
    from maskwright.foundation.errors import Problem


def wrong_names_of(schema: Element) -> list[Problem]:
    """Find names that are used twice or stand for nothing, in what is carried out and in what is not.

    `schema`: with included files in their places, and otherwise as written.
    """
    patterns = [element for name in PATTERNS for element in named(schema, name)]
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
    for element in named(schema, "ns"):
        prefix, uri = element.attributes.get("prefix", ""), element.attributes.get("uri", "")
        if prefix in spaces:
            found.append(problem(element, f"the prefix {prefix!r} is declared twice"))
        if prefix and not is_name(prefix):
            found.append(problem(element, f"{prefix!r} can be no prefix"))
        spaces[prefix] = uri
    return found


def _phases(schema: Element, patterns: Sequence[Element]) -> list[Problem]:
    """Phases and patterns that are named and are not there, in every phase, used or not."""
    found: list[Problem] = []
    phases = {phase.attributes.get("id", ""): phase for phase in named(schema, "phase")}
    default = schema.attributes.get("defaultPhase", ALL).strip()
    if default not in (ALL, DEFAULT) and default not in phases:
        found.append(problem(schema, f"defaultPhase: {unknown_name('phase', default, phases)}"))
    concrete, abstract = ({_id(each) for each in patterns if is_abstract(each) == kind} for kind in (False, True))
    for phase in phases.values():
        for active in named(phase, "active"):
            name = active.attributes.get("pattern", "").strip()
            if name in abstract:
                found.append(problem(active, f"the pattern {name!r} is abstract: its instances are active, not itself"))
            elif name not in concrete:
                found.append(problem(active, unknown_name("pattern", name, filter(None, concrete))))
    return found


def _instances(patterns: Sequence[Element]) -> list[Problem]:
    """Instances of patterns that are not there or not abstract, or with more than parameters in them."""
    found: list[Problem] = []
    abstract = {_id(each) for each in patterns if is_abstract(each)}
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
        known = {_id(each) for holder in named(schema, kind) for each in named(holder, single)}
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
        if rule.name == "rule" and is_abstract(rule) and "id" in rule.attributes
    }
    found: list[Problem] = []
    for rule in (each for each in walk(schema) if each.name == "rule"):
        for extends in named(rule, "extends"):
            name = extends.attributes.get("rule", "").strip()
            if "rule" in extends.attributes and name not in rules and "$" not in name:
                found.append(problem(extends, unknown_name("abstract rule", name, rules)))
    for name, rule in rules.items():
        reached: set[str] = set()
        waiting = [rule]
        while waiting:
            for extends in named(waiting.pop(), "extends"):
                other = extends.attributes.get("rule", "").strip()
                if other in rules and other not in reached:
                    reached.add(other)
                    waiting.append(rules[other])
        if name in reached:
            found.append(problem(rule, f"the abstract rule {name!r} extends itself"))
    return found
