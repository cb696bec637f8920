"""What has been found so far while one Schematron file is read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maskwright.edits.element_names import ElementNaming
from maskwright.edits.engines.checker import reasons_of
from maskwright.edits.engines.engine_tests import ENGINE_OF, XSL, stylesheet_of
from maskwright.edits.languages.schematron import options
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.nearest_names import nearest_name, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from maskwright.edits.edit import Edit
    from maskwright.edits.engines.engine_tests import EnginePattern, Version
    from maskwright.edits.languages.schematron.document import Element
    from maskwright.edits.languages.schematron.options import SchematronOptions


@dataclass
class Undecided:
    """An edit that an engine is to check, if the engine takes it."""

    alone: EnginePattern
    problem: Problem


@dataclass
class Reading:
    """What has been found so far in one file."""

    path: Path
    options: SchematronOptions
    later_binding: str | None = None
    problems: list[Problem] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    left_out: dict[str, int] = field(default_factory=dict)
    namespaces: dict[str, str] = field(default_factory=dict)
    references: dict[str, dict[str, Element]] = field(default_factory=dict)
    undecided: list[Undecided] = field(default_factory=list)
    rules: int = 0
    for_engine: bool = False
    naming: ElementNaming = field(init=False)

    def __post_init__(self) -> None:
        self.naming = ElementNaming(self.namespaces)

    @property
    def version(self) -> Version:
        """Which XPath and XSLT an engine evaluates."""
        return "1.0" if self.later_binding is None else "3.0"

    def place(self, element: Element, text: str | None = None) -> Place:
        """Where an element stands."""
        return Place(element.file or str(self.path), element.line, None, text)

    def refuse(self, element: Element, message: str, hint: str | None = None) -> None:
        """Take up a mistake."""
        self.problems.append(Problem(message, self.place(element), hint))

    def note(self, element: Element, message: str) -> None:
        """Take up what a person should know."""
        self.notes.append(f"{element.file or self.path}:{element.line}: {message}")

    def check_attributes(self, element: Element) -> None:
        """Refuse attributes that are not understood."""
        known = options.ATTRIBUTES[element.name] | options.EVERYWHERE
        for name in element.attributes:
            if name not in known:
                nearest = nearest_name(name, known)
                hint = f"did you mean {nearest!r}?" if nearest else None
                self.refuse(element, f"<{element.name}> has the attribute {name!r}, which is not understood", hint)
        ours = {name for namespace, name in element.qualified if namespace == options.WRITTEN_FROM}
        for name in element.foreign_attributes:
            if name in ours:
                continue
            self.note(element, f"the attribute {name!r} of another namespace on <{element.name}> is not used")

    def children(self, element: Element) -> Iterator[Element]:
        """Understood children; the others are noted or refused."""
        for child in element:
            if child.namespace == XSL:
                hint = "`maskwright validate --document` carries out keys and functions of XSLT"
                self.refuse(child, f"<xsl:{child.name}> is refused: only Schematron elements are read", hint)
            elif not child.namespace:
                self.refuse(child, f"<{child.name}> in no namespace is refused: only Schematron elements are read")
            elif child.namespace != element.namespace:
                self.left_out.setdefault(f"<{child.name}> of another namespace", child.line)
            elif child.name in options.UNDERSTOOD[element.name]:
                self.check_attributes(child)
                yield child
            elif child.name in options.NOT_USED:
                self.left_out.setdefault(child.name, child.line)
            elif child.name in options.NOT_READ:
                self.refuse(child, f"<{child.name}> is not read", options.NOT_READ[child.name])
            elif child.name not in options.FOR_PEOPLE | options.READ_ELSEWHERE:
                expected = options.UNDERSTOOD[element.name] | options.FOR_PEOPLE | options.NOT_USED
                self.refuse(child, f"in <{element.name}>: {unknown_name('element', child.name, expected)}")
        if any(isinstance(part, str) and part.strip() for part in element.content):
            self.refuse(element, f"<{element.name}> holds text outside its elements")

    def compile(self) -> None:
        """Ask the engine whether it takes the tests that are left to it; those it refuses are mistakes."""
        if not self.undecided:
            return
        stylesheets = [stylesheet_of(each.alone, 2) for each in self.undecided]
        try:
            reasons = reasons_of(ENGINE_OF[self.version], stylesheets)
        except EditError as error:
            first = error.problems[0]
            self.problems += [refusal(each.problem, first.sentence, first.hint) for each in self.undecided]
            return
        self.problems += [
            refusal(each.problem, reason) for each, reason in zip(self.undecided, reasons, strict=True) if reason
        ]


def refusal(problem: Problem, reason: str, hint: str | None = None) -> Problem:
    """Say of a test outside the subset why no engine checks it either."""
    hints = [hint or problem.hint, f"no engine can check it either: {reason}"]
    return replace(problem, hint="; ".join(filter(None, hints)))
