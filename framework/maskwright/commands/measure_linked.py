"""Loss and risk of masked data of several levels that a program has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.commands.levels.joined_keys import beside_their_groups
from maskwright.commands.levels.measuring import requests_by_level
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError
from maskwright.pipeline.resolved import MeasureRequest
from maskwright.plugins.compared_levels import plain_records
from maskwright.plugins.registry import plugins
from maskwright.release.measures.compared_variables import compared_variables
from maskwright.release.measures.measured_variables import given_to_measures, measure_problems
from maskwright.release.measures.measuring import compute_measures
from maskwright.release.measures.measuring_levels import (
    compared_levels,
    compute_level_measures,
    measurable_levels,
    with_group_linkage,
)
from maskwright.release.measures.usual_losses import USUAL_OF_CATEGORIES, USUAL_OF_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.foundation.progress import Reporter
    from maskwright.plugins.measurement import Measurement


def measure_linked(
    original: LinkedData, masked: LinkedData, requests: Sequence[MeasureRequest] | None, seed: int, reporter: Reporter
) -> dict[str, Measurement]:
    """Measures of groups with their members by their label, others by level, ``level.label``.

    `original`, `masked`: groups are paired in order, and so are their members. `requests`: None: the usual losses of
    each level.
    """
    wrong = [level.name for level in original if level.name not in masked.names]
    if wrong or any(len(masked[level.name]) != len(level) for level in original):
        raise InputError(f"the original is {original} and the masked data {masked}: their records cannot be paired")
    files = {name: (plain_records(original, name), plain_records(masked, name)) for name in original.names}
    files = {
        name: (replace(before, households=original[name].groups, group_name=original.names[0]), after)
        for name, (before, after) in files.items()
    }
    given = {name: given_to_measures(*both, *compared_variables(*both)) for name, both in files.items()}
    if requests is None:
        names = {
            name: (*(USUAL_OF_NUMBERS if one.compared else ()), *(USUAL_OF_CATEGORIES if one.categorical else ()))
            for name, one in given.items()
        }
        chosen = {name: _usual(own) for name, own in names.items()}
        return _of_levels(chosen, original, masked, files, seed, reporter, asked=False)
    of_groups = [each for each in requests if each.measure.of_levels]
    levels, about = compared_levels(original, masked, {})
    chosen, notices, problems = requests_by_level(requests, original, given)
    problems = [*measure_problems(of_groups, measurable_levels(levels)), *problems]
    if problems:
        raise InputError(problems)
    for notice in notices:
        reporter.notice(notice)
    groups = compute_level_measures(of_groups, levels, seed, reporter, about=about)
    found = _of_levels(chosen, original, masked, files, seed, reporter, asked=True)
    lowest = [replace(each, label=f"{levels.lowest}.{each.label}") for each in chosen[levels.lowest]]
    return {**groups, **with_group_linkage(found, lowest, groups, of_groups, (levels.top, levels.lowest))}


def _usual(names: Sequence[str]) -> tuple[MeasureRequest, ...]:
    known = plugins().measures
    return tuple(MeasureRequest(name, known[name], known[name].params(), asked=False) for name in names)


def _of_levels(
    chosen: Mapping[str, Sequence[MeasureRequest]],
    original: LinkedData,
    masked: LinkedData,
    files: Mapping[str, tuple[Dataset, Dataset]],
    seed: int,
    reporter: Reporter,
    *,
    asked: bool,
) -> dict[str, Measurement]:
    found: dict[str, Measurement] = {}
    for name, own in chosen.items():
        if own:
            labelled = [replace(each, label=f"{name}.{each.label}") for each in own]
            both = (files[name][0], original), (files[name][1], masked)
            for requests, before, after in beside_their_groups(labelled, name, *both):
                found |= compute_measures(requests, before, after, EditSet(), {}, seed, reporter, asked=asked)
    return found
