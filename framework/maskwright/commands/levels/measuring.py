"""Measures of data of several levels: of each level, of groups with members, of members with their group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.findings import Notice
from maskwright.pipeline.steps import threshold_figures
from maskwright.pipeline.variable_names import in_order
from maskwright.plugins.measure import Measurable
from maskwright.plugins.parameter_markers import variables_named
from maskwright.plugins.registry import plugins
from maskwright.release.measures.measuring import with_group_linkage
from maskwright.release.measures.variable_selection import (
    covered_by_thresholds,
    measure_doubts,
    measure_problems,
    names_used,
    to_be_measured,
    with_usual_losses,
)
from maskwright.release.record.measure_record import measure_record
from maskwright.release.record.run_record import PluginRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.levels.planning import PlannedLevels
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.foundation.doubts import Doubt
    from maskwright.pipeline.resolved import MeasureRequest, Pipeline
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.measurement import Measurement
    from maskwright.release.record.run_record import RunRecord


def named_variables(measure: Measure, params: BaseModel) -> Iterator[str]:
    """Names of variables that the parameters of a measure give, or those of its parts."""
    yield from variables_named(params)
    for part, own in () if measure.claims.components is None else measure.claims.components(params):
        yield from named_variables(part, own)


def names_of_group(request: MeasureRequest, linked: LinkedData, level: str) -> tuple[str, ...]:
    """Variables of levels above that a measure of a lower one names."""
    named = dict.fromkeys(named_variables(request.measure, request.params))
    above = linked.variables_above(level)
    return tuple(name for name in named if name in above)


def with_group_variables(
    given: Measurable, of_groups: Mapping[str, Measurable], linked: LinkedData, level: str
) -> Measurable:
    """What a measure of members is given where it names variables of their groups: these too."""
    stated, published = {}, {}
    for name, upper in linked.variables_above(level).items():
        variable = linked[upper].data[name].variable
        if variable.role != "identifier":
            stated[name] = variable
            if upper in of_groups and name in of_groups[upper].variables:
                published[name] = of_groups[upper].variables[name]
    return replace(given, variables={**stated, **published, **given.variables})


def joined_to_groups(
    requests: Sequence[MeasureRequest],
    level: str,
    original: tuple[Dataset, LinkedData],
    masked: tuple[Dataset, LinkedData],
) -> Iterator[tuple[tuple[MeasureRequest, ...], Dataset, Dataset]]:
    """Measures of a level, and the two files that they get: with the variables of groups that they name, and no others.

    The original has the weight of the groups, too, where risks of members are asked for that have no weight of their
    own: who was drawn with the group stands for as many people as the group stands for groups.
    """
    by_names: dict[tuple[tuple[str, ...], tuple[str, ...]], list[MeasureRequest]] = {}
    for each in requests:
        names = names_of_group(each, original[1], level)
        by_names.setdefault((names, _weights_of_group(each, original[1], level)), []).append(each)
    for (names, weights), own in by_names.items():
        before, beneath = original[1].with_columns_above(original[0], level, (*names, *weights)), masked[1]
        yield tuple(own), before, beneath.with_columns_above(masked[0], level, names)


def _weights_of_group(request: MeasureRequest, linked: LinkedData, level: str) -> tuple[str, ...]:
    """Weights of the nearest level above that has some, for a risk of members that have none of their own."""
    if request.measure.kind != "risk":
        return ()
    own, *uppers = reversed(linked.names[: linked.names.index(level) + 1])
    weights = {
        name: tuple(each.name for each in linked[name].data.variables if each.role == "weight")
        for name in (own, *uppers)
    }
    return () if weights[own] else next((weights[name] for name in uppers if weights[name]), ())


@dataclass(frozen=True, eq=False)
class LevelMeasures:
    """Measures of a run on several levels.

    `of_level`: of the levels that steps mask; labels are ``level.measure``. `of_groups`: of groups with their members;
    labels are those of the pipeline. `thresholds`: by the labels of these, or label and part. `notices`: which measure
    is not on which level, and why. `compared`: names of the variables that measures of groups read, and of those of
    groups that measures of members do. `doubts`: about thresholds on measures that leave something out, by the labels
    of the pipeline.
    """

    of_level: Mapping[str, tuple[MeasureRequest, ...]]
    of_groups: tuple[MeasureRequest, ...]
    thresholds: Mapping[str, float]
    notices: tuple[Notice, ...]
    compared: frozenset[str]
    doubts: tuple[Doubt, ...]

    @property
    def requests(self) -> tuple[MeasureRequest, ...]:
        """Of groups with their members, and of each level."""
        return (*self.of_groups, *(each for own in self.of_level.values() for each in own))

    def with_group_linkage(
        self,
        measured: Mapping[str, Mapping[str, Measurement]],
        of_groups: Mapping[str, Measurement],
        linked: LinkedData,
    ) -> dict[str, Mapping[str, Measurement]]:
        """Return the measurements of each level; linkage of members says what linking their groups finds."""
        above, low = linked.names[-2:]
        if low not in measured:
            return dict(measured)
        own = with_group_linkage(measured[low], self.of_level[low], of_groups, self.of_groups, (above, low))
        return {**measured, low: own}

    def recorded(self, record: RunRecord, of_groups: Mapping[str, Measurement]) -> RunRecord:
        """Return the record with what was measured of groups, and the plugins that did."""
        found = {each.label: measure_record(each, of_groups[each.label], self.thresholds) for each in self.of_groups}
        names = dict.fromkeys(each.measure.name for each in self.of_groups)
        infos = {f"measure {name}": plugins().info("measure", name) for name in names}
        used = {key: PluginRecord(distribution=each.distribution, version=each.version) for key, each in infos.items()}
        return record.model_copy(
            update={
                "measures": {**found, **record.measures},
                "plugins": {**record.plugins, **used},
                "not_measured": tuple(each for each in record.not_measured if each not in self.compared),
            }
        )


def measures_of_levels(described: Pipeline, loaded: LoadedLevels, planned: PlannedLevels) -> LevelMeasures:
    """Find on which levels each measure runs; one that names variables runs on the level that has them."""
    of_groups = tuple(each for each in described.measures if each.measure.claims.of_levels)
    given = {
        name: to_be_measured(ready.plan) for name, ready in planned.ready.items()
        if any(each in loaded.linked[name].data for each in ready.plan.altered)
    }  # fmt: skip
    whole = _of_groups(loaded.linked, given, planned)
    problems = measure_problems(of_groups, whole)
    chosen, notices, wrong = requests_by_level(described.measures, loaded.linked, given)
    problems += wrong
    if problems:
        raise InputError(in_order(problems, described.file))
    named = {name: _named(described, name, requests, planned) for name, requests in chosen.items()}
    every = (*of_groups, *(each for requests in named.values() for each in requests))
    thresholds = _thresholds(described, every, tuple(given))
    compared = frozenset[str]().union(
        *(names_used(each.measure, each.params, whole) for each in of_groups),
        *(names_of_group(each, loaded.linked, name) for name, requests in named.items() for each in requests),
    )
    doubts = [*measure_doubts(of_groups, thresholds, whole, ())]
    for name, requests in named.items():
        masked = planned.ready[name].plan.masked
        seen = [(each, _given_to(each, name, loaded.linked, given)) for each in requests]
        covered = frozenset[str]().union(
            *(covered_by_thresholds([each], thresholds, measurable, masked) for each, measurable in seen)
        )
        for each, measurable in seen:
            about = measure_doubts([each], thresholds, measurable, masked, covered)
            doubts += [replace(found, subject=each.label.removeprefix(f"{name}."), level=name) for found in about]
    return LevelMeasures(named, of_groups, thresholds, notices, compared, tuple(doubts))


def requests_by_level(
    requests: Sequence[MeasureRequest], linked: LinkedData, given: Mapping[str, Measurable]
) -> tuple[dict[str, tuple[MeasureRequest, ...]], tuple[Notice, ...], list[Problem]]:
    """Measures that run on each level; those of groups with their members are left out."""
    chosen: dict[str, tuple[MeasureRequest, ...]] = dict.fromkeys(given, ())
    notices: list[Notice] = []
    problems: list[Problem] = []
    for each in requests:
        if each.measure.claims.of_levels:
            continue
        levels, wrong = _levels_for(each, linked, given)
        wrongs = {name: measure_problems([each], _given_to(each, name, linked, given)) for name in levels}
        fitting = [name for name in levels if not wrongs[name]]
        problems += wrong
        if not fitting:
            problems += [problem for found in list(wrongs.values())[:1] for problem in found]
        for name in fitting:
            chosen[name] += (each,)
        notices += [
            Notice(
                "not-measured-on-level",
                each.label,
                f"{each.label} is not measured on the level {name}: {wrongs[name][0].message}",
                level=name,
            )
            for name in levels
            if fitting and wrongs[name]
        ]
    return chosen, tuple(notices), problems


def _of_groups(linked: LinkedData, given: Mapping[str, Measurable], planned: PlannedLevels) -> Measurable:
    """What measures of groups will be given: the variables of the two lowest levels, as far as the plans know them."""
    published = {name: each for one in given.values() for name, each in one.variables.items()}
    names = {
        level.name: tuple(
            each.name
            for each in level.data.variables
            if each.name not in level.key_columns and each.role != "identifier"
        )
        for level in linked.levels[-2:]
    }
    variables = {
        each.name: published.get(each.name, each)
        for level in linked.levels[-2:]
        for each in level.data.variables
        if each.name in names[level.name]
    }
    altered = {name for ready in planned.ready.values() for name in ready.plan.altered}
    altered |= {each.variable for each in planned.across.derived}
    compared = tuple(name for name in variables if variables[name].is_numeric and name in altered)
    return Measurable(variables, compared, (), names)


def _levels_for(
    request: MeasureRequest, linked: LinkedData, given: Mapping[str, Measurable]
) -> tuple[list[str], list[Problem]]:
    """Levels on which a measure can run: those that have the variables it names, or all where it names none."""
    named = tuple(dict.fromkeys(named_variables(request.measure, request.params)))
    if not named:
        return list(given), []
    owner = {name: level.name for level in linked for name in level.data.names if name not in level.key_columns}
    levels = list(dict.fromkeys(owner[name] for name in named if name in owner))
    lowest = linked.names[-1]
    if len(levels) > 1 and request.measure.kind == "risk" and lowest in given:
        # Whoever seeks a member knows the group as well.
        above = _given_to(request, lowest, linked, given).variables
        levels = [lowest] if all(name in above for name in named) else levels
    elif len(levels) > 1:
        first = {level: next(name for name in named if owner.get(name) == level) for level in levels}
        shown = " and ".join(f"{name} of {level}" for level, name in first.items())
        hint = "Take a measure for each level, with labels of their own: {name: {as: label, ...}}."
        return [], [Problem(f"{shown} are variables of different levels", request.place, hint, measure=request.label)]
    there = [
        level for level in levels
        if level in given and all(name in _given_to(request, level, linked, given).variables for name in named)
    ]  # fmt: skip
    if there:
        return there, []
    absent = [name for name in named if not any(name in each.variables for each in given.values())]
    message = "; ".join(f"{name} cannot be measured: {_why_not(name, owner, linked)}" for name in absent)
    return [], [Problem(message, request.place, measure=request.label)]


def _why_not(name: str, owner: Mapping[str, str], linked: LinkedData) -> str:
    if any(name in level.key_columns for level in linked):
        return "it is a key or a pointer"
    return f"no step masks the level {owner[name]}" if name in owner else "it is an identifier, which is not published"


def _given_to(request: MeasureRequest, level: str, linked: LinkedData, given: Mapping[str, Measurable]) -> Measurable:
    """What a measure is given on a level; variables of its group where it names some."""
    if not names_of_group(request, linked, level):
        return given[level]
    return with_group_variables(given[level], given, linked, level)


def _named(
    described: Pipeline, level: str, requests: tuple[MeasureRequest, ...], planned: PlannedLevels
) -> tuple[MeasureRequest, ...]:
    """Measures of a level under their labels, losses that nobody asked for among them."""
    whole = with_usual_losses(replace(described, measures=requests), planned.ready[level].plan, plugins())
    return tuple(replace(each, label=f"{level}.{each.label}") for each in whole.measures)


def _thresholds(described: Pipeline, requests: tuple[MeasureRequest, ...], levels: tuple[str, ...]) -> dict[str, float]:
    """Bounds by the labels of the levels; what is said of one level goes before what is said of all."""
    stated = described.thresholds
    found: dict[str, float] = {}
    used: set[str] = set()
    for name in (name for request in requests for name in threshold_figures(request)):
        level, _, rest = name.partition(".")
        for key in (name, rest) if level in levels else (name,):
            if key in stated:
                used.add(key)
                found.setdefault(name, stated[key])
    unused = [name for name in stated if name not in used]
    if unused:
        raise InputError(
            [Problem(f"thresholds: {name} is not measured: no such measure runs on that level") for name in unused]
        )
    return found
