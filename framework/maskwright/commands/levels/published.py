"""The edits that hold in the published data of several levels, where cells are suppressed and variables recoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.levels.arriving import edits_of_levels
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.linked_columns import StructureColumn
from maskwright.edits.levels.presence import with_conditions
from maskwright.edits.levels.sources import spans_records
from maskwright.edits.levels.structure import Structure
from maskwright.masking.levels.emptied import dropped_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.commands.levels.arriving import ArrivedLevels
    from maskwright.commands.levels.masking import MaskedLevels
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits


@dataclass(frozen=True, eq=False)
class PublishedEdits:
    """Edits that hold in what is published.

    `rules`: the same as rules that can be written, without those that linking rests on. `reference`: the original,
    recoded alike: what edits on combinations in the original refer to. `not_applicable`: records that an edit across
    levels is not about, because a cell that it reads was suppressed.
    """

    bound: BoundEdits
    rules: EditSet
    reference: LinkedData
    not_applicable: Mapping[str, int]


def published_edits(arrived: ArrivedLevels, masked: MaskedLevels) -> PublishedEdits:
    """Edits of a run as they hold of its masked data.

    An edit on one record holds as its level says; one across records when the cells that it reads are there.
    """
    stated = masked.planned.arrived.bound
    levels = {edit.name: name for name, edits in stated.edits.items() for edit in edits}
    gone = {name for result in masked.results.values() for name in dropped_names(result)}
    gone |= {edit.name for ready in masked.planned.ready.values() for edit in ready.dropped}
    kept = EditSet(
        tuple(edit for edit in arrived.rules if edit.name in levels and edit.name not in gone), arrived.rules.notes
    )
    spanning = {edit.name for edits in stated.edits.values() for edit in edits if spans_records(stated, edit)}
    rules = with_conditions(
        kept, {name: level for name, level in levels.items() if name in spanning}, Structure.of(masked.linked),
        {source for source, cells in masked.emptied.cells.items() if cells.any()},
    )  # fmt: skip
    bound = edits_of_levels(rules, arrived.linked)
    translated = {
        each.original.name for result in masked.results.values() if result.terms is not None
        for each in result.terms.translations
    } | {each.original.name for ready in masked.planned.ready.values() for each in ready.plan.translations}  # fmt: skip
    own = {
        (name, edit.name): edit
        for name, result in masked.results.items() for edit in result.edits
        if edit.name not in spanning or edit.name in translated
    }  # fmt: skip
    edits = {
        name: EditSet(tuple(own.get((name, edit.name), edit) for edit in each if edit.name in levels
                            and edit.name not in gone), each.notes)
        for name, each in bound.edits.items()
    }  # fmt: skip
    bound = replace(bound, edits=edits)
    return PublishedEdits(
        bound, _written(rules, bound, own), _recoded_alike(arrived, masked),
        _not_applicable(bound, spanning, masked),
    )  # fmt: skip


def _recoded_alike(arrived: ArrivedLevels, masked: MaskedLevels) -> LinkedData:
    """The original with the variables that are recoded as they are published: without the records that are left out."""
    recoding = {name: result.terms for name, result in masked.results.items() if result.terms is not None}
    if not recoding:
        return arrived.linked
    left = masked.planned.arrived.linked
    changed = {}
    for name, terms in recoding.items():
        columns = {each: terms.reference[each] for each in terms.variables}
        if any(len(column) != len(left[name]) for column in columns.values()):
            columns = {each: column.taken(masked.rows[name]) for each, column in columns.items()}
        changed[name] = left[name].data.with_columns(columns)
    return left.with_data(changed)


def _written(rules: EditSet, bound: BoundEdits, own: Mapping[tuple[str, str], Edit]) -> EditSet:
    """Rules to write: as they are stated where they are unchanged, and declared bounds besides."""
    stated = {edit.name: edit for edit in rules}
    structure = {
        column.name for columns in bound.columns.values() for column in columns if isinstance(column, StructureColumn)
    }
    found = []
    for name, edits in bound.edits.items():
        for edit in edits:
            changed = own.get((name, edit.name))
            plain = stated.get(edit.name, edit)
            if structure.isdisjoint(edit.variables):
                found.append(plain if changed is None or changed.text == plain.text else changed)
    order = {name: place for place, name in enumerate(stated)}
    return EditSet(tuple(sorted(found, key=lambda edit: order.get(edit.name, len(order)))))


def _not_applicable(bound: BoundEdits, spanning: set[str], masked: MaskedLevels) -> dict[str, int]:
    """Records of which an edit across levels says nothing, though it would if no cell were suppressed."""
    counts: dict[str, int] = {}
    if not masked.emptied.cells:
        return counts
    for name, edits in bound.edits.items():
        asked = EditSet(tuple(edit for edit in edits if edit.name in spanning and edit.when is not None))
        if not len(asked):
            continue
        fired = []
        for linked in (masked.emptied.shown, masked.linked):
            data = with_linked_columns(linked, bound, name)
            outcome = check_dataset(data, asked, Domain.from_dataset(data, domain_tuples(asked)))
            fired.append(np.array([each.fired for each in outcome.edits]))
        for edit, lost in zip(asked, (fired[0] - fired[1]).tolist(), strict=True):
            if lost:
                counts[edit.name] = lost
    return counts
