"""Edits bound to the levels that they are about, and their verdicts on linked records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import Outcome, evaluate
from maskwright.edits.evaluation.check_data import check_dataset, chunks_of
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.levels.as_schematron import as_stated
from maskwright.edits.levels.binding import BoundEdits, bind
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import Structure, refuse_conditions, refuse_texts
from maskwright.edits.levels.structure_edits import with_structure_edits
from maskwright.edits.normalisation import written_out
from maskwright.edits.type_resolution import with_dates
from maskwright.planning.applicable_edits import declared_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit


def edits_of_levels(rules: EditSet, linked: LinkedData) -> BoundEdits:
    """Edits by level: those that are stated, declared bounds, and those that linking rests on."""
    refuse_conditions(linked)
    rules = as_stated(rules, linked)
    bound = bind(rules, Structure.of(linked))
    refuse_texts(linked, bound.columns, rules)
    bound = with_structure_edits(bound, linked)
    edits = {}
    for level in linked:
        data = with_linked_columns(linked, bound, level.name)
        stated = written_out(bound.edits[level.name], level.data.names, ())
        bounds = declared_bounds(level.data.variables, stated)
        stated += EditSet(tuple(replace(edit, level=level.name) for edit in bounds))
        edits[level.name] = with_dates(stated, data.variables)
    return replace(bound, edits=edits)


def outcomes(linked: LinkedData, bound: BoundEdits, original: LinkedData | None = None) -> dict[str, Outcome]:
    """Verdict of every edit on the records that it is about, by level."""
    found = {}
    for name in linked.names:
        data = with_linked_columns(linked, bound, name)
        requested = domain_tuples(bound.edits[name])
        reference = data if original is None or not requested else with_linked_columns(original, bound, name)
        found[name] = check_dataset(data, bound.edits[name], Domain.from_dataset(reference, requested))
    return found


def check_linked(linked: LinkedData, bound: BoundEdits, original: LinkedData | None = None) -> Outcome:
    """Verdict of every edit on the records of its level, all levels together."""
    found = outcomes(linked, bound, original)
    named = tuple(replace(each, level=name) for name, outcome in found.items() for each in outcome.edits)
    return Outcome(sum(map(len, linked)), named, levels={level.name: len(level) for level in linked})


def unknown_records(edit: Edit, linked: LinkedData, bound: BoundEdits) -> NDArray[np.bool_]:
    """Records of its level for which the verdict of an edit is unknown."""
    data = with_linked_columns(linked, bound, edit.level)
    domain = Domain.from_dataset(data, domain_tuples(EditSet((edit,))))
    unknown = [evaluate(edit, chunk, domain).unknown for chunk in chunks_of(data)]
    return np.concatenate(unknown) if unknown else np.zeros(0, dtype=np.bool_)
