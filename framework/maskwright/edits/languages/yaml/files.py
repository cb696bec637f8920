"""YAML files of rules: lists of rules, aliases, and files that include other files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import WrongRulesError, read_items
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.languages.yaml.documents import FILE_KEYS, Inclusion, listed_nodes, load_rule_file
from maskwright.edits.rule_language.operands import without_aliases
from maskwright.edits.rule_language.rules import RuleItem, parse_value
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.expression import Expression
    from maskwright.edits.languages.r_validate.options import ValidateOptions
    from maskwright.foundation.yaml_document import Node

MOST_RULES = 100_000

Aliases = dict[str, "Expression"]


def read_edits_yaml(path: str | Path, options: ValidateOptions | None = None) -> EditSet:
    """Read a YAML file of rules: a list, or a mapping with the list under ``edits``.

    The mapping may hold ``aliases`` (other names, or names for calculations) and ``include`` (files whose rules come
    first); an item ``{include: file}`` of the list stands for the rules of that file. Included files are relative to
    the file that names them and lie inside the folder of `path`; a file that is included twice counts once, and a note
    says so. Aliases hold in their own file and in the files it includes. A file of the R package validate, ``rules:``
    with ``expr:``, is read as such, with `options`.
    """
    file = Path(path)
    problems: list[Problem] = []
    root = load_rule_file(file, problems=problems)
    if _is_of_validate(root):
        from maskwright.edits.languages.r_validate.reader import read_validate

        return read_validate(file, options)
    reading = _Reading(file.parent.resolve())
    reading.problems.extend(problems)
    items = reading.items(file, root, (), {})
    if not items and not reading.problems:
        reading.problems.append(
            Problem("there is no rule in this file", Place(str(path)), "Write one, for instance: - V9 + V10 == V14")
        )
    try:
        edits = read_items(items, tuple(reading.notes))
    except WrongRulesError as error:
        raise WrongRulesError([*reading.problems, *error.problems], error.edits) from error
    if reading.problems:
        raise WrongRulesError(reading.problems, edits)
    return edits


def _is_of_validate(root: Node) -> bool:
    """Whether a YAML file holds rules of the R package validate: a mapping with ``rules`` whose items have ``expr``."""
    rules = root.get("rules") if root.is_mapping else None
    return rules is not None and any(element.is_mapping and "expr" in element for element in rules)


class _Reading(Inclusion):
    """What was found so far, in all files."""

    rules = 0

    def items(self, file: Path, root: Node, chain: tuple[Path, ...], outer: Mapping[str, Expression]) -> list[RuleItem]:
        """Rules of a file and of the files it includes, in order."""
        self.opened(file)
        here = (*chain, file)
        aliases = dict(outer)
        found: list[RuleItem] = []
        listed = root
        if root.is_mapping:
            for key, _ in root.entries:
                if key.raw not in FILE_KEYS:
                    self.problems.append(Problem(unknown_name("key", key.raw, FILE_KEYS), key.place))
            self._read_aliases(root.get("aliases"), aliases)
            for node in listed_nodes(root.get("include")):
                found += self._include(node, here, aliases)
            named = root.get("edits")
            if named is None:
                return found
            listed = named
        texts = {name: rule_text(meant) for name, meant in aliases.items()}
        if not listed.is_sequence:
            message = f"expected a list of rules, found {listed.description}"
            self.problems.append(Problem(message, listed.place, "Begin each rule with '- '."))
            return found
        for element in listed.elements:
            if element.is_mapping and element.keys == ("include",):
                found += self._include(element.entries[0][1], here, aliases)
            else:
                found.append(self._item(element, aliases, texts))
        return found

    def _item(self, element: Node, aliases: Mapping[str, Expression], texts: Mapping[str, str]) -> RuleItem:
        self.rules += 1
        if self.rules > MOST_RULES:
            raise EditError(Problem(f"more than {MOST_RULES:,} rules", element.place))
        rule = element.get("rule") if element.is_mapping else None
        places = {key.raw: value.place for key, value in element.entries}
        return RuleItem(element.to_python(), (rule or element).place, places, aliases, texts)

    def _include(self, node: Node, chain: tuple[Path, ...], aliases: Mapping[str, Expression]) -> list[RuleItem]:
        target = self.target(node, chain)
        if target is None:
            return []
        try:
            return self.items(target, load_rule_file(target), chain, aliases)
        except EditError as error:
            self.failed(error, node)
            return []

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
