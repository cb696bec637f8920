"""Schematron's ways of saying things once, written out: includes, abstract rules and patterns, phases.

What comes out is a schema of plain patterns, rules and asserts (ISO/IEC 19757-3, sections 5.4.4 extends, 5.4.6
include, 5.4.9 param, 5.4.11 phase, and 6.3 to 6.4 on abstract patterns and rules). Files are read only inside the
folder that was declared for them; every element counts against one limit, so that nothing can multiply without bound.
"""

from __future__ import annotations

import re
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from maskwright.edits.engines.engine_tests import XSL
from maskwright.edits.languages.schematron.document import RAISE_LIMIT, Element, read_document
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from maskwright.edits.languages.schematron.options import SchematronOptions

ALL, DEFAULT = "#ALL", "#DEFAULT"
MOST_FILES = 100
MOST_NAMED = 5
PATTERNS = ("pattern", "group")
_REFERRED_TO = {"diagnostics": "diagnostic", "properties": "property"}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|\\\\")
_PARAMETER = re.compile(rf"\$\s*({NCNAME})")


def expand(schema: Element, options: SchematronOptions) -> tuple[Element, list[str]]:
    """Write a schema out."""
    return expand_included(with_included(schema, options), options)


def with_included(schema: Element, options: SchematronOptions) -> Element:
    """Schema with the content of included files in their places; see `expand`."""
    return _Expansion(options).with_includes(schema, (Path(schema.file).resolve(),))


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
    rules = {
        rule.attributes["id"]: rule
        for pattern in (*whole.named("pattern"), *whole.named("group"), *whole.named("rules"))
        for rule in (*pattern.named("rule"), *whole.named("rule"))
        if rule.is_abstract and "id" in rule.attributes
    }
    templates = {
        pattern.attributes["id"]: pattern
        for pattern in (*whole.named("pattern"), *whole.named("group"))
        if pattern.is_abstract and "id" in pattern.attributes
    }
    content: list[str | Element] = []
    for part in whole.content:
        if isinstance(part, str) or part.name not in PATTERNS or part.namespace != whole.namespace:
            content.append(part)
        elif not part.is_abstract:
            pattern = expansion.instance(part, templates) if "is-a" in part.attributes else part
            content.append(expansion.with_rules(pattern, rules))
    holders = [_with_copies(part, expansion.copies) for part in content]
    chosen, notes = _in_phase(replace(whole, content=holders), options)
    shared, more = with_shared_lets(chosen)
    return shared, [*notes, *_borrowed_rules(whole), *more]


def _borrowed_rules(whole: Element) -> list[str]:
    """Notice of abstract rules that are extended outside of the pattern that they stand in."""
    names: dict[str, Element] = {}
    holders = [part for name in PATTERNS for part in whole.named(name)]
    homes = [{rule.attributes.get("id") for rule in holder.named("rule")} for holder in holders]
    for holder, own in zip(holders, homes, strict=True):
        for each in _descendants(holder):
            name = each.attributes.get("rule", "") if each.name == "extends" else ""
            if name and name not in own and any(name in home for home in homes):
                names.setdefault(name, each)
    if not names:
        return []
    first = next(iter(names.values()))
    more = f" and {len(names) - MOST_NAMED} others" if len(names) > MOST_NAMED else ""
    note = (
        f"{first.file or whole.file}:{first.line}: abstract rules of one pattern are extended in another "
        f"({', '.join([*names][:MOST_NAMED])}{more}), which the standard has as an error: they are taken as they are"
    )
    return [note]


