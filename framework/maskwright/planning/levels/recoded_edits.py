"""Edits across levels that read recoded variables: said of the published categories, dropped, or refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits import expression as x
from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.levels.structure import sources_of
from maskwright.edits.levels.structure_edits import source_of_name, sources_of_edit, spans_records
from maskwright.edits.translation.translate import Translation
from maskwright.foundation.errors import Problem, refuse_problems
from maskwright.planning.adjustment_units import Changes
from maskwright.planning.recoded_edits import RecodedVariables, published_before_data
from maskwright.planning.step_variables import variables_of_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.dataset import Column
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure import Structure
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.edits.translation.values import Recoded
    from maskwright.planning.levels.steps import Treatment
    from maskwright.planning.model import Step


_VALUES_OF_MEMBERS = "{0}({1}.{2}) takes the values of {2}, and a category has none"


@dataclass(frozen=True, eq=False)
class RecodedAcross:
    """What becomes of edits that read recoded variables of other records.

    `bound`: without those that are dropped. `translated`: rules as they are stated of the published categories, by name
    of the edit: each has the same verdict as the original one, or is what `release_edits` lets it be weakened to.
    `alone`: names of those of which nothing else changes. `weakened`: how they were weakened.
    """

    bound: BoundEdits
    dropped: tuple[Edit, ...] = ()
    translated: Mapping[str, Edit] = field(default_factory=dict)
    alone: frozenset[str] = frozenset()
    weakened: tuple[Translation, ...] = ()


def published_categories(level: str, steps: Sequence[Step], variables: Sequence[Variable]) -> dict[Source, Recoded]:
    """What the categories of recoded variables of a level stand for: of those that hold their true values."""
    from maskwright.edits.translation.values import recoded  # of recoded variables

    original = {each.name: each for each in variables}
    published = published_variables(level, steps, variables)
    found = {source: recoded(original[source[1]], each) for source, each in published.items()}
    return {source: each for source, each in found.items() if each.values}


def published_variables(level: str, steps: Sequence[Step], variables: Sequence[Variable]) -> dict[Source, Variable]:
    """Recoded variables of a level as they are published, of those that hold their true values."""
    changes = Changes.of(steps, variables_of_steps(steps, variables))
    original = {each.name: each for each in variables if each.name in changes.recoded - changes.moving}
    coarse = RecodedVariables(dict.fromkeys(original, 0), original)
    return {(level, name): each for name, each in published_before_data(steps, variables, coarse).items()}


def in_categories(linked: LinkedData, published: Mapping[Source, Variable]) -> LinkedData:
    """Data in which recoded variables are what will be published of them."""
    changed = {}
    for level in linked:
        own = {name: each for (where, name), each in published.items() if where == level.name and name in level.data}
        if own:
            columns = {name: _in_bands(level.data[name], each) for name, each in own.items()}
            changed[level.name] = level.data.with_columns(columns)
    return linked.with_data(changed)


def _in_bands(column: Column, published: Variable) -> Column:
    values, place = np.unique(column.values[~column.missing], return_inverse=True)
    known = values.tolist() if column.variable.is_numeric else [column.variable.categories[int(v)] for v in values]
    bands = [next((at for at, band in enumerate(published.bands) if band.holds(each)), -1) for each in known]
    codes = np.full(len(column), -1, dtype=np.int32)
    codes[~column.missing] = np.array(bands, dtype=np.int32)[place.reshape(-1)] if bands else -1
    return column.changed(codes, column.missing | (codes < 0), published)


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
    alone: set[str] = set()
    weakened: list[Translation] = []
    stated = {edit.name: edit for edit in rules}
    for edits in bound.edits.values():
        for edit in edits:
            read = _recoded_elsewhere(bound, treatments, edit)
            if not read:
                continue
            found = Translation(None, None, edit, "no rule states it")
            unknown = [name for level, name in read if (level, name) not in categories]
            if unknown:
                found = replace(
                    found, reason=f"which categories of {', '.join(unknown)} are published shows in masking"
                )
            elif edit.name in stated:
                found = _translated(stated[edit.name], edit.level, structure, categories)
            may_be_weakened = all(name in treatments[level].weakenable for level, name in read)
            if found.edit is not None and (found.form == "translated" or may_be_weakened):
                translated[edit.name] = found.edit
                weakened += [found] if found.form == "weakened" else []
                if all(
                    source in categories or source[1] not in treatments[source[0]].masked
                    for source in sources_of_edit(bound, edit)
                ):
                    alone.add(edit.name)
            elif any(name in treatments[level].droppable for level, name in read):
                dropped.append(edit)
            else:
                problems.append(_refusal(edit, {name: treatments[level].recoded[name] for level, name in read}, found))
    refuse_problems(problems)
    gone = {edit.name for edit in dropped}
    kept = {
        name: EditSet(tuple(edit for edit in edits if edit.name not in gone), edits.notes)
        for name, edits in bound.edits.items()
    }
    return RecodedAcross(replace(bound, edits=kept), tuple(dropped), translated, frozenset(alone), tuple(weakened))


def _recoded_elsewhere(bound: BoundEdits, treatments: Mapping[str, Treatment], edit: Edit) -> list[tuple[str, str]]:
    """Recoded variables that an edit reads of other records, or of its own beside what steps mask of others.

    None where its level keeps it alone.
    """
    if not spans_records(bound, edit):
        return []
    columns = {each.name for each in bound.columns[edit.level]}
    beyond = {
        source for name in edit.variables if name in columns for source in sources_of(bound.columns, edit.level, name)
    }
    if not any(name in treatments[level].masked for level, name in beyond):
        return []
    read = sources_of_edit(bound, edit)
    return sorted((level, name) for level, name in read if name in treatments[level].recoded)


def _translated(edit: Edit, level: str, structure: Structure, categories: Mapping[Source, Recoded]) -> Translation:
    """Rule that is said of published categories; of members it reads them in conditions, with the same verdict."""
    if edit.engine is not None or edit.binding != "exact" or edit.when is not None:
        return Translation(None, None, edit, "it is not written in the rule language, or has a `when`")
    untold: list[str] = []
    members: dict[str, x.Expression] = {}

    def change(node: x.Expression) -> x.Expression:
        match node:
            case x.GroupFunction(function, below, operand, condition):
                if operand is not None and source_of_name(operand.name, below, structure) in categories:
                    untold.append(_VALUES_OF_MEMBERS.format(function, below, operand.name))
                own = {} if condition is None else _recoded_in(condition, below, structure, categories)
                found = _of_categories(condition, own) if condition is not None and own else condition
                if found is None and condition is not None:
                    untold.append("a category lies on both sides of a condition on members")
                members[f"members {len(members) + 1}"] = replace(node, condition=found)
                return x.VariableReference(f"members {len(members)}")
            case x.InOriginal(names) if any(source_of_name(name, level, structure) in categories for name in names):
                untold.append("it asks for combinations of the original")
        return node

    def put_back(node: x.Expression) -> x.Expression:
        return members.get(node.name, node) if isinstance(node, x.VariableReference) else node

    tree = x.rewritten(edit.expression, change)
    if untold:
        return Translation(None, None, edit, "; ".join(dict.fromkeys(untold)))
    done = _of_own_categories(replace(edit, expression=tree), _recoded_in(tree, level, structure, categories))
    if done.edit is None:
        return replace(done, original=edit)
    text = rule_text(x.rewritten(done.edit.expression, put_back))
    (found,) = EditSet.parse([{"rule": text, "name": edit.name}])
    stated = replace(
        edit, expression=found.expression, parts=found.parts, variables=found.variables, text=text, assertion=None
    )
    reason = "a category lies on both sides of it" if done.form == "weakened" else ""
    return Translation(stated, done.form, edit, reason)


def _of_own_categories(edit: Edit, variables: Mapping[str, Recoded]) -> Translation:
    """Rule on single records, what it reads of members left as it is."""
    from maskwright.edits.translation.translate import translate  # of recoded variables

    if not variables:
        return Translation(edit, "translated", edit)
    return translate(replace(edit, variables=x.variable_names(edit.expression)), variables, lambda _: False)


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


def _refusal(edit: Edit, steps: Mapping[str, int], found: Translation) -> Problem:
    recodings = ", ".join(f"step {number} publishes {name} as coarser categories" for name, number in steps.items())
    message = f"{recodings}, and edit {edit.name!r} reads it across records: it cannot be said of the categories with "
    message += "the same meaning" + (f": {found.reason}" if found.reason else "")
    listed = ", ".join(steps)
    weaken = "" if found.edit is None else (
        f"let it be weakened to what is true of every true record, 'release_edits: {{weaken: [{listed}]}}'; or "
    )  # fmt: skip
    return Problem(
        message, edit.place,
        f"count or add up members by a condition that no category has on both sides (age >= 18, with a border at 18); "
        f"or {weaken}let it go, 'release_edits: {{drop: [{listed}]}}' in the step's params, or keep {listed}",
    )  # fmt: skip
