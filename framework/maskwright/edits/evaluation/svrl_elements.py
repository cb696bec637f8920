"""Elements of SVRL reports as texts: what is the same for every record, and what each record fills in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import pyarrow.compute as pc

from maskwright.edits.engines.checker import NOT_XML
from maskwright.edits.expression import InOriginal, nodes
from maskwright.edits.languages.xpath.parser import parse_xpath
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from maskwright.edits.edit import Edit
    from maskwright.edits.expression import Expression

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NOT_XML_CHARACTERS = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
_REPLACEMENT = "\ufffd"


def element_name(edit: Edit) -> str:
    """Name of the element that says that a record breaks an edit."""
    return "successful-report" if edit.assertion is not None and edit.assertion.report else "failed-assert"


def opening_text(edit: Edit) -> str:
    """Tag of that element up to the location of the record."""
    if edit.assertion is None:
        role = "warning" if edit.severity == "warning" else None
        said = attributes(test=edit.text, id=edit.name, role=role)
    else:
        written = edit.assertion
        said = attributes(test=written.test, id=written.id or edit.name, role=written.role, flag=written.flag)
    return f"<svrl:{element_name(edit)}{said} location="


def attributes(**values: str | None) -> str:
    """Attributes of a tag that have a value."""
    return "".join(f" {name}={quoted(value)}" for name, value in values.items() if value is not None)


def quoted(text: str) -> str:
    """Value of an attribute."""
    # Double quotes always: the location is completed record by record inside them.
    return f'"{escape(text, {chr(34): "&quot;"})}"'


def content_of(edit: Edit) -> list[str | Expression]:
    """What stands inside a failure: markup, and expressions to fill in."""
    content: list[str | Expression] = ["<svrl:text>", *_pieces(edit.message or edit.name), "</svrl:text>"]
    if edit.assertion is not None:
        for kind, references in (
            ("diagnostic", edit.assertion.diagnostics),
            ("property", edit.assertion.properties),
        ):
            for name, message in references:
                opening = f"<svrl:{kind}-reference{attributes(**{kind: name})}><svrl:text>"
                content += [opening, *_pieces(message), f"</svrl:text></svrl:{kind}-reference>"]
    return content


def content_without_texts(edit: Edit) -> list[str]:
    """What stands inside a failure: markup, and an empty text where each message goes."""
    content = ["<svrl:text>", "", "</svrl:text>"]
    if edit.assertion is not None:
        for kind, references in (("diagnostic", edit.assertion.diagnostics), ("property", edit.assertion.properties)):
            for name, _ in references:
                opening = f"<svrl:{kind}-reference{attributes(**{kind: name})}><svrl:text>"
                content += [opening, "", f"</svrl:text></svrl:{kind}-reference>"]
    return content


def character_data(text: str) -> str:
    """Text as XML character data."""
    return escape(re.sub(_NOT_XML_CHARACTERS, _REPLACEMENT, text))


def _pieces(message: str) -> list[str | Expression]:
    """Split a message into fixed text and expressions to fill in; ``{...}`` that is no expression stays as it is."""
    pieces: list[str | Expression] = []
    position = 0
    for match in _PLACEHOLDER.finditer(message):
        try:
            expression = parse_xpath(match[1])
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
