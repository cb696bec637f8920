"""Edits across levels that read recoded variables: said of the published categories, dropped, or refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.levels.structure import sources_of
from maskwright.edits.levels.structure_edits import source_of_name, sources_of_edit, spans_records
from maskwright.foundation.errors import InputError, Problem
from maskwright.planning.adjustment_units import Changes
from maskwright.planning.recoded_edits import RecodedVariables, published_before_data
from maskwright.planning.step_variables import variables_of_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure import Structure
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.edits.translation.values import Recoded
    from maskwright.planning.levels.steps import Treatment
    from maskwright.planning.model import Step


@dataclass(frozen=True, eq=False)
class RecodedAcross:
    """What becomes of edits that read recoded variables of other records.

    `bound`: without those that are dropped. `translated`: rules as they are stated of the published categories, by name
    of the edit: each has the same verdict as the original one.
    """

    bound: BoundEdits
    dropped: tuple[Edit, ...] = ()
    translated: Mapping[str, Edit] = field(default_factory=dict)


def published_categories(level: str, steps: Sequence[Step], variables: Sequence[Variable]) -> dict[Source, Recoded]:
    """What the categories of recoded variables of a level stand for: of those that hold their true values."""
    from maskwright.edits.translation.values import recoded  # of recoded variables

    changes = Changes.of(steps, variables_of_steps(steps, variables))
    original = {each.name: each for each in variables if each.name in changes.recoded - changes.moving}
    coarse = RecodedVariables(dict.fromkeys(original, 0), original)
    published = published_before_data(steps, variables, coarse)
    found = {(level, name): recoded(original[name], each) for name, each in published.items()}
    return {source: each for source, each in found.items() if each.values}


def recoded_across(
    bound: BoundEdits,
    treatments: Mapping[str, Treatment],
    rules: EditSet,
    structure: Structure,
    categories: Mapping[Source, Recoded],
) -> RecodedAcross:
    """Edits that read a recoded variable of other records: translated, else dropped where a step says they may go."""
    problems, dropped = [], []
    translated: dict[str, Edit] = {}
    stated = {edit.name: edit for edit in rules}
    for edits in bound.edits.values():
        for edit in edits:
            read = _recoded_elsewhere(bound, treatments, edit)
            if not read:
                continue
            alone = all(
                source in categories or source[1] not in treatments[source[0]].masked
                for source in sources_of_edit(bound, edit)
            )
            found = _translated(stated[edit.name], edit.level, structure, categories) if edit.name in stated else None
            if alone and found is not None:
                translated[edit.name] = found
            elif any(name in treatments[level].droppable for level, name in read):
                dropped.append(edit)
            else:
                recoded = {name: treatments[level].recoded[name] for level, name in read}
                problems.append(_refusal(edit, recoded, with_masked=found is not None))
    if problems:
        raise InputError(problems)
    gone = {edit.name for edit in dropped}
    kept = {
        name: EditSet(tuple(edit for edit in edits if edit.name not in gone), edits.notes)
        for name, edits in bound.edits.items()
    }
    return RecodedAcross(replace(bound, edits=kept), tuple(dropped), translated)


def _recoded_elsewhere(bound: BoundEdits, treatments: Mapping[str, Treatment], edit: Edit) -> list[tuple[str, str]]:
    """Recoded variables of other records that an edit reads, and then its own; none where it reads its own alone."""
    if not spans_records(bound, edit):
        return []
    columns = {each.name for each in bound.columns[edit.level]}
    beyond = {
        source for name in edit.variables if name in columns for source in sources_of(bound.columns, edit.level, name)
    }
    if not any(name in treatments[level].recoded for level, name in beyond):
        return []
    read = sources_of_edit(bound, edit)
    return sorted((level, name) for level, name in read if name in treatments[level].recoded)


def _translated(edit: Edit, level: str, structure: Structure, categories: Mapping[Source, Recoded]) -> Edit | None:
    """Rule whose conditions on members are said of published categories; None where one cannot be, or another reads."""
    if edit.engine is not None or edit.binding != "exact" or edit.when is not None:
        return None
    untold = False

    def change(node: x.Expression) -> x.Expression:
        nonlocal untold
        match node:
            case x.GroupFunction(_, below, operand, condition):
                own = {} if condition is None else _recoded_in(condition, below, structure, categories)
                found = _of_categories(condition, own) if condition is not None and own else condition
                reads_value = operand is not None and source_of_name(operand.name, below, structure) in categories
                untold |= reads_value or (found is None and condition is not None)
                return replace(node, condition=found)
            case x.VariableReference(name):
                untold |= source_of_name(name, level, structure) in categories
            case x.InOriginal(names):
                untold |= any(source_of_name(name, level, structure) in categories for name in names)
        return node

    text = rule_text(x.rewritten(edit.expression, change))
    if untold:
        return None
    (found,) = EditSet.parse([{"rule": text, "name": edit.name}])
    return replace(
        edit, expression=found.expression, parts=found.parts, variables=found.variables, text=text, assertion=None
    )


def _recoded_in(
    condition: x.Expression, level: str, structure: Structure, categories: Mapping[Source, Recoded]
) -> dict[str, Recoded]:
    """Recoded variables that a condition on members reads, by the names that it has for them."""
    sources = {name: source_of_name(name, level, structure) for name in x.variable_names(condition)}
    return {name: categories[source] for name, source in sources.items() if source is not None and source in categories}


def _of_categories(condition: x.Expression, variables: Mapping[str, Recoded]) -> x.Expression | None:
    """Condition with the same truth on published categories; None where there is none."""
    from maskwright.edits.translation.translate import same_condition  # of recoded variables

    if any(isinstance(node, x.GroupFunction) for node in x.nodes(condition)):
        return None
    return same_condition(condition, variables)


def _refusal(edit: Edit, steps: Mapping[str, int], *, with_masked: bool) -> Problem:
    recodings = ", ".join(f"step {number} publishes {name} as coarser categories" for name, number in steps.items())
    message = f"{recodings}, and edit {edit.name!r} reads it of other records"
    if with_masked:
        message += " together with what steps mask: it is kept of values, and not of categories"
    else:
        message += ": it cannot be said of the categories with the same meaning"
    listed = ", ".join(steps)
    return Problem(
        message, edit.place,
        f"count or add up members by a condition that no category has on both sides (age >= 18, with a border at 18); "
        f"or let it go, 'release_edits: {{drop: [{listed}]}}' in the step's params, or keep {listed}",
    )  # fmt: skip
