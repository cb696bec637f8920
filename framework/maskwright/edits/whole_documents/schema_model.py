"""A Schematron schema as it is carried out: written out, its tests named and numbered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.foundation.errors import Place, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.edits.edit import Severity
    from maskwright.edits.engines.engine_tests import Version
    from maskwright.edits.languages.schematron.document import Element


@dataclass(frozen=True, eq=False)
class Let:
    """A variable: an element ``let``."""

    name: str
    element: Element


@dataclass(frozen=True, eq=False)
class Test:
    """An assert or report.

    `number`: 0-based place among all tests that are carried out. `name`: its id, else its pattern's, else ``edit-N``.
    `references`: diagnostics and properties that it names, in that order.
    """

    __test__ = False

    number: int
    name: str
    element: Element
    severity: Severity
    references: tuple[tuple[str, Element], ...]

    @property
    def is_report(self) -> bool:
        """Whether it complains where the test holds."""
        return self.element.name == "report"


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule with a context; `number` is its 0-based place among all rules that are carried out."""

    number: int
    element: Element
    context: str
    lets: tuple[Let, ...]
    tests: tuple[Test, ...]


@dataclass(frozen=True, eq=False)
class Pattern:
    """A pattern, or a group: in a pattern the first rule that matches a node fires, in a group each of them.

    `documents`: which other documents it is about; None: the one that is checked.
    """

    element: Element
    lets: tuple[Let, ...]
    rules: tuple[Rule, ...]
    documents: Expression | None = None

    @property
    def is_group(self) -> bool:
        """Whether every rule fires."""
        return self.element.name == "group"


@dataclass(frozen=True, eq=False)
class Expression:
    """One expression of a schema.

    `kind`: a pattern of XSLT is a ``match``, the condition of a phase a ``when``.
    """

    element: Element
    attribute: str
    kind: str
    text: str
    variables: tuple[str, ...]

    def problem(self, reason: str) -> Problem:
        """A mistake in it."""
        element = self.element
        text = " ".join(self.text.split())
        return Problem(
            f"<{element.name}> {self.attribute}: {reason}", Place(element.file, element.line, None, text[:200])
        )


@dataclass(frozen=True, eq=False)
class Schema:
    """A schema that may be carried out.

    `version`: of XSLT and XPath: says which engine. `start`: expression whose nodes are where patterns start.
    `instructions`: XSLT next to the patterns: keys, functions. `choices`: of the phase ``#ANY``, which has no patterns
    yet: phases, and when each is active.
    """

    element: Element
    version: Version
    phase: str
    start: str
    namespaces: Mapping[str, str]
    lets: tuple[Let, ...]
    instructions: tuple[Element, ...]
    patterns: tuple[Pattern, ...]
    expressions: tuple[Expression, ...]
    notes: tuple[str, ...]
    choices: tuple[tuple[str, Expression], ...] = ()

    @property
    def edition(self) -> int:
        """Year of the edition of the standard that it is written for; 0 where it is not declared."""
        stated = self.element.attributes.get("schematronEdition", "").strip()
        return int(stated) if re.fullmatch("[0-9]{4}", stated) else 0

    @property
    def rules(self) -> Iterator[Rule]:
        """Every rule, in order."""
        return (rule for pattern in self.patterns for rule in pattern.rules)

    @property
    def tests(self) -> tuple[Test, ...]:
        """Every assert and report, in order."""
        return tuple(test for rule in self.rules for test in rule.tests)
