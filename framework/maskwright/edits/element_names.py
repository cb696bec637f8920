"""Elements that Schematron rules name, by the URI of their namespace, and as the data at hand call them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.data.dataset import Layout
    from maskwright.edits.edit import Edit

XML = "http://www.w3.org/XML/1998/namespace"
NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_EXPANDED = re.compile(r"\{([^}]*)\}")


@dataclass(frozen=True)
class StatedNames:
    """What a rule names, with namespaces: ``{urn:office}wages``, ``wages/@unit``; without one the local name alone.

    `steps`: expanded names of the context's elements. `variables`: expanded name of each variable that the rule reads.
    """

    steps: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]


@dataclass
class ElementNaming:
    """Names of variables for the elements of one schema: local ones, with the prefix where two namespaces share one."""

    namespaces: Mapping[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def expanded(self, name: str) -> str | None:
        """Expanded name of an element as it is written; None: nothing declares its prefix."""
        prefix, _, local = name.rpartition(":")
        if not prefix:
            return local
        uri = XML if prefix == "xml" else self.namespaces.get(prefix)
        return None if uri is None else f"{{{uri}}}{local}"

    def expanded_step(self, name: str) -> str | None:
        """Expanded name of an element, or of an attribute that is written with ``@``."""
        if not name.startswith("@"):
            return self.expanded(name)
        own = self.expanded(name[1:])
        return None if own is None else f"@{own}"

    def is_nil(self, attribute: str) -> bool:
        """Whether an attribute is the mark of a missing value, which is no variable."""
        return self.expanded(attribute) == NIL

    def variable(self, name: str, attribute: str | None = None) -> str | None:
        """Variable for an element, or for an attribute of it; `name` "": of the record. None: as `expanded`."""
        whole, called = self.expanded(name) if name else "", name.rpartition(":")[2]
        if whole is None:
            return None
        if attribute is not None:
            own = self.expanded(attribute)
            if own is None:
                return None
            whole, called = (f"{each}/@" if each else "@" for each in (whole, called))
            whole, called = whole + own, called + attribute
        for other in (called, f"{name}/@{attribute}" if attribute is not None else name):
            if self.names.setdefault(other, whole) == whole:
                return other
        return None


def local(name: str) -> str:
    """Name without its prefix."""
    return name.rpartition(":")[2]


def in_words(expanded: str) -> str:
    """Expanded name for people."""
    uris = _EXPANDED.findall(expanded)
    local = _EXPANDED.sub("", expanded)
    return f"{local} in the namespace {uris[0]}" if uris else f"{local} in no namespace"


def bound_to(edits: EditSet, layout: Layout) -> EditSet:
    """Edits whose variables and contexts are called as a file calls them; files without elements have local names."""
    known: Mapping[str, str] | None = layout.details.get("expanded")
    if known is None or all(edit.stated is None for edit in edits):
        return edits
    variables = {expanded: name for name, expanded in known.items()}
    elsewhere = {_EXPANDED.sub("", expanded): expanded for expanded in variables}
    problems: list[Problem] = []
    found: list[Edit] = []
    for edit in edits:
        stated = edit.stated
        if stated is None:
            found.append(edit)
            continue
        context = _context(edit, stated, layout)
        if context is None:
            found.append(replace(edit, context=" / ".join(map(in_words, stated.steps)), stated=None))
            continue
        wrong = list(_in_another_namespace(edit, stated, variables, elsewhere))
        problems += wrong
        if not wrong:
            named = {rule: variables.get(expanded, rule) for rule, expanded in stated.variables}
            found.append(replace(_renamed(edit, named), context=context, stated=None))
    if problems:
        raise EditError(problems)
    return EditSet(tuple(found), edits.notes)


def _context(edit: Edit, stated: StatedNames, layout: Layout) -> str | None:
    """Context in the tags of the file; None: it is about other elements than the records."""
    path: tuple[str, ...] = layout.details["expanded_path"]
    tags: tuple[str, ...] = layout.details["record_path"]
    count = len(stated.steps)
    written = edit.context or ""
    absolute = written.startswith("/") and not written.startswith("//")
    if stated.steps != (path if absolute else path[len(path) - count :]):
        return None
    return ("/" if absolute else "") + "/".join(tags[len(tags) - count :])


def _in_another_namespace(
    edit: Edit, stated: StatedNames, variables: Mapping[str, str], elsewhere: Mapping[str, str]
) -> Iterator[Problem]:
    for _, expanded in stated.variables:
        other = elsewhere.get(_EXPANDED.sub("", expanded))
        if expanded not in variables and other is not None and "@" not in expanded:
            message = f"the records have no {in_words(expanded)}, but {in_words(other)}"
            hint = "Declare its namespace with <ns prefix=... uri=...>, and write the prefix in the test."
            yield Problem(message, edit.place, hint if "{" in other else "Write it without a prefix.", edit=edit.name)


def _renamed(edit: Edit, names: Mapping[str, str]) -> Edit:
    if all(rule == name for rule, name in names.items()):
        return edit
    from maskwright.edits.algebra.classify import classify
    from maskwright.edits.languages.xpath.conversions import as_condition

    def change(node: x.Expression) -> x.Expression:
        return (
            x.VariableReference(names[node.name])
            if isinstance(node, x.VariableReference) and node.name in names
            else node
        )

    expression = x.rewritten(edit.expression, change)
    if not edit.parts:
        return replace(edit, expression=expression)
    parts = classify(as_condition(expression), edit.place)
    return replace(edit, expression=expression, parts=parts, variables=x.variable_names(expression))
