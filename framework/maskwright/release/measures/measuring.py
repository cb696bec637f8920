"""Computing measures of loss and risk on two datasets, and of groups with their members on all levels."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.edit_set import EditSet
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import InputError, Problem, UnpairedRecords, refuse_problems
from maskwright.foundation.processes.resources import give_back_memory
from maskwright.foundation.progress import Reporter, stage
from maskwright.foundation.randomness import generator
from maskwright.plugins.guarding.frozen import frozen
from maskwright.plugins.guarding.origin import package_label
from maskwright.plugins.measure import Comparison, Measurable, Measure
from maskwright.plugins.measurement import ComparedLevels, Measurement, needs_levels, plain_records
from maskwright.release.measures.variable_selection import (
    OF_CATEGORIES,
    changed_variables,
    compared_variables,
    given_to_measures,
    left_out,
    names_used,
    nothing_to_measure,
    released_variables,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.data.variable import Variable
    from maskwright.pipeline.resolved import MeasureRequest


def compute_measures(
    requests: Sequence[MeasureRequest],
    original: Dataset,
    masked: Dataset,
    edits: EditSet,
    plan: Mapping[str, Any],
    seed: int,
    reporter: Reporter,
    variables: Sequence[str] | None = None,
    *,
    asked: bool = True,
    about: tuple[str, ...] = (),
    about_categories: tuple[str, ...] = (),
    changed: Collection[str] | None = None,
    before: bool = True,
    drawn: bool = False,
) -> dict[str, Measurement]:
    """Compute measures; each draws from a generator of its own label.

    Files of different length, without `origin`, are given to the measures that compare files as files.
    """
    if needing := [needs_levels(each.label, each.place) for each in requests if each.measure.claims.of_levels]:
        raise InputError(needing)
    original, masked = frozen(original), frozen(masked)
    hidden = changed_variables(original, masked) if changed is None else changed
    if variables is None:
        names, categorical = compared_variables(original, masked)
    else:
        names, categorical = _by_kind(variables, masked)
    weights, about_weights = record_weights(original)
    given = given_to_measures(original, masked, names, categorical)
    if variables is None and all(_has_nothing_to_compare(each.measure, each.params, given) for each in requests):
        raise nothing_to_measure(original, masked)
    results: dict[str, Measurement] = {}
    unpaired: list[Problem] = []
    for request in requests:
        missed = left_out(request.measure, request.params, given, hidden)
        if missed.blind:
            unseen = f"not defined: {', '.join(missed.blind)} uses none of the masked variables"
            unseen += OF_CATEGORIES if request.measure.kind == "score" else ""
            results[request.label] = Measurement(math.nan, notes=(unseen,), leaves_out=missed.names)
            continue
        title = f"Measuring {request.label}{package_label(request.measure.compute)}"
        with stage(reporter, title) as progress:
            comparison = Comparison(
                original, masked, names, edits, masked.origin, weights, original.households, plan, progress,
                categorical, drawn,
            )  # fmt: skip
            found = computed(request, comparison, seed, unpaired, before=before)
        give_back_memory()
        used = names_used(request.measure, request.params, given)
        of_categories = request.measure.kind == "loss" and used.isdisjoint(names) and not used.isdisjoint(categorical)
        stated = about_categories if of_categories else about
        notes = (*found.notes, *stated, *about_weights, *_household_notices(request.measure, original))
        results[request.label] = replace(found, notes=notes, leaves_out=missed.names)
    if unpaired and asked:
        raise InputError(unpaired)
    return results


def _has_nothing_to_compare(measure: Measure, params: BaseModel, given: Measurable) -> bool:
    """Whether a measure, or a part of a score, needs numbers to compare, and there are none."""
    if measure.claims.components is not None:
        return any(_has_nothing_to_compare(part, own, given) for part, own in measure.claims.components(params))
    return measure.claims.uses is None and not given.compared


def computed(
    request: MeasureRequest, comparison: Comparison, seed: int, unpaired: list[Problem], *, before: bool
) -> Measurement:
    """What a measure finds; that it needs pairs is added to `unpaired`. One no one requested says why it cannot."""
    measure, comparison = request.measure, frozen(comparison)
    try:
        if not measure.claims.compares_unpaired:
            comparison.require_pairs("each masked record is compared with its own original")
        found = measure.compute(comparison, request.params, generator(seed, "measure", request.label))
    except UnpairedRecords as error:
        (problem,) = error.problems
        if request.asked:
            unpaired.append(replace(problem, measure=request.label))
        return Measurement(math.nan, notes=(f"not computed: needs pairs; {problem.message}",))
    except InputError as error:
        if request.asked:
            raise
        return Measurement(math.nan, notes=(f"not computed: {error.problems[0].sentence}",))
    if before and measure.claims.of_one_file:
        found = replace(
            found, before=_of_original(request, comparison, generator(seed, "measure before", request.label))
        )
    return found


def _of_original(request: MeasureRequest, comparison: Comparison, rng: np.random.Generator) -> Measurement:
    """The same measure, of the original as if it were released as it is."""
    released = replace(comparison.original, origin=None)
    levels = None if comparison.levels is None else comparison.levels.of_original()
    try:
        return request.measure.compute(
            replace(comparison, masked=released, origin=None, drawn=False, levels=levels), request.params, rng
        )
    except InputError as error:
        return Measurement(math.nan, notes=(f"not computed of the original: {error}",))


def _by_kind(variables: Sequence[str], masked: Dataset) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of numeric variables, and of those that are published as categories; unknown ones are for the measures."""
    categorical = [name for name in variables if name in masked and not masked[name].variable.is_numeric]
    return tuple(name for name in variables if name not in categorical), tuple(categorical)