class _Expansion:
    """Copies of elements, all counted."""

    def __init__(self, options: SchematronOptions) -> None:
        self.options = options
        self.elements = 0
        self.files = 0
        self.references: Mapping[tuple[str, str], Element] = {}
        self.copies: list[tuple[str, Element]] = []

    def counted(self, element: Element) -> Element:
        self.elements += 1
        if self.elements > 4 * self.options.max_elements:
            _refuse(element, "written out, the schema has too many elements", RAISE_LIMIT)
        return element

    def with_includes(self, element: Element, files: tuple[Path, ...]) -> Element:
        """Copy of an element with the content of included files in their places."""
        self.counted(element)
        content: list[str | Element] = []
        for part in element.content:
            if isinstance(part, str) or part.namespace != element.namespace:
                content.append(_as_let(part, element))
            elif part.name == "include":
                content.append(self.fetched(part, files, element.namespace)[0])
            elif part.name == "extends" and "href" in part.attributes:
                other, _ = self.fetched(part, files, element.namespace)
                if other.name != element.name:
                    _refuse(part, f"<{element.name}> cannot extend the <{other.name}> of that file")
                content += list(other)
            else:
                content.append(self.with_includes(part, files))
        return replace(element, content=content)

    def fetched(self, reference: Element, files: tuple[Path, ...], namespace: str) -> tuple[Element, Path]:
        """Root of an included file, or the element that the reference's ``#id`` names, with its own includes."""
        written = reference.attributes.get("href", "").strip()
        name, _, fragment = written.partition("#")
        path = self.permitted(reference, name, files[0])
        if path in files:
            _refuse(reference, f"the included file {path.name} includes itself")
        self.files += 1
        if self.files > MOST_FILES:
            _refuse(reference, f"more than {MOST_FILES} files are included")
        root = read_document(path, self.options)
        if fragment:
            found = next((each for each in _descendants(root) if each.attributes.get("id") == fragment), None)
            if found is None:
                known = [each.attributes["id"] for each in _descendants(root) if "id" in each.attributes]
                _refuse(reference, unknown_name(f"element in {path.name}", fragment, known))
            root = found
        if root.namespace != namespace:
            _refuse(reference, f"the included element <{root.name}> is of another namespace than the schema")
        return self.with_includes(root, (*files, path)), path

    def permitted(self, reference: Element, name: str, main: Path) -> Path:
        """Path of an included file; nothing outside the declared folder is accessed."""
        folder = self.options.include_folder
        if folder is None:
            hint = "name the folder that included files may be in: include_folder (--include FOLDER), or copy them in"
            _refuse(reference, f"<{reference.name} href=...> is not followed unless a folder is declared for it", hint)
        if not name or _SCHEME.match(name) or "\0" in name:
            hint = "give the name of a file inside the declared folder"
            _refuse(reference, f"<{reference.name}> names no file: {name!r}; addresses are never fetched", hint)
        base = (main.parent / folder).resolve()
        path = (Path(reference.file).parent / name).resolve()
        if not path.is_relative_to(base):
            _refuse(reference, f"the file {name} is outside the folder declared for included files")
        return path

    def instance(self, pattern: Element, templates: Mapping[str, Element]) -> Element:
        """Pattern that an ``is-a`` stands for: the abstract one with the parameters put in."""
        wanted = pattern.attributes["is-a"]
        if wanted not in templates:
            _refuse(pattern, unknown_name("abstract pattern", wanted, templates))
        template = templates[wanted]
        if "is-a" in template.attributes:
            _refuse(pattern, f"the abstract pattern {wanted!r} is itself an instance of another: that is not read")
        odd = [each.name for each in pattern if each.name not in ("param", "title", "p")]
        if odd:
            _refuse(pattern, f"<pattern is-a=...> holds <{odd[0]}>; understood are param, title and p")
        values: dict[str, str] = {}
        for param in (*template.named("param"), *pattern.named("param")):
            name, value = param.attributes.get("name", "").strip(), param.attributes.get("value")
            if not name or value is None:
                _refuse(param, "<param> needs a name and a value")
            values[name] = value
        attributes = {name: value for name, value in pattern.attributes.items() if name != "is-a"}
        content = [self.substituted(part, values) for part in template.content if not _is(part, "param")]
        self.refer_to_copies(content, values)
        return replace(pattern, attributes=attributes, content=content)

    def refer_to_copies(self, content: Iterable[str | Element], values: Mapping[str, str]) -> None:
        """Let the tests of an instance refer to diagnostics and properties in which its parameters are put in."""
        tests = [each for part in content if isinstance(part, Element) for each in _descendants(part)]
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
            _refuse(part, f"with its parameters, a text has more than {self.options.max_expression:,} characters")
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
                _refuse(part, unknown_name("abstract rule", wanted, known))
            if wanted in above:
                _refuse(part, f"the abstract rule {wanted!r} extends itself")
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
        _refuse(schema, unknown_name("phase", str(wanted), [ALL, *phases]))
    phase = phases[wanted]
    patterns = {pattern.attributes.get("id") for name in PATTERNS for pattern in schema.named(name)}
    active: set[str] = set()
    for each in phase.named("active"):
        name = each.attributes.get("pattern", "")
        if name not in patterns:
            _refuse(each, unknown_name("pattern", name, [known for known in patterns if known]))
        active.add(name)
    odd = [each.name for each in phase if each.name not in ("active", "let", "p", "title")]
    if odd:
        _refuse(phase, f"<phase> holds <{odd[0]}>; understood are active, let and p")
    kept = [
        part
        for part in rest
        if isinstance(part, str) or part.name not in PATTERNS or part.attributes.get("id") in active
    ]
    left_out = len(rest) - len(kept)
    note = f"{schema.file}: phase {wanted!r}: {left_out} pattern{'s are' if left_out != 1 else ' is'} left out"
    # Variables of a phase are seen in all its patterns, as those of the schema are.
    return replace(schema, attributes=attributes, content=[*phase.named("let"), *kept]), [note]


def _as_let(part: str | Element, around: Element) -> str | Element:
    """``xsl:variable`` next to rules or tests is what ``let`` is."""
    if isinstance(part, str) or part.namespace != XSL or part.name not in ("variable", "param"):
        return part
    known = part.attributes.keys() <= {"name", "select", "as"}
    if around.name not in ("schema", "phase", "rule", *PATTERNS) or not known or "name" not in part.attributes:
        return part
    attributes = {("value" if name == "select" else name): text for name, text in part.attributes.items()}
    return replace(part, namespace=around.namespace, name="let", attributes=attributes)


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
    rules = [each for each in _descendants(pattern) if each.name == "let"]
    names = {name for each in _descendants(pattern) for name in _names_in(each)}
    return names - {let.attributes.get("name", "").strip() for let in rules}


def _names_in(element: Element) -> list[str]:
    return [name for text in element.attributes.values() for name in _PARAMETER.findall(text)]


def _is(part: str | Element, name: str) -> bool:
    return isinstance(part, Element) and part.name == name


def _descendants(element: Element) -> Iterable[Element]:
    yield element
    for child in element:
        yield from _descendants(child)


def _refuse(element: Element, message: str, hint: str | None = None) -> NoReturn:
    raise EditError(Problem(message, element.place, hint))
