"""Elements of an SVRL report as text: what stands around and inside a failure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar
from xml.sax.saxutils import escape

import pyarrow.compute as pc

from maskwright.edits.engines.record_form import NOT_XML
from maskwright.edits.expression import InOriginal, VariableReference, nodes
from maskwright.edits.languages.xpath.parser import parse_xpath
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright.edits.edit import Edit
    from maskwright.edits.expression import Expression

SVRL_NAMESPACE = "http://purl.oclc.org/dsdl/svrl"
MARK = "maskwright"
"""Target of processing instructions in a report."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NOT_XML_CHARACTERS = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
_REPLACEMENT = "\ufffd"
Piece = TypeVar("Piece")


def undecidable_instruction(name: str, code: str, location: str) -> str:
    """What stands in place of a failure where a test cannot be evaluated: SVRL has no element for it."""
    stated = f"undecidable{attributes(id=name, code=code, location=location)}"
    return f"<?{MARK} {stated.replace('?>', '?')}?>\n"


def element_name(edit: Edit) -> str:
    """Name of the element that says that a record breaks an edit."""
    return "successful-report" if edit.assertion is not None and edit.assertion.report else "failed-assert"


def opening_text(edit: Edit) -> str:
    """Tag of that element up to the location of the record."""
    if edit.assertion is None:
        role = "warning" if edit.severity == "warning" else None
        stated = attributes(test=edit.text, id=edit.name, role=role)
    else:
        written = edit.assertion
        stated = attributes(test=written.test, id=written.id or edit.name, role=written.role, flag=written.flag)
    return f"<svrl:{element_name(edit)}{stated} location="


def attributes(**values: str | None) -> str:
    """Attributes of a tag that have a value."""
    return "".join(f" {name}={quoted(value)}" for name, value in values.items() if value is not None)


def quoted(text: str) -> str:
    """Value of an attribute."""
    # Double quotes always: the location is completed record by record inside them.
    return f'"{escape(text, {chr(34): "&quot;"})}"'


def content_of(edit: Edit) -> list[str | Expression]:
    """What stands inside a failure: markup, and expressions to fill in."""
    return _content(edit, lambda message: _pieces(message, edit.variables))


def _content(edit: Edit, shown: Callable[[str], Sequence[Piece]]) -> list[str | Piece]:
    content: list[str | Piece] = ["<svrl:text>", *shown(edit.message or edit.name), "</svrl:text>"]
    if edit.assertion is not None:
        for kind, references in (("diagnostic", edit.assertion.diagnostics), ("property", edit.assertion.properties)):
            for name, message in references:
                opening = f"<svrl:{kind}-reference{attributes(**{kind: name})}><svrl:text>"
                content += [opening, *shown(message), f"</svrl:text></svrl:{kind}-reference>"]
    return content


def content_without_texts(edit: Edit) -> list[str]:
    """What stands inside a failure: markup, and an empty text where each message goes."""
    return _content(edit, lambda _: [""])


def character_data(text: str) -> str:
    """Text as XML character data."""
    return escape(re.sub(_NOT_XML_CHARACTERS, _REPLACEMENT, text))


def _pieces(message: str, variables: Sequence[str]) -> list[str | Expression]:
    """Split a message into fixed text and expressions to fill in; ``{...}`` that is no expression stays as it is."""
    pieces: list[str | Expression] = []
    position = 0
    for match in _PLACEHOLDER.finditer(message):
        try:
            named = match[1] in variables
            expression = VariableReference(match[1]) if named else parse_xpath(match[1])
        except EditError:
            continue
        if any(isinstance(node, InOriginal) for node in nodes(expression)):
            continue
        pieces += [escape(message[position : match.start()]), expression]
        position = match.end()
    return [*pieces, escape(message[position:])]


def escaped_cells(texts: Any) -> Any:
    """Cell texts as XML character data; characters that XML cannot hold become U+FFFD."""
    clean = pc.replace_substring_regex(texts, NOT_XML, _REPLACEMENT)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        clean = pc.replace_substring(clean, character, entity)
    return clean
