"""Rules of several levels as a Schematron file on nested records, and read again as these rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.element_names import WrittenNames
from maskwright.edits.expression import IfThen
from maskwright.edits.languages.conversion.binary_comparison import Grids
from maskwright.edits.languages.conversion.convert import schematron_file
from maskwright.edits.languages.conversion.converted import Inexpressible, tree_of
from maskwright.edits.languages.conversion.exact_as_xpath import xpath_test
from maskwright.edits.languages.conversion.xpath_text import xpath_text
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.languages.schematron.options import NestedLevels
from maskwright.edits.levels.as_xpath import LevelTests
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.structure import Structure
from maskwright.edits.normalisation import written_out
from maskwright.edits.rule_language.rules import RuleItem, edit_of
from maskwright.foundation.errors import EditError, Place

if TYPE_CHECKING:
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.expression import Expression
    from maskwright.edits.languages.conversion.converted import Converted


def nested_schematron_file(edits: EditSet, linked: LinkedData, decimals: int | None = None) -> Converted:
    """Write edits as Schematron about nested XML, one pattern each, with the rule as an attribute of its test."""
    tests = _NestedTests(edits, linked, decimals)
    rules = {edit.name: _rule_of(edit) for edit in edits}
    return schematron_file(
        tests.edits,
        tests.record,
        tests.grids[tests.names.levels[0].name],
        tests.naming[tests.names.levels[0].name],
        tests.written,
        rules,
    )


def nested_test(edit: Edit, linked: LinkedData) -> tuple[str, str]:
    """Level of an edit, and its test."""
    tests = _NestedTests(EditSet((edit,)), linked, None)
    (bound,) = tests.edits
    _, test, naming = tests.written(bound)
    return bound.level, xpath_text(test, naming)


class _NestedTests:
    """Edits, and what their tests have to know of the data.

    `edits`: bound to levels, in the order in which they are stated.
    """

    def __init__(self, edits: EditSet, linked: LinkedData, decimals: int | None) -> None:
        bound = bind(edits, Structure.of(linked))
        declared = {level.name: level.declared for level in linked}
        layouts = {level.name: level.data.layout.details for level in linked}
        called = {name: each.get("expanded", {}) for name, each in layouts.items()}
        every = WrittenNames(
            {f"{level}.{name}": expanded for level, own in called.items() for name, expanded in own.items()},
            {prefix: uri for each in layouts.values() for prefix, uri in each.get("namespaces", {}).items()},
        )
        self.naming = {name: every.of(own) for name, own in called.items()}
        stated = NestedLevels.of(declared)
        records = {each.name: layouts[each.name].get("expanded_path", (each.element,))[-1] for each in stated.levels}
        self.record = records[stated.levels[0].name]
        self.names = NestedLevels(
            tuple(replace(each, element=every.written(records[each.name])) for each in stated.levels)
        )
        self.grids = {level.name: _grids(level, decimals) for level in linked}
        self._columns = {name: {each.name: each for each in found} for name, found in bound.columns.items()}
        self._tests = LevelTests(self.names, declared, self._columns, self.grids, self.naming)
        found: dict[str, Edit] = {}
        for level in linked:
            plain = (replace(edit, expression=bound.plain[edit.name]) for edit in bound.edits[level.name])
            found |= {edit.name: edit for edit in written_out(EditSet(tuple(plain)), level.data.names)}
        self.edits = EditSet(tuple(found[edit.name] for edit in edits), edits.notes)

    def written(self, edit: Edit) -> tuple[str, Expression, WrittenNames]:
        """Context and test of a bound edit, and names of its elements."""
        tree = tree_of(edit)
        element, naming = self.names[edit.level].element, self.naming[edit.level]
        if any(name in self._columns[edit.level] for name in edit.variables):
            return element, self._tests.test(tree, edit.level), naming
        return element, xpath_test(tree, self.grids[edit.level]), naming


def _rule_of(edit: Edit) -> dict[str, str]:
    """Rule of an edit and its condition, as the YAML language says them."""
    if edit.when is not None and isinstance(edit.expression, IfThen):
        return {"rule": rule_text(edit.expression.consequent), "when": rule_text(edit.when)}
    return {"rule": rule_text(edit.expression)}


def _grids(level: Level, decimals: int | None) -> Grids:
    variables = level.data.variables
    return Grids(
        {each.name: each.decimals if decimals is None else decimals for each in variables if each.is_numeric},
        dates={each.name: each.date_text for each in variables if each.is_date},
        empty={each.name: each.empty_texts for each in variables},
    )


def as_stated(edits: EditSet, linked: LinkedData) -> EditSet:
    """Edits in which the rules that tests were written from stand in their place."""
    found = [_stated(edit, linked) for edit in edits]
    kept = [each.name for each in found if each.level and each.assertion is not None and each.assertion.rule]
    if not kept:
        return EditSet(tuple(found), edits.notes)
    note = "for the levels, decimals and missing codes of these data the rule beside the test is written otherwise"
    return EditSet(tuple(found), (*edits.notes, f"{', '.join(kept)}: {note}, so the test is taken"))


def _stated(edit: Edit, linked: LinkedData) -> Edit:
    """Edit as the rule in the attribute of its test states it; itself where the test differs."""
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
