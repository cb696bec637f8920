"""Schematron's ways of saying things once, written out: abstract rules and patterns, phases.

What comes out is a schema of plain patterns, rules and asserts (ISO/IEC 19757-3, sections 5.4.4 extends, 5.4.9 param,
5.4.11 phase, and 6.3 to 6.4 on abstract patterns and rules). Every element counts against one limit, so that nothing
can multiply without bound.
"""

from __future__ import annotations

import re
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from maskwright.edits.languages.schematron.document import Element, descendants, refuse
from maskwright.edits.languages.schematron.inclusion import PATTERNS, Copies, with_included
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from maskwright.edits.languages.schematron.options import SchematronOptions

ALL, ANY, DEFAULT = "#ALL", "#ANY", "#DEFAULT"
MOST_NAMED = 5
_REFERRED_TO = {"diagnostics": "diagnostic", "properties": "property"}
_PARAMETER = re.compile(rf"\$\s*({NCNAME})")


def expand(schema: Element, options: SchematronOptions) -> tuple[Element, list[str]]:
    """Write a schema out."""
    return expand_included(with_included(schema, options), options)


def expand_included(whole: Element, options: SchematronOptions) -> tuple[Element, list[str]]:
    """Write a schema out that includes nothing any more; see `expand`."""
    expansion = _Expansion(options)
    expansion.references = {
        (kind, each.attributes["id"]): each
        for kind in _REFERRED_TO
        for holder in whole.named(kind)
        for each in holder.named(_REFERRED_TO[kind])
        if "id" in each.attributes
    }
    patterns = [pattern for name in PATTERNS for pattern in whole.named(name)]
    of_patterns = patterns if options.rules_of_other_patterns else []
    rules = {
        rule.attributes["id"]: rule
        for holder in (*of_patterns, whole, *whole.named("rules"))
        for rule in holder.named("rule")
        if rule.is_abstract and "id" in rule.attributes
    }
    expansion.rules_of_patterns = {
        rule.attributes.get("id", "") for pattern in patterns for rule in pattern.named("rule") if rule.is_abstract
    }
    templates = {
        pattern.attributes["id"]: pattern
        for pattern in (*whole.named("pattern"), *whole.named("group"))
        if pattern.is_abstract and "id" in pattern.attributes
    }
    for rule in (each for holder in whole.named("rules") for each in holder.named("rule")):
        if not rule.is_abstract:
            refuse(rule, "<rules> holds abstract rules: one with a context belongs into a pattern")
    content: list[str | Element] = []
    for part in whole.content:
        if _is(part, "rules"):
            continue
        if isinstance(part, str) or part.name not in PATTERNS or part.namespace != whole.namespace:
            content.append(part)
        elif not part.is_abstract:
            pattern = expansion.instance(part, templates) if "is-a" in part.attributes else part
            content.append(expansion.with_rules(pattern, rules))
    holders = [_with_copies(part, expansion.copies) for part in content]
    chosen, notes = _in_phase(replace(whole, content=holders), options)
    shared, more = with_shared_lets(chosen)
    return shared, [*notes, *more]


