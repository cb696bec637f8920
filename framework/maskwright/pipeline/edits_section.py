"""The ``edits:`` section: rules as text, with their names, and in rule files, read as one set of edits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet, WrongRulesError
from maskwright.edits.rule_language.rule_entry import RuleEntry
from maskwright.foundation.errors import EditError, InputError, Problem
from maskwright.foundation.nearest_names import nearest_name, unknown_name
from maskwright.foundation.yaml_models import elements_of, read_model, without
from maskwright.pipeline.file_paths import existing_file
from maskwright.pipeline.resolved import RuleFile, RuleText
from maskwright.plugins.registry import plugins, readable_languages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from maskwright.data.levels.linked_data import LevelDeclaration
    from maskwright.edits.edit import Edit
    from maskwright.foundation.yaml_document import Node


def resolve_edits(section: Node, folder: Path, problems: list[Problem]) -> tuple[RuleText | RuleFile, ...]:
    """Resolve the section: mistakes are added to `problems`, and what is wrong is left out.

    Rules are parsed here, once, so that their mistakes are reported with those of the rest of the file.
    """
    found: list[RuleText | RuleFile] = []
    rules = 0
    hint = section.place.written("Start each rule with '- ' on its own line.")
    for node in elements_of(section, "edits: expected a list", problems, hint):
        is_file = node.is_mapping and "rule" not in node and len(node.entries) == 1
        rule = _rule_file(node, folder, problems) if is_file else _rule(node, rules, problems)
        rules += isinstance(rule, RuleText)
        if rule is not None:
            found.append(rule)
    return tuple(found)


def _rule(node: Node, position: int, problems: list[Problem]) -> RuleText | None:
    """One rule as text or as a mapping, the one at this position among them."""
    if node.is_mapping:
        entry = read_model(RuleEntry, node, problems)
        text = node.get("rule")
        if entry is None or text is None:
            return None
        return _parsed(entry.model_dump(exclude_none=True), text, position, problems)
    if not node.is_scalar or not isinstance(node.value, str) or not node.value.strip():
        kinds = "a rule as text, {rule: ..., name: ...} or {schematron: file}"
        problems.append(Problem(f"expected {kinds}, not {node.description}", node.place))
        return None
    claims = plugins().claims("rule_language", node.raw)
    if claims and " " not in node.raw:
        hint = f"Write: {claims[0].plugin}: {node.raw}"
        problems.append(Problem("this is a file name where a rule is expected", node.place, hint))
        return None
    return _parsed(node.raw, node, position, problems)


def _parsed(rule: str | dict[str, str], text: Node, position: int, problems: list[Problem]) -> RuleText | None:
    from maskwright.edits.rule_language.rules import RuleItem, edit_of  # the parser takes time to start

    try:
        return RuleText(rule, text.place, edit_of(RuleItem(rule, text.place), position))
    except EditError as error:
        problems.extend(error.problems)
        return None


def _rule_file(node: Node, folder: Path, problems: list[Problem]) -> RuleFile | None:
    key, file = node.entries[0]
    registry = plugins()
    reader = registry.rule_languages.get(key.raw)
    if reader is None or reader.read is None:
        languages = readable_languages()
        valid = ["rule", *languages]
        sentence = unknown_name("key", key.raw, valid)
        if nearest_name(key.raw, valid) is None:
            sentence = registry.unknown("rule_language", key.raw, languages)
        hint = key.place.written("If this is one rule that holds ': ', put it in quotes.")
        problems.append(Problem(sentence, key.place, hint))
        return None
    params: BaseModel | None = None
    if file.is_mapping and reader.params is not None:
        params = read_model(reader.params, without(file, ("file",)), problems, "option")
        named = file.get("file")
        if named is None:
            problems.append(Problem(f"{key.raw}: the key 'file' is missing", file.place))
            return None
        if params is None:
            return None
        file = named
    path = existing_file(file, folder, "rule", problems)
    return RuleFile(reader, path, file.place, params) if path is not None else None


NUMBERED = re.compile(r"edit-\d+")
"""Name of a rule that has none of its own."""


def read_edits_of(
    rules: Sequence[RuleText | RuleFile], levels: Mapping[str, LevelDeclaration] | None = None
) -> tuple[EditSet, list[Problem]]:
    """Edits, in order, and every mistake; what has a mistake is left out.

    A rule of a file without a name of its own, ``edit-1``, is called ``edit-1.2`` where another is called so.
    """
    problems: list[Problem] = []
    read: dict[int, EditSet] = {}
    texts: dict[str, Edit] = {}
    for position, each in enumerate(rules):
        if isinstance(each, RuleText):
            problems.extend(_names_taken(texts, (each.edit,)))
            if texts.setdefault(each.edit.name, each.edit) is each.edit:
                read[position] = EditSet((each.edit,))
    named = EditSet(tuple(texts.values()))
    for position, each in enumerate(rules):
        if not isinstance(each, RuleFile):
            continue
        try:
            found = each.reader.read_with(each.path, each.params, levels)
        except InputError as error:
            problems.extend(error.problems)
            found = error.edits if isinstance(error, WrongRulesError) else EditSet()
        own = [edit for edit in found if NUMBERED.fullmatch(edit.name) is None]
        problems.extend(_names_taken({edit.name: edit for edit in named}, own))
        joined = named.joined(found)
        read[position] = EditSet(joined.edits[len(named) :], found.notes)
        named = joined
    edits = EditSet()
    for position in sorted(read):
        edits += read[position]
    return edits, problems


def _names_taken(taken: Mapping[str, Edit], edits: Iterable[Edit]) -> Iterator[Problem]:
    """A problem for each name that another rule has."""
    for edit in edits:
        if edit.name in taken:
            other = taken[edit.name].place
            first = "" if other is None else f" ({other})"
            yield Problem(f"the name {edit.name!r} is taken by another rule{first}", edit.place, "Rename one.")
