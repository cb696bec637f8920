"""Measures of members that name variables of their group: an intruder knows the region beside the age."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.plugins.parameter_markers import variables_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.plugins.measure import Measurable, Measure


def named_variables(measure: Measure, params: BaseModel) -> Iterator[str]:
    """Names of variables that the parameters of a measure give, or those of its parts."""
    yield from variables_named(params)
    for part, own in () if measure.components is None else measure.components(params):
        yield from named_variables(part, own)


def names_of_group(request: MeasureRequest, linked: LinkedData, level: str) -> tuple[str, ...]:
    """Variables of the upper level that a measure of a lower one names; none of a measure of the upper level.

    `level`: on which the measure runs.
    """
    top = linked.levels[0]
    if level == top.name:
        return ()
    named = dict.fromkeys(named_variables(request.measure, request.params))
    return tuple(name for name in named if name in top.data and name not in top.key_columns)


def with_group_variables(given: Measurable, of_group: Measurable | None, linked: LinkedData) -> Measurable:
    """What a measure of members is given where it names variables of their group: these too.

    `of_group`: of the groups, where steps mask them: as they are published.
    """
    top = linked.levels[0]
    above = {
        each.name: each for each in top.data.variables
        if each.name not in top.key_columns and each.role != "identifier"
    }  # fmt: skip
    published = (
        {} if of_group is None else {name: of_group.variables[name] for name in above if name in of_group.variables}
    )
    return replace(given, variables={**above, **published, **given.variables})


def beside_their_groups(
    requests: Sequence[MeasureRequest],
    level: str,
    original: tuple[Dataset, LinkedData],
    masked: tuple[Dataset, LinkedData],
) -> Iterator[tuple[tuple[MeasureRequest, ...], Dataset, Dataset]]:
    """Measures of a level, and the two files that they get: with the variables of groups that they name, and no others.

    The original has the weight of the groups, too, where risks of members are asked for that have no weight of their
    own: who was drawn with the group stands for as many people as the group stands for groups.

    `original`, `masked`: records of the level, and the levels that they stand in.
    """
    by_names: dict[tuple[tuple[str, ...], tuple[str, ...]], list[MeasureRequest]] = {}
    for each in requests:
        names = names_of_group(each, original[1], level)
        by_names.setdefault((names, _weights_of_group(each, original[1], level)), []).append(each)
    for (names, weights), own in by_names.items():
        yield tuple(own), _joined(*original, level, (*names, *weights)), _joined(*masked, level, names)


def _weights_of_group(request: MeasureRequest, linked: LinkedData, level: str) -> tuple[str, ...]:
    """Weights of the upper level that a risk of the members is estimated with: they have none of their own."""
    top, own = linked.levels[0], linked[level]
    if request.measure.kind != "risk" or level == top.name or any(each.role == "weight" for each in own.data.variables):
        return ()
    return tuple(each.name for each in top.data.variables if each.role == "weight")


def _joined(members: Dataset, linked: LinkedData, level: str, names: Sequence[str]) -> Dataset:
    """Members, each with these variables of its group."""
    groups, above = linked[level].groups, linked.levels[0].data
    if not names or groups is None:
        return members
    added = [above[name].taken(groups) for name in dict.fromkeys(names) if name not in members]
    return replace(members, columns=(*members.columns, *added))
