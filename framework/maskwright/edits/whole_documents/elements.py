"""Elements of a schema: looking through them, and saying what is wrong with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import Place, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.edits.languages.schematron.document import Element

XSL = "http://www.w3.org/1999/XSL/Transform"


def walk(element: Element) -> Iterator[Element]:
    """Every Schematron element, without what stands inside a ``let`` or an element of another namespace."""
    yield element
    if element.name != "let":
        for child in element:
            if child.namespace == element.namespace:
                yield from walk(child)


def problem(element: Element, message: str, hint: str | None = None) -> Problem:
    """A mistake at an element."""
    return Problem(message, Place(element.file, element.line), hint)


def is_abstract(element: Element) -> bool:
    """Whether an element says that it is abstract."""
    return element.attributes.get("abstract", "false").strip() == "true"


def named(element: Element, name: str) -> list[Element]:
    """Children of a name in the element's own namespace."""
    return [child for child in element if child.name == name and child.namespace == element.namespace]


def text_of(element: Element) -> str:
    """Text of an element and of those in it."""
    return "".join(part if isinstance(part, str) else text_of(part) for part in element.content)