def record_weights(original: Dataset) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Weights of the records, and why there are none although some are declared.

    Returns of the one numeric variable of role weight; none may be missing, negative or infinite, and not all zero;
    shape (n,).
    """
    name, message = weight_variable(original.variables)
    if name is None:
        return None, message
    column = original[name]
    weights = np.asarray(column.values, dtype=np.float64)
    wrong = int(np.sum(column.missing | ~(np.isfinite(weights) & (weights >= 0.0))))
    message = unusable_weights(name, plural(wrong, "record") if wrong else "", is_zero=not weights.any())
    return (None, message) if message else (weights, ())


def weight_variable(variables: Iterable[Variable]) -> tuple[str | None, tuple[str, ...]]:
    """The one numeric variable of role weight, and why there is none although some are declared."""
    named = [each for each in variables if each.role == "weight"]
    if len(named) > 1:
        return None, (f"no weights are used: several variables have that role ({', '.join(c.name for c in named)})",)
    if named and not named[0].is_numeric:
        return None, (f"no weights are used: {named[0].name} holds categories",)
    return (named[0].name if named else None), ()


def unusable_weights(name: str, wrong: str, *, is_zero: bool) -> tuple[str, ...]:
    """Why the weights of a file are not used; `wrong`: the records that have none."""
    if wrong:
        return (f"no weights are used: {name} is missing, negative or infinite in {wrong}",)
    return (f"no weights are used: {name} is zero in every record",) if is_zero else ()


def _household_notices(measure: Measure, original: Dataset) -> tuple[str, ...]:
    if original.households is None or measure.claims.counts_households or measure.kind == "loss":
        return ()
    return (f"this counts single records, although {original.groups_said} are declared",)


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

    `origin`: of levels whose masked records are not in the order of the originals; shape (m,).
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
        found, stated = record_weights(before)
        notes += stated
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
    """Compute measures of groups and their members; each draws from a generator of its own label."""
    levels = frozen(levels)
    given, top = measurable_levels(levels), levels.top
    original, masked = plain_records(levels.original, top), plain_records(levels.masked, top)
    origin = levels.origin.get(top)
    results: dict[str, Measurement] = {}
    unpaired: list[Problem] = []
    for request in requests:
        missed = left_out(request.measure, request.params, given, ())
        title = f"Measuring {request.label}{package_label(request.measure.compute)}"
        with stage(reporter, title) as progress:
            comparison = Comparison(
                original, masked, levels.variables.get(top, ()), edits or EditSet(), origin, levels.weights.get(top),
                progress=progress, levels=levels,
            )  # fmt: skip
            found = computed(request, comparison, seed, unpaired, before=True)
        results[request.label] = replace(found, notes=(*found.notes, *about), leaves_out=missed.names)
    refuse_problems(unpaired)
    return results


def with_group_linkage(
    found: Mapping[str, Measurement],
    requests: Sequence[MeasureRequest],
    of_groups: Mapping[str, Measurement],
    group_requests: Sequence[MeasureRequest],
    levels: tuple[str, str],
) -> dict[str, Measurement]:
    """Measurements of the lower level; those that link single records say what linking whole groups finds."""
    top, low = levels
    message = f"with the key of its {top} an intruder has all other records of the level {low} that belong to it"
    figures = [
        f"{each.label}: {of_groups[each.label].value:.3g} % of the level {top} are found by the set of their members"
        for each in group_requests
        if each.measure.name == GROUP_LINKAGE
    ]
    links = {each.label for each in requests if each.measure.name in RECORD_LINKAGE}
    return {
        label: replace(each, notes=(*each.notes, message, *figures)) if label in links else each
        for label, each in found.items()
    }
