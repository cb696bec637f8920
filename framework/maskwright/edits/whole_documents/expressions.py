"""Elements and expressions of a schema, checked before an engine gets them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maskwright.edits.engines.engine_tests import STANDARD_NAMESPACES, Version, tokens_of
from maskwright.foundation.errors import Problem
from maskwright.foundation.nearest_names import nearest_name, unknown_name
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from maskwright.edits.languages.schematron.document import Element
    from maskwright.edits.languages.schematron.options import SchematronOptions


_XPATH_1 = frozenset(
    "last position count id local-name namespace-uri name string concat starts-with contains substring-before "  # noqa: SIM905
    "substring-after substring string-length normalize-space translate boolean not true false lang number sum floor "
    "ceiling round key format-number current generate-id unparsed-entity-uri function-available".split()
)
_NODE_TESTS = frozenset({"text", "node", "comment", "processing-instruction"})
_EXTENSIONS = frozenset(
    f"http://exslt.org/{name}"
    for name in ("common", "math", "sets", "strings", "dates-and-times", "regular-expressions")
)
_REACH_OUT = {
    **dict.fromkeys(
        ("document", "doc", "doc-available", "collection", "uri-collection", "json-doc", "unparsed-text",
         "unparsed-text-lines", "unparsed-text-available", "unparsed-binary", "stream-available"),
        "reads another document, and only the document that is checked is read",
    ),
    **dict.fromkeys(
        ("environment-variable", "available-environment-variables", "system-property"),
        "asks for the computer it runs on, which rules do not know",
    ),
    **dict.fromkeys(
        ("transform", "load-xquery-module", "evaluate", "function-lookup", "parse-xml", "parse-xml-fragment"),
        "runs or reads what is not written in the schema",
    ),
}  # fmt: skip


def reason_to_refuse(
    text: str,
    version: Version,
    namespaces: Mapping[str, str],
    variables: Collection[str],
    functions: Collection[tuple[str, str]],
    limits: SchematronOptions,
) -> str | None:
    """Say why an expression is a mistake, or why no engine gets it; None when an engine may have it."""
    if not text.strip():
        return "it is empty"
    if len(text) > limits.max_expression:
        return f"it has {len(text):,} characters; at most {limits.max_expression:,} are read"
    try:
        tokens = tokens_of(without_comments(text) if version != "1.0" else text)
    except ValueError as error:
        return str(error)
    known = {"xml": "", **(STANDARD_NAMESPACES if version != "1.0" else {}), **namespaces}
    depth = 0
    for position, (kind, term) in enumerate(tokens):
        depth += (term in ("(", "[", "{")) - (term in (")", "]", "}"))
        if depth > limits.max_nesting:
            return f"it is nested more than {limits.max_nesting} levels deep"
        after = tokens[position + 1][1] if position + 1 < len(tokens) else ""
        reason = None
        if kind == "reference":
            reason = _reason_of_reference(term, text, known, variables)
        elif kind in ("name", "braced"):
            reason = _reason_of_name(term, after, version, known, functions)
        if reason is not None:
            return reason
    return None


def without_comments(text: str) -> str:
    """XPath without its comments ``(: ... :)``, which may hold others; one that does not end stays."""
    out: list[str] = []
    depth, quote = 0, ""
    position = 0
    while position < len(text):
        pair = text[position : position + 2]
        if not quote and pair == "(:":
            depth += 1
            position += 2
        elif depth and pair == ":)":
            depth -= 1
            position += 2
            out.append(" ")
        else:
            character = text[position]
            if not depth:
                out.append(character)
                if quote:
                    quote = "" if character == quote else quote
                elif character in "\"'":
                    quote = character
            position += 1
    return text if depth else "".join(out)


def alternatives(text: str) -> list[str]:
    """Patterns that a pattern unites with ``|``."""
    found, start, depth, quote = [], 0, 0, ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "|" and depth == 0:
            found.append(text[start:position].strip())
            start = position + 1
    return [*found, text[start:].strip()]


def _reason_of_reference(term: str, text: str, known: Mapping[str, str], variables: Collection[str]) -> str | None:
    prefix, _, local = term.lstrip("$ \t\r\n").rpartition(":")
    if prefix:
        return _reason_of_prefix(prefix, known)
    return None if local in variables or _is_bound(text, local) else unknown_name("let variable", local, variables)


def _reason_of_name(
    term: str, after: str, version: Version, known: Mapping[str, str], functions: Collection[tuple[str, str]]
) -> str | None:
    """Why a name stands for nothing, or calls what no rule may call."""
    if term.startswith("Q{"):
        prefix, uri, local = "Q{}", term[2:].partition("}")[0], term.partition("}")[2]
    else:
        prefix, _, local = term.rpartition(":")
        if prefix and prefix not in known:
            return _reason_of_prefix(prefix, known)
        uri = known.get(prefix, "")
    if after not in ("(", "#") or (uri, local) in functions:
        return None
    if local in _REACH_OUT:
        return f"{local}() {_REACH_OUT[local]}"
    return _reason_of_first(local, uri, is_qualified=prefix != "") if version == "1.0" else None


def _reason_of_first(name: str, uri: str, *, is_qualified: bool) -> str | None:
    """Why XPath 1.0 has no such function: libxslt would find out only where it is called."""
    if is_qualified:
        allowed = ", ".join(sorted(_EXTENSIONS))
        return None if uri in _EXTENSIONS else f"{name}() is of no known extension of XPath 1.0 ({allowed})"
    if name in _XPATH_1 or name in _NODE_TESTS or name in ("and", "or", "div", "mod"):
        return None
    near = nearest_name(name, _XPATH_1)
    way = f"did you mean {near}()?" if near else "later versions are requested by the schema's queryBinding"
    return f"{name}() is no function of XPath 1.0; {way}"


def _reason_of_prefix(prefix: str, known: Mapping[str, str]) -> str | None:
    if prefix in known:
        return None
    declared = ", ".join(sorted(known.keys() - STANDARD_NAMESPACES.keys() - {"xml"}))
    return f"the prefix {prefix!r} is declared by no <ns>; {f'declared are: {declared}' if declared else 'none is'}"


def _is_bound(text: str, name: str) -> bool:
    """Whether the expression itself gives the variable its values, as ``for $x in`` or ``function($x)`` do."""
    variable = rf"\$\s*{re.escape(name)}(?![\w.-])"
    binding = rf"{variable}\s*(?:in\b|:=|as\b)|function\s*\((?:[^()]|\([^()]*\))*{variable}"
    return re.search(binding, text) is not None


def is_name(text: str) -> bool:
    """Whether a text is a name without a prefix."""
    return re.fullmatch(NCNAME, text) is not None


def walk(element: Element) -> Iterator[Element]:
    """Every Schematron element, without what stands inside a ``let`` or an element of another namespace."""
    yield element
    if element.name != "let":
        for child in element:
            if child.namespace == element.namespace:
                yield from walk(child)


def problem(element: Element, message: str, hint: str | None = None) -> Problem:
    """A mistake at an element."""
    return Problem(message, element.place, hint)


def text_of(element: Element) -> str:
    """Text of an element and of those in it."""
    return "".join(part if isinstance(part, str) else text_of(part) for part in element.content)
