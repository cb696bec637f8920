"""Messages and attributes of a report, as the stylesheets hold them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from maskwright.edits.engines.engine_tests import XSL
from maskwright.edits.languages.schematron.document import XML
from maskwright.edits.whole_documents.expressions import text_of
from maskwright.edits.whole_documents.locations import X
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.languages.schematron.document import Element

COMMON = "maskwright.common"
FOUND = "maskwright.found"
COMPUTED = ("role", "flag", "severity")
"""Attributes of a test that may refer to a variable, whose value is reported."""

_ITEM = "maskwright.item"
_REFERENCE = re.compile(rf"\s*\${NCNAME}\s*")
_OF_FOUND = f'select="${FOUND}"'


class MessageWriter:
    """Writes messages for a version of XSLT.

    `svrl`: prefix of the report's elements. `namespace`: of the schema's elements.
    """

    def __init__(self, svrl: str, namespace: str, *, is_first: bool) -> None:
        self._svrl, self._namespace, self._is_first = svrl, namespace, is_first

    def message(self, element: Element) -> str:
        """Text of a test, a diagnostic or a property."""
        stated = {name: element.attributes.get(name) for name in ("see", "icon", "fpi")} | language_of(element)
        return f"<{self._svrl}:text{written_attributes(stated)}>{self._rich(element)}</{self._svrl}:text>"

    def _rich(self, element: Element) -> str:
        out: list[str] = []
        for part, after in pairwise([*element.content, None]):
            if isinstance(part, str):
                # Space before what is copied is none of the message: an attribute may be copied only before its text.
                if out or part.strip() or not _is_copy(after):
                    out.append(f"<{X}:text>{escape(part)}</{X}:text>")
            elif part is not None:
                out.append(self._part(part))
        return "".join(out)

    def _part(self, part: Element) -> str:
        if part.namespace == XSL:
            return f"<{X}:{part.name} select={quoteattr(part.attributes['select'])}/>"
        if part.namespace != self._namespace:
            return self._rich(part)
        if part.name == "value-of":
            separator = "" if self._is_first else ' separator=" "'
            return f"<{X}:value-of select={quoteattr(part.attributes['select'])}{separator}/>"
        if part.name == "name":
            return self._name(part.attributes.get("path"))
        stated = {"class": part.attributes.get("class"), "dir": part.attributes.get("value")} | language_of(part)
        tag = f"{self._svrl}:{part.name}"
        return f"<{tag}{written_attributes(stated)}>{self._rich(part)}</{tag}>"

    def _name(self, path: str | None) -> str:
        """A name: of the node, or what an expression finds; where it finds elements, their name."""
        if path is None:
            return f'<{X}:value-of select="name()"/>'
        if not self._is_first:
            name = f"if (${_ITEM} instance of element()) then name(${_ITEM}) else ${_ITEM}"
            text = f"for ${_ITEM} in ({path}) return {name}"
            return f'<{X}:value-of select={quoteattr(text)} separator=" "/>'
        name = f'<{X}:value-of select="name(${FOUND})"/>'
        # Instructions around it keep the variable to itself.
        return f'<{X}:for-each select=".">{found(path)}{if_nodes(name, f" and ${FOUND}/self::*")}</{X}:for-each>'


def found(expression: str) -> str:
    """Variable that holds what an expression of XPath 1.0 finds."""
    return f'<{X}:variable name="{FOUND}" select={quoteattr(expression)}/>'


def if_nodes(written: str, condition: str = "") -> str:
    """What is written where `found` holds nodes; its text otherwise."""
    test = f"{COMMON}:object-type(${FOUND}) = 'node-set'{condition}"
    return (
        f'<{X}:choose><{X}:when test="{test}">{written}</{X}:when>'
        f"<{X}:otherwise><{X}:value-of {_OF_FOUND}/></{X}:otherwise></{X}:choose>"
    )


def written_attributes(stated: Mapping[str, str | None]) -> str:
    """Attributes of a literal result element: braces are text."""
    return "".join(f" {name}={quoteattr(braced(text))}" for name, text in stated.items() if text is not None)


def attributes_of_test(element: Element, names: tuple[str, ...]) -> str:
    """Attributes that a report takes over from a test, some with the value of a variable."""
    stated = {name: element.attributes.get(name) for name in names}
    computed = {name: text for name, text in stated.items() if text is not None and is_computed(name, text)}
    written = "".join(f" {name}={quoteattr(f'{{{text.strip()}}}')}" for name, text in computed.items())
    return written_attributes({name: text for name, text in stated.items() if name not in computed}) + written


def is_computed(name: str, text: str) -> bool:
    """Whether the value of an attribute is that of a variable."""
    return name in COMPUTED and _REFERENCE.fullmatch(text) is not None


def language_of(element: Element) -> dict[str, str | None]:
    """``xml:lang`` of an element, its own or of one around it, and its ``xml:space``."""
    return {"xml:lang": element.language, "xml:space": element.qualified.get((XML, "space"))}


def braced(text: str) -> str:
    """Text of an attribute in which braces are text."""
    return text.replace("{", "{{").replace("}", "}}")


def quoted(name: str) -> str:
    """What a report calls a document; several are separated by spaces."""
    return quote(name, safe="/%:@!$&'()*+,;=~?#")


def title_of(element: Element) -> str | None:
    """Title of a pattern."""
    for child in element:
        if child.name == "title" and child.namespace == element.namespace:
            return " ".join(text_of(child).split())
    return None


def _is_copy(part: str | Element | None) -> bool:
    return part is not None and not isinstance(part, str) and (part.namespace, part.name) == (XSL, "copy-of")
