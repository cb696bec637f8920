"""Rules of several levels as a Schematron file about records inside records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.conversion.binary_comparison import Grids
from maskwright.edits.languages.conversion.converted import tree_of
from maskwright.edits.languages.conversion.exact_as_xpath import xpath_test
from maskwright.edits.languages.conversion.schematron_file import schematron_file
from maskwright.edits.languages.xpath.nested_levels import NestedLevels
from maskwright.edits.levels.as_xpath import LevelTests
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.structure import Structure
from maskwright.edits.variable_ranges import written_out

if TYPE_CHECKING:
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.expression import Expression
    from maskwright.edits.languages.conversion.converted import Converted


def nested_schematron_file(edits: EditSet, linked: LinkedData, decimals: int | None = None) -> Converted:
    """Write edits as Schematron about nested XML, one pattern each.

    Parameters
    ----------
    edits : EditSet
        As they are stated, not yet bound to levels.
    linked : LinkedData
        Which variables each level has; elements are called as the levels are declared, or as their names.
    decimals : int, optional
        Most decimals of the variables; what the data say otherwise.

    Raises
    ------
    EditError
        Names that no level has; edits that XPath 1.0 cannot say, each by name with the reason.
    """
    bound = bind(edits, Structure.of(linked))
    names = NestedLevels.of({level.name: level.declared for level in linked})
    elements = {names.group: names.group_element, names.member: names.member_element}
    grids = {level.name: _grids(level, decimals) for level in linked}
    columns = {name: {each.name: each for each in found} for name, found in bound.columns.items()}
    tests = LevelTests(names, {level.name: level.declared for level in linked}, columns, grids)
    found: dict[str, Edit] = {}
    for level in linked:
        plain = (replace(edit, expression=bound.plain[edit.name]) for edit in bound.edits[level.name])
        found |= {edit.name: edit for edit in written_out(EditSet(tuple(plain)), level.data.names)}

    def written(edit: Edit) -> tuple[str, Expression]:
        assert edit.level is not None
        tree = tree_of(edit)
        if any(name in columns[edit.level] for name in edit.variables):
            return elements[edit.level], tests.test(tree, edit.level)
        return elements[edit.level], xpath_test(tree, grids[edit.level])

    in_order = EditSet(tuple(found[edit.name] for edit in edits), edits.notes)
    return schematron_file(in_order, names.group_element, grids[names.group], written)


def _grids(level: Level, decimals: int | None) -> Grids:
    variables = level.data.variables
    return Grids(
        {each.name: each.decimals if decimals is None else decimals for each in variables if each.is_numeric},
        dates={each.name: each.date_text for each in variables if each.is_date},
        empty={each.name: each.empty_texts for each in variables},
    )