class _Expansion(Copies):
    def __init__(self, options: SchematronOptions) -> None:
        super().__init__(options)
        self.rules_of_patterns: set[str] = set()
        self.references: Mapping[tuple[str, str], Element] = {}
        self.copies: list[tuple[str, Element]] = []

    def instance(self, pattern: Element, templates: Mapping[str, Element]) -> Element:
        """Pattern that an ``is-a`` stands for: the abstract one with the parameters put in."""
        wanted = pattern.attributes["is-a"]
        if wanted not in templates:
            refuse(pattern, unknown_name("abstract pattern", wanted, templates))
        template = templates[wanted]
        if "is-a" in template.attributes:
            refuse(pattern, f"the abstract pattern {wanted!r} is itself an instance of another: that is not read")
        odd = [each.name for each in pattern if each.name not in ("param", "title", "p")]
        if odd:
            refuse(pattern, f"<pattern is-a=...> holds <{odd[0]}>; understood are param, title and p")
        values = self.arguments(pattern, template)
        whole = self.substituted(replace(template, content=[]), values)
        assert isinstance(whole, Element)
        about = {name: text for name, text in whole.attributes.items() if name == "documents"}
        attributes = about | {name: value for name, value in pattern.attributes.items() if name != "is-a"}
        content = [self.substituted(part, values) for part in template.content if not _is(part, "param")]
        self.refer_to_copies(content, values)
        return replace(pattern, attributes=attributes, content=content)

    def arguments(self, pattern: Element, template: Element) -> dict[str, str]:
        """Values of an instance's parameters: its own, or those that its abstract pattern gives by default."""
        declared, given = (
            {param.attributes.get("name", "").strip(): param for param in holder.named("param")}
            for holder in (template, pattern)
        )
        for param in given.values():
            if not param.attributes.get("name", "").strip() or "value" not in param.attributes:
                refuse(param, "<param> needs a name and a value")
        named = [self.references.get((kind, name)) for kind, name in _references_of(template)]
        parts = [each for whole in (template, *filter(None, named)) for each in descendants(whole)]
        used = {name for each in parts for name in _names_in(each)}
        # Where an abstract pattern declares no parameter, any may be given that could be meant.
        for name in given.keys() - declared.keys() - used if declared or not used else ():
            refuse(given[name], unknown_name("parameter of the abstract pattern", name, {*declared, *used}))
        for name, param in declared.items():
            if name not in given and "value" not in param.attributes:
                refuse(pattern, f"the abstract pattern needs a value of its parameter {name!r}")
        return {name: param.attributes["value"] for name, param in {**declared, **given}.items()}

    def refer_to_copies(self, content: Iterable[str | Element], values: Mapping[str, str]) -> None:
        """Let the tests of an instance refer to diagnostics and properties in which its parameters are put in."""
        tests = [each for part in content if isinstance(part, Element) for each in descendants(part)]
        for test in tests:
            for kind in ("diagnostics", "properties"):
                names = [self.copied(kind, name, values) for name in test.attributes.get(kind, "").split()]
                if names:
                    test.attributes[kind] = " ".join(names)

    def copied(self, kind: str, name: str, values: Mapping[str, str]) -> str:
        """Id of what a test refers to, or of a copy of it in which parameters are put in."""
        stated = self.references.get((kind, name))
        if stated is None:
            return name
        copy = self.substituted(stated, values)
        assert isinstance(copy, Element)
        if _without_copies(copy) == _without_copies(stated):
            return name
        number = 1 + sum(kind == of and each.attributes["id"].startswith(f"{name}.") for of, each in self.copies)
        self.copies.append((kind, replace(copy, attributes={**copy.attributes, "id": f"{name}.{number}"})))
        return f"{name}.{number}"

    def substituted(self, part: str | Element, values: Mapping[str, str]) -> str | Element:
        if isinstance(part, str):
            return part
        attributes = {
            name: _PARAMETER.sub(lambda match: values.get(match[1], match[0]), text)
            for name, text in part.attributes.items()
        }
        longest = max((len(text) for text in attributes.values()), default=0)
        if longest > self.options.max_expression:
            refuse(part, f"with its parameters, a text has more than {self.options.max_expression:,} characters")
        content = [self.substituted(each, values) for each in part.content]
        return self.counted(replace(part, attributes=attributes, content=content, is_copy=True))

    def with_rules(self, pattern: Element, everywhere: Mapping[str, Element]) -> Element:
        """Pattern in which ``extends`` is replaced by what the abstract rule says; abstract rules are left out."""
        own = {rule.attributes["id"]: rule for rule in pattern.named("rule") if "id" in rule.attributes}
        known = {**everywhere, **{name: rule for name, rule in own.items() if rule.is_abstract}}
        content: list[str | Element] = []
        for part in pattern.content:
            if isinstance(part, str) or part.name != "rule":
                content.append(part)
            elif not part.is_abstract:
                content.append(replace(part, content=list(self.extended(part, known, ()))))
        return replace(pattern, content=content)

    def extended(self, rule: Element, known: Mapping[str, Element], above: tuple[str, ...]) -> Iterator[str | Element]:
        for part in rule.content:
            if isinstance(part, str) or part.name != "extends" or part.namespace != rule.namespace:
                yield replace(self.counted(part), is_copy=True) if above and isinstance(part, Element) else part
                continue
            wanted = part.attributes.get("rule", "")
            if wanted not in known:
                if wanted in self.rules_of_patterns:
                    hint = (
                        "put it into <rules>, next to the patterns, from where all may extend it, or "
                        "read the file with the option rules_of_other_patterns=true"
                    )
                    refuse(part, f"the abstract rule {wanted!r} is one of another pattern, and is extended there", hint)
                refuse(part, unknown_name("abstract rule", wanted, known))
            if wanted in above:
                refuse(part, f"the abstract rule {wanted!r} extends itself")
            yield from self.extended(known[wanted], known, (*above, wanted))


