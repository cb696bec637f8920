"""A set of edits as a file of rules in the YAML language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from maskwright.edits.expression import Expression, IfThen, Truth
from maskwright.edits.languages.conversion.converted import Converted, refusal, silent_rules_note, tree_of
from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.languages.conversion.plain_words import plain_words
from maskwright.edits.languages.conversion.xpath_as_exact import calculates, exact_rule
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet

LINE = 10_000


def yaml_file(edits: EditSet) -> Converted:
    """Write edits in the YAML language."""
    notes: list[str] = []
    problems: list[Problem] = []
    entries: list[Any] = []
    # Rules on levels say by their names what they are about.
    contexts = {edit.context for edit in edits if edit.context is not None}
    if len(contexts) > 1 and not any(edit.level for edit in edits):
        problems.append(
            Problem(
                f"the rules are about different elements ({', '.join(sorted(contexts))}); "
                "rules in YAML are about every record"
            )
        )
    rounded: list[str] = []
    silent: list[str] = []
    for edit in edits:
        if edit.shadowed:
            silent.append(edit.name)
            continue
        try:
            entries.append(_yaml_entry(edit, len(entries) + 1))
        except Inexpressible as reason:
            problems.append(refusal(edit, "the YAML language", reason))
        if edit.binding == "xpath1" and calculates(edit.expression):
            rounded.append(edit.name)
    if problems:
        raise EditError(problems)
    if silent:
        notes.append(silent_rules_note(silent))
    if len(contexts) == 1:
        notes.append(f"the context {contexts.pop()} is not written: rules in YAML are about every record")
    if rounded:
        notes.append(
            f"exact in decimals here, rounded to binary64 in XPath (the same for whole numbers): {', '.join(rounded)}"
        )
    head = "".join(f"# {note}\n" for note in notes)
    body = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=LINE) if entries else "[]\n"
    return Converted(head + body, tuple(notes))


def _yaml_entry(edit: Edit, position: int) -> Any:
    when: Expression | None = None
    if edit.binding == "xpath1":
        rule = exact_rule(tree_of(edit))
        if isinstance(rule, Truth):
            raise Inexpressible(f"it {'always holds' if rule.value else 'never holds'}, whatever the record")
    elif edit.when is not None and isinstance(edit.expression, IfThen):
        when, rule = edit.when, edit.expression.consequent
    else:
        rule = edit.expression
    if edit.level:
        rule = plain_words(rule)
    entry: dict[str, str] = {"rule": rule_text(rule)}
    if edit.name != f"edit-{position}":
        entry["name"] = edit.name
    if edit.label:
        entry["label"] = edit.label
    if when is not None:
        entry["when"] = rule_text(when)
    if edit.message:
        entry["message"] = edit.message
    if edit.severity != "error":
        entry["severity"] = edit.severity
    return entry if len(entry) > 1 else entry["rule"]
