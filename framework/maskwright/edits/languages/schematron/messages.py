"""Messages of asserts: text for people, in which ``value-of`` is the name of a variable and never a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.expression import Expression, Function, VariableReference
from maskwright.edits.languages.xpath.parser import parse_xpath
from maskwright.foundation.errors import EditError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskwright.edits.languages.schematron.document import Element

_INLINE = frozenset({"emph", "dir", "span"})


def message_of(
    element: Element, context: str, place: Place, with_lets: Callable[[str], str]
) -> tuple[str, list[Problem], list[str]]:
    """Message of an assert or report.

    `context`: its rule's context, for ``<name/>``. `with_lets`: writes the ``let`` variables of an XPath text out.
    Returns on one line; ``<value-of select="V9"/>`` is ``{V9}``; elements that do not belong into a message;
    ``value-of`` that will not be filled in: it does not change what the assert says of a record.
    """
    parts: list[str] = []
    problems: list[Problem] = []
    notes: list[str] = []

    def walk(node: Element) -> None:
        for part in node.content:
            if isinstance(part, str):
                parts.append(part)
            elif part.namespace != element.namespace:
                message = f"<{part.name}> of another namespace is refused: only Schematron elements are read"
                problems.append(Problem(message, Place(place.file, part.line)))
            elif part.name == "value-of":
                text = with_lets(part.attributes.get("select", ""))
                shown, understood = _placeholder(text)
                parts.append(shown)
                if not understood:
                    notes.append(f"{place.file}:{part.line}: value-of is shown as written, not filled in: {text}")
            elif part.name == "name":
                parts.append(context.rpartition("/")[2])
            elif part.name in _INLINE:
                walk(part)
            else:
                problems.append(Problem(f"<{part.name}> does not belong into a message", Place(place.file, part.line)))

    walk(element)
    return " ".join("".join(parts).split()), problems, notes


def _placeholder(text: str) -> tuple[str, bool]:
    try:
        tree = parse_xpath(text)
    except EditError:
        return f"{{{text}}}", False
    variable = _single_variable(tree)
    return (f"{{{variable}}}" if variable else f"{{{text}}}"), True


def _single_variable(tree: Expression) -> str | None:
    match tree:
        case VariableReference(name) | Function("number" | "string", (VariableReference(name),)):
            return name
        case _:
            return None
