"""Options of reading Schematron files, the vocabulary understood, and names of nested levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.levels.linked_data import LevelDeclaration


class SchematronOptions(BaseModel, extra="forbid", frozen=True):
    """Options of Schematron files: beside ``file`` in a pipeline's ``schematron:`` entry, or on the command line."""

    phase: str | None = Field(
        default=None,
        description="Name of the phase whose patterns are used; #ALL uses every pattern. Left out: the schema's "
        "defaultPhase, and every pattern where there is none.",
    )
    include_folder: Path | None = Field(
        default=None,
        description="Folder inside which `include` and `extends href` may name files: in a pipeline relative to the "
        "rule file, on the command line and in Python to the working folder. Left out: included files are refused.",
    )
    query_binding: str | None = Field(
        default=None,
        description="Query language of the tests, whatever the schema's `queryBinding` is: xslt, xslt2, xpath3, for "
        "instance. Left out: what the schema says.",
    )
    rules_of_other_patterns: bool = Field(
        default=False,
        description="Whether abstract rules of one pattern may be extended in another, as some processors have it; the "
        "standard has it in their own pattern only, and for those in `<rules>`.",
    )
    max_file_size: int = Field(default=8 * 2**20, ge=1, description="Largest rule file, in bytes (default 8 MB).")
    max_elements: int = Field(
        default=100_000,
        ge=1,
        description="Most elements, with those of included files and abstract patterns written out.",
    )
    max_depth: int = Field(default=32, ge=3, le=200, description="Deepest nesting of elements (default 32).")
    max_expression: int = Field(default=10_000, ge=1, description="Longest test, in characters (default 10,000).")
    max_nesting: int = Field(
        default=200, ge=1, le=200, description="Deepest nesting of one test (default and most: 200)."
    )


EVERYWHERE = frozenset({"id", "icon", "see", "fpi"})
"""Attributes of every element."""

ATTRIBUTES = {
    "schema": {"schemaVersion", "defaultPhase", "queryBinding", "version", "ns"},
    "pattern": {"name", "abstract", "is-a", "documents"},
    "group": {"name", "abstract", "is-a", "documents"},
    "rule": {"context", "role", "flag", "severity", "subject", "abstract"},
    "assert": {"test", "role", "flag", "severity", "subject", "diagnostics", "properties"},
    "report": {"test", "role", "flag", "severity", "subject", "diagnostics", "properties"},
    "let": {"name", "value", "as"},
}
"""Further attributes, by element."""

WRITTEN_FROM = "urn:maskwright:rules"
"""Namespace of the attributes ``rule`` and ``when`` of an assert: of the YAML language, which it was written from."""

UNDERSTOOD = {
    "schema": {"let", "pattern", "group"},
    "pattern": {"let", "rule"},
    "group": {"let", "rule"},
    "rule": {"let", "assert", "report"},
}
"""Children that become edits or what they stand on, by element."""

READ_ELSEWHERE = frozenset({"ns", "diagnostics", "properties"})
"""Children of a schema that the reader looks for itself."""

FOR_PEOPLE = frozenset({"title", "p"})

NOT_USED = frozenset({"key"})
"""Counted, and stated in a note."""

NOT_READ = {
    "include": "it cannot stand here",
    "extends": "it cannot stand here",
    "library": "copy the rules into this file",
}
"""Refused, and what to do instead."""


@dataclass(frozen=True)
class NestedLevel:
    """A level, and how a document calls its records.

    `key`: variable that identifies the members of a group. `pointers`: variables that name another member by it.
    """

    name: str
    element: str
    key: str
    pointers: tuple[str, ...]


@dataclass(frozen=True)
class NestedLevels:
    """Levels of a document, the top first."""

    levels: tuple[NestedLevel, ...]

    @classmethod
    def of(cls, declared: Mapping[str, LevelDeclaration]) -> NestedLevels:
        """Levels as they are declared; an element that is not named is called as its level, with a capital."""
        return cls(
            tuple(
                NestedLevel(name, level.record or name.capitalize(), level.key, tuple(level.pointers))
                for name, level in declared.items()
            )
        )

    def without_prefixes(self) -> NestedLevels:
        """Levels whose elements are called by their local names, as tests are read."""
        return NestedLevels(tuple(replace(level, element=level.element.rpartition(":")[2]) for level in self.levels))

    def __getitem__(self, name: str) -> NestedLevel:
        return self.levels[self.depth(name)]

    def depth(self, name: str) -> int:
        """How many levels are above one."""
        return [level.name for level in self.levels].index(name)

    def up(self, name: str, steps: int) -> NestedLevel | None:
        """Level so many steps above another; None: there is none."""
        depth = self.depth(name) - steps
        return self.levels[depth] if depth >= 0 else None

    def below(self, name: str) -> NestedLevel | None:
        """Level of the members of the records of another; None at the bottom."""
        depth = self.depth(name) + 1
        return self.levels[depth] if depth < len(self.levels) else None

    def path(self, above: str, name: str) -> tuple[str, ...]:
        """Elements from inside the records of a level down to those of another below it."""
        return tuple(level.element for level in self.levels[self.depth(above) + 1 : self.depth(name) + 1])

    def named(self, element: str) -> str | None:
        """Level whose records are called so."""
        return next((level.name for level in self.levels if level.element == element), None)
