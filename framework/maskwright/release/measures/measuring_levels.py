"""Computing measures of groups and their members, once for all levels of the data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.progress import Reporter, stage
from maskwright.plugins.compared_levels import ComparedLevels, plain_records
from maskwright.plugins.guarding.frozen import frozen
from maskwright.plugins.guarding.origin import package_said
from maskwright.plugins.measure import Comparison, Measurable
from maskwright.release.measures.compared_variables import changed_variables, released_variables
from maskwright.release.measures.measured_variables import left_out
from maskwright.release.measures.measuring import computed, record_weights

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.plugins.measurement import Measurement

GROUP_LINKAGE = "household_linkage"
RECORD_LINKAGE = ("distance_record_linkage", "mahalanobis_record_linkage", "probabilistic_record_linkage",
                  "mixed_record_linkage", "mixed_probabilistic_record_linkage")  # fmt: skip
"""Names of the measures that link single records: beside them belongs the figure of whole groups."""


def compared_levels(
    original: LinkedData,
    masked: LinkedData,
    origin: Mapping[str, NDArray[np.int64]],
    changed: Mapping[str, Collection[str]] | None = None,
) -> tuple[ComparedLevels, tuple[str, ...]]:
    """Both files as measures of groups get them, and notes on their weights.

    `origin`: of levels whose masked records are not in the order of the originals; shape (m,). `changed`: names of the
    variables that are masked; by default those whose values differ.
    """
    variables: dict[str, tuple[str, ...]] = {}
    weights: dict[str, NDArray[np.float64]] = {}
    notes: list[str] = []
    for level in original:
        name = level.name
        before, after = plain_records(original, name), plain_records(masked, name)
        paired = replace(after, origin=origin.get(name))
        hidden = changed_variables(before, paired) if changed is None else changed.get(name, ())
        numeric = released_variables(before, after, hidden)
        variables[name] = tuple(each for each in numeric if each in hidden) or numeric
        found, said = record_weights(before)
        notes += said
        if found is not None:
            weights[name] = found
    return ComparedLevels(original, masked, origin, variables, weights), tuple(notes)


def measurable_levels(levels: ComparedLevels) -> Measurable:
    """What measures of groups are given: the variables of all levels, with the roles of the original."""
    names = levels.variable_names()
    variables = {
        name: replace(levels.masked[level].data[name].variable, role=levels.original[level].data[name].variable.role)
        for level, own in names.items()
        for name in own
    }
    compared = tuple(name for own in levels.variables.values() for name in own)
    return Measurable(variables, compared, (), names)


def compute_level_measures(
    requests: Sequence[MeasureRequest],
    levels: ComparedLevels,
    seed: int,
    reporter: Reporter,
    *,
    edits: EditSet | None = None,
    about: tuple[str, ...] = (),
) -> dict[str, Measurement]:
    """Compute measures of groups and their members; each draws from a generator of its own label.

    `about`: further notes of every measure.
    """
    levels = frozen(levels)
    given, top = measurable_levels(levels), levels.top
    original, masked = plain_records(levels.original, top), plain_records(levels.masked, top)
    origin = levels.origin.get(top)
    results: dict[str, Measurement] = {}
    unpaired: list[Problem] = []
    for request in requests:
        missed = left_out(request.measure, request.params, given, ())
        title = f"Measuring {request.label}{package_said(request.measure.compute)}"
        with stage(reporter, title) as progress:
            comparison = Comparison(
                original, masked, levels.variables.get(top, ()), edits or EditSet(), origin, levels.weights.get(top),
                progress=progress, levels=levels,
            )  # fmt: skip
            found = computed(request, comparison, seed, unpaired, before=True)
        results[request.label] = replace(found, notes=(*found.notes, *about), leaves_out=missed.names)
    if unpaired:
        raise InputError(unpaired)
    return results


def with_group_linkage(
    found: Mapping[str, Measurement],
    requests: Sequence[MeasureRequest],
    of_groups: Mapping[str, Measurement],
    group_requests: Sequence[MeasureRequest],
    levels: tuple[str, str],
) -> dict[str, Measurement]:
    """Measurements of the lower level; those that link single records say what linking whole groups finds.

    `of_groups`: of groups and their members. `levels`: names of the upper and of the lower level.
    """
    top, low = levels
    said = f"with the key of its {top} an intruder has all other records of the level {low} that belong to it"
    figures = [
        f"{each.label}: {of_groups[each.label].value:.3g} % of the level {top} are found by the set of their members"
        for each in group_requests
        if each.measure.name == GROUP_LINKAGE
    ]
    links = {each.label for each in requests if each.measure.name in RECORD_LINKAGE}
    return {
        label: replace(each, notes=(*each.notes, said, *figures)) if label in links else each
        for label, each in found.items()
    }
