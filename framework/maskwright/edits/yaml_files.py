"""YAML files of rules: lists of rules, aliases, and files that include other files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.edits.aliases import without_aliases
from maskwright.edits.file_model import FILE_KEYS
from maskwright.edits.grammar import parse_value
from maskwright.edits.yaml import RuleItem, read_items
from maskwright.errors import EditError, Place, Problem, unknown_name
from maskwright.yaml_document import Node, load_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.edit import EditSet
    from maskwright.edits.expression import Expression

MOST_BYTES = 4_000_000
MOST_FILES = 200
MOST_RULES = 100_000

Aliases = dict[str, "Expression"]


def read_edits_yaml(path: str | Path) -> EditSet:
    """Read a YAML file of rules: a list, or a mapping with the list under ``edits``.

    The mapping may hold ``aliases`` (other names, or names for calculations) and ``include`` (files whose rules come
    first); an item ``{include: file}`` of the list stands for the rules of that file. Included files are relative to
    the file that names them and lie inside the folder of `path`; a file that is included twice counts once, and a note
    says so. Aliases hold in their own file and in the files it includes.

    Raises
    ------
    EditError
        With file, line and column of every mistake.
    """
    file = Path(path)
    reading = _Reading(file.parent.resolve())
    items = reading.items(file, (), {})
    if not items and not reading.problems:
        reading.problems.append(
            Problem("there is no rule in this file", Place(str(path)), "Write one, for instance: - V9 + V10 == V14")
        )
    try:
        edits = read_items(items, tuple(reading.notes))
    except EditError as error:
        reading.problems.extend(error.problems)
    if reading.problems:
        raise EditError(reading.problems)
    return edits


def load_rule_file(path: Path, place: Place | None = None) -> Node:
    """Root of a YAML file of rules.

    Raises
    ------
    EditError
        It cannot be read, is too large, is not UTF-8, or is no YAML.
    """
    where = place or Place(str(path))
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
    return load_yaml(text, str(path), EditError)


@dataclass
class _Reading:
    """What was found so far, in all files."""

    base: Path
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seen: dict[Path, Path] = field(default_factory=dict)
    rules: int = 0

    def items(self, file: Path, chain: tuple[Path, ...], outer: Mapping[str, Expression]) -> list[RuleItem]:
        """Rules of a file and of the files it includes, in order."""
        root = load_rule_file(file)
        self.seen[file.resolve()] = file
        here = (*chain, file)
        aliases = dict(outer)
        found: list[RuleItem] = []
        listed = root
        if root.is_mapping:
            for key, _ in root.entries:
                if key.raw not in FILE_KEYS:
                    self.problems.append(Problem(unknown_name("key", key.raw, FILE_KEYS), key.place))
            self._read_aliases(root.get("aliases"), aliases)
            for node in self._included(root.get("include")):
                found += self._include(node, here, aliases)
            named = root.get("edits")
            if named is None:
                return found
            listed = named
        if not listed.is_sequence:
            message = f"expected a list of rules, found {listed.description}"
            self.problems.append(Problem(message, listed.place, "Begin each rule with '- '."))
            return found
        for element in listed.elements:
            if element.is_mapping and element.keys == ("include",):
                found += self._include(element.entries[0][1], here, aliases)
            else:
                found.append(self._item(element, aliases))
        return found

    def _item(self, element: Node, aliases: Mapping[str, Expression]) -> RuleItem:
        self.rules += 1
        if self.rules > MOST_RULES:
            raise EditError(Problem(f"more than {MOST_RULES:,} rules", element.place))
        rule = element.get("rule") if element.is_mapping else None
        places = {key.raw: value.place for key, value in element.entries}
        return RuleItem(element.to_python(), (rule or element).place, places, aliases)

    def _included(self, node: Node | None) -> tuple[Node, ...]:
        if node is None or (node.is_scalar and node.value is None):
            return ()
        return node.elements if node.is_sequence else (node,)

    def _include(self, node: Node, chain: tuple[Path, ...], aliases: Mapping[str, Expression]) -> list[RuleItem]:
        target = self._target(node, chain)
        if target is None:
            return []
        if len(self.seen) >= MOST_FILES:
            raise EditError(Problem(f"more than {MOST_FILES} files are included", node.place))
        try:
            return self.items(target, chain, aliases)
        except EditError as error:
            # A file that is not there is the mistake of the line that names it.
            self.problems.extend(
                Problem(problem.message, node.place, problem.hint)
                if problem.place is not None and problem.place.line is None
                else problem
                for problem in error.problems
            )
            return []

    def _target(self, node: Node, chain: tuple[Path, ...]) -> Path | None:
        """File that an ``include`` names, or None with a problem or a note."""
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
        return target

    def _read_aliases(self, node: Node | None, aliases: Aliases) -> None:
        """Add the aliases of a file; each may use those above it and those of the file that includes this one."""
        if node is None or (node.is_scalar and node.value is None):
            return
        if not node.is_mapping:
            self.problems.append(Problem(f"aliases: expected 'name: variable', found {node.description}", node.place))
            return
        for key, value in node.entries:
            if not value.is_scalar or value.value is None or not value.raw.strip():
                message = f"the alias {key.raw!r}: expected a variable or a calculation, found {value.description}"
                self.problems.append(Problem(message, value.place, "Write name: V14, or net: gross - tax."))
                continue
            try:
                meant = parse_value(value.raw, value.place)
                aliases[key.raw] = without_aliases(meant, aliases, value.place)
            except EditError as error:
                self.problems.extend(error.problems)