def _in_phase(schema: Element, options: SchematronOptions) -> tuple[Element, list[str]]:
    phases = {phase.attributes.get("id", ""): phase for phase in schema.named("phase")}
    default = schema.attributes.get("defaultPhase", ALL).strip()
    wanted = options.phase if options.phase not in (None, DEFAULT) else default
    rest = [part for part in schema.content if not _is(part, "phase")]
    attributes = {name: value for name, value in schema.attributes.items() if name != "defaultPhase"}
    if wanted == ALL:
        return replace(schema, attributes=attributes, content=rest), []
    if wanted not in phases:
        refuse(schema, unknown_name("phase", str(wanted), [ALL, *phases]))
    phase = phases[wanted]
    patterns = {pattern.attributes.get("id") for name in PATTERNS for pattern in schema.named(name)}
    active: set[str] = set()
    for each in phase.named("active"):
        name = each.attributes.get("pattern", "")
        if name not in patterns:
            refuse(each, unknown_name("pattern", name, [known for known in patterns if known]))
        active.add(name)
    odd = [each.name for each in phase if each.name not in ("active", "let", "p", "title")]
    if odd:
        refuse(phase, f"<phase> holds <{odd[0]}>; understood are active, let and p")
    kept = [
        part
        for part in rest
        if isinstance(part, str) or part.name not in PATTERNS or part.attributes.get("id") in active
    ]
    left_out = len(rest) - len(kept)
    note = f"{schema.file}: phase {wanted!r}: {left_out} pattern{'s are' if left_out != 1 else ' is'} left out"
    # Variables of a phase are seen in all its patterns, as those of the schema are.
    return replace(schema, attributes=attributes, content=[*phase.named("let"), *kept]), [note]


def _with_copies(part: str | Element, copies: Iterable[tuple[str, Element]]) -> str | Element:
    own = () if isinstance(part, str) else [each for kind, each in copies if kind == part.name]
    return replace(part, content=[*part.content, *own]) if isinstance(part, Element) and own else part


def _without_copies(element: Element) -> list[object]:
    """What an element says, whether it was written out or not."""
    return [part if isinstance(part, str) else (part.attributes, _without_copies(part)) for part in element.content]


def with_shared_lets(schema: Element) -> tuple[Element, list[str]]:
    """Schema in which a variable of one pattern that others use is one of the schema.

    The standard has it in its own pattern only. Processors that are written in XSLT have it everywhere, and schemas of
    invoices rest on that. Of several patterns that define a name, each keeps its own.
    """
    patterns = [part for name in PATTERNS for part in schema.named(name)]
    everywhere = {let.attributes.get("name", "").strip() for let in schema.named("let")}
    own: dict[str, list[Element]] = {}
    for pattern in patterns:
        for let in pattern.named("let"):
            own.setdefault(let.attributes.get("name", "").strip(), []).append(pattern)
    used = {id(pattern): _used_in(pattern) for pattern in patterns}
    wanted = [
        name for name, holders in own.items()
        if len(holders) == 1 and name not in everywhere
        and any(pattern is not holders[0] and name in used[id(pattern)] for pattern in patterns)
    ]  # fmt: skip
    alone = {
        name: let
        for name, holders in own.items() if len(holders) == 1
        for let in holders[0].named("let") if let.attributes.get("name", "").strip() == name
    }  # fmt: skip
    needs: dict[str, list[str]] = {}
    while wanted:
        name = wanted.pop()
        if name not in needs and name in alone:
            needs[name] = [each for each in _names_in(alone[name]) if each in alone and each != name]
            wanted += needs[name]
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError:
        # Variables that need each other: what reads them says so.
        order = list(needs)
    shared = {name: alone[name] for name in order}
    if not shared:
        return schema, []
    moved = {id(let) for let in shared.values()}
    content: list[str | Element] = [
        replace(part, content=[each for each in part.content if id(each) not in moved])
        if isinstance(part, Element) and part.name in PATTERNS else part
        for part in schema.content
    ]  # fmt: skip
    first = next(place for place, part in enumerate(content) if isinstance(part, Element) and part.name in PATTERNS)
    content[first:first] = shared.values()
    let = shared[order[0]]
    names = ", ".join(order[:MOST_NAMED]) + (f" and {len(order) - MOST_NAMED} others" if order[MOST_NAMED:] else "")
    note = (
        f"{let.file or schema.file}:{let.line}: variables of one pattern are used in another ({names}): they are taken "
        "for variables of the schema, as processors written in XSLT do; the standard has them in their pattern only"
    )
    return replace(schema, content=content), [note]


def _used_in(pattern: Element) -> set[str]:
    """Names of variables that a pattern uses and none of its rules defines."""
    rules = [each for each in descendants(pattern) if each.name == "let"]
    names = {name for each in descendants(pattern) for name in _names_in(each)}
    return names - {let.attributes.get("name", "").strip() for let in rules}


def _names_in(element: Element) -> list[str]:
    return [name for text in element.attributes.values() for name in _PARAMETER.findall(text)]


def _references_of(element: Element) -> Iterator[tuple[str, str]]:
    for each in descendants(element):
        yield from ((kind, name) for kind in _REFERRED_TO for name in each.attributes.get(kind, "").split())


def _is(part: str | Element, name: str) -> bool:
    return isinstance(part, Element) and part.name == name
