"""Schematron that was written from rules on levels, read as these rules again.

A test of XPath says what a rule says with guards for missing cells and half units for decimals, in which algebra no
longer sees the rule. It stands beside its test then. It is believed where the same test would be written from it, for
the levels, decimals and missing codes of these data; else the test is what counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.levels.as_schematron import nested_test
from maskwright.edits.rule_language.rules import RuleItem, edit_of
from maskwright.foundation.errors import EditError, Place

if TYPE_CHECKING:
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit


def as_stated(edits: EditSet, linked: LinkedData) -> EditSet:
    """Edits in which the rules that tests were written from stand in their place.

    `edits`: not yet bound to levels.
    """
    found = [_stated(edit, linked) for edit in edits]
    kept = [each.name for each in found if each.level and each.assertion is not None and each.assertion.rule]
    if not kept:
        return EditSet(tuple(found), edits.notes)
    said = "for the levels, decimals and missing codes of these data the rule beside the test is written otherwise"
    return EditSet(tuple(found), (*edits.notes, f"{', '.join(kept)}: {said}, so the test is taken"))


def _stated(edit: Edit, linked: LinkedData) -> Edit:
    """Edit as the rule beside its test states it; itself where the test says something else."""
    assertion = edit.assertion
    if not edit.level or assertion is None or assertion.rule is None or assertion.report or edit.when is not None:
        return edit
    written = {"rule": assertion.rule, "name": edit.name}
    if assertion.when is not None:
        written["when"] = assertion.when
    try:
        rule = edit_of(RuleItem(written, edit.place or Place("rule")), 0)
        same = nested_test(rule, linked) == (edit.level, assertion.test)
    except (EditError, Inexpressible):
        return edit
    if not same:
        return edit
    message = "" if edit.message == rule.text else edit.message
    return replace(rule, message=message, severity=edit.severity, label=edit.label, assertion=assertion)
