"""Rule files in YAML: trees of nodes with places, included files, and the models of their sections."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from maskwright.edits.rule_language.rule_entry import Name, RuleEntry
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.files import note_read
from maskwright.foundation.yaml_document import Node, load_yaml

MOST_BYTES = 4_000_000


def load_rule_file(path: Path, problems: list[Problem] | None = None) -> Node:
    """Root of a YAML file of rules."""
    return load_yaml(rule_text_of(path), str(path), EditError, problems)


def rule_text_of(path: Path) -> str:
    """Text of a rule file."""
    where = Place(str(path))
    note_read(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise EditError(Problem(f"{path} is larger than {MOST_BYTES:,} bytes", where))
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise EditError(Problem(f"the file {path} cannot be read: {error.strerror}", where)) from None
    except UnicodeDecodeError:
        raise EditError(Problem("the file is not UTF-8 text", Place(str(path)), "Save it as UTF-8.")) from None
    if not text.strip():
        raise EditError(Problem("the rule file is empty", where, "Write rules in it: - V9 + V10 == V14"))
    return text


def listed_nodes(node: Node | None) -> tuple[Node, ...]:
    """Elements of a list, or the one value; none for nothing."""
    if node is None or (node.is_scalar and node.value is None):
        return ()
    return node.elements if node.is_sequence else (node,)


MOST_FILES = 200


@dataclass
class Inclusion:
    """Which files were read, and which may be.

    `base`: folder that no included file may leave, symbolic links resolved.
    """

    base: Path
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)

    def opened(self, file: Path) -> None:
        """Remember that a file is being read."""
        self.seen.add(file.resolve())

    def target(self, node: Node, chain: tuple[Path, ...]) -> Path | None:
        """File that an ``include`` names, to be read now; None with a problem or a note."""
        if not isinstance(node.value, str) or not node.value.strip():
            self.problems.append(Problem("include: expected the name of a file", node.place))
            return None
        written = Path(node.value)
        target = chain[-1].parent / written
        resolved = target.resolve()
        if written.is_absolute() or not resolved.is_relative_to(self.base):
            message = f"include: {node.value} is not inside the folder of the first file"
            self.problems.append(Problem(message, node.place, "Copy the file there: nothing outside is read."))
            return None
        cycle = [file for file in chain if file.resolve() == resolved]
        if cycle:
            names = [file.name for file in chain[chain.index(cycle[0]) :]]
            message = f"include: these files include each other: {' -> '.join([*names, target.name])}"
            self.problems.append(Problem(message, node.place, "Remove one of these includes."))
            return None
        if resolved in self.seen:
            self.notes.append(f"{node.place}: {node.value} was included before; its rules count once")
            return None
        if len(self.seen) >= MOST_FILES:
            raise EditError(Problem(f"more than {MOST_FILES} files are included", node.place))
        return target

    def failed(self, error: EditError, node: Node) -> None:
        """Take over the problems of an included file; that it is not there is the mistake of the line that names it."""
        self.problems.extend(
            replace(problem, place=node.place) if problem.place is not None and problem.place.line is None else problem
            for problem in error.problems
        )


DIALECT = "https://json-schema.org/draft/2020-12/schema"


class IncludeEntry(BaseModel, extra="forbid", frozen=True):
    """The rules of another file, in this place."""

    include: Name = Field(description="YAML file of rules, relative to this file, inside the folder of the first file.")


class EditsFile(BaseModel, extra="forbid", frozen=True):
    """Rules with what they share."""

    aliases: dict[Name, Name] = Field(
        default_factory=dict,
        description="Names for variables, or for calculations with variables, in this file and the files it includes.",
    )
    include: Name | tuple[Name, ...] = Field(
        default=(), description="Files whose rules come before those of this file, relative to it."
    )
    edits: tuple[Name | RuleEntry | IncludeEntry, ...] = Field(
        default=(), description="Rules as text, rules with names, and further files."
    )
    model_config = ConfigDict(title="Edits")


FILE_KEYS = tuple(EditsFile.model_fields)


def edits_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a file of edits: a list of rules, or a mapping with the list under ``edits``."""
    whole = EditsFile.model_json_schema(ref_template="#/$defs/{model}")
    definitions = whole.pop("$defs")
    listed = whole["properties"]["edits"]
    return {
        "$schema": DIALECT,
        "title": "Maskwright edits",
        "anyOf": [{"type": "array", "minItems": 1, "items": listed["items"]}, {"$ref": "#/$defs/EditsFile"}],
        "$defs": dict(sorted({**definitions, "EditsFile": whole}.items())),
    }
