"""Information loss and disclosure risk of masked data, flat or of several levels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.levels.measuring import joined_to_groups, requests_by_level
from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, read_rule_files
from maskwright.commands.pairing import pair_files
from maskwright.commands.reading import dataset_of, load
from maskwright.commands.requests import DeclaredVariables, MeasureNames, Rules, edits_of, measure_requests
from maskwright.data.levels.linked_data import LinkedData
from maskwright.data.record_groups import with_households
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, Place, Problem, refuse_problems
from maskwright.foundation.findings import Notice
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.progress import Logged, Reporter, notify, stage
from maskwright.foundation.yaml_document import Node
from maskwright.pipeline.overrides import value_of
from maskwright.pipeline.resolved import MeasureRequest
from maskwright.pipeline.steps import resolve_measures
from maskwright.plugins.measurement import plain_records
from maskwright.plugins.registry import plugins
from maskwright.release.measures.measuring import (
    compared_levels,
    compute_level_measures,
    compute_measures,
    measurable_levels,
    with_group_linkage,
)
from maskwright.release.measures.variable_selection import (
    USUAL_OF_CATEGORIES,
    USUAL_OF_NUMBERS,
    compared_variables,
    given_to_measures,
    measure_problems,
)
from maskwright.release.record.measure_record import measure_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.frame_libraries import Data
    from maskwright.plugins.measurement import Measurement


def measure_linked(
    original: LinkedData, masked: LinkedData, requests: Sequence[MeasureRequest] | None, seed: int, reporter: Reporter
) -> dict[str, Measurement]:
    """Measures of groups with their members by their label, others by level, ``level.label``."""
    wrong = [level.name for level in original if level.name not in masked.names]
    if wrong or any(len(masked[level.name]) != len(level) for level in original):
        raise InputError(f"the original is {original} and the masked data {masked}: their records cannot be paired")
    files = {name: (plain_records(original, name), plain_records(masked, name)) for name in original.names}
    files = {
        name: (replace(before, households=original.units(name), group_name=original.unit_of(name)), after)
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
    of_groups = [each for each in requests if each.measure.claims.of_levels]
    two = original.names[-2:]
    levels, about = compared_levels(original.pair(*two), masked.pair(*two), {})
    chosen, notices, problems = requests_by_level(requests, original, given)
    problems = [*measure_problems(of_groups, measurable_levels(levels)), *problems]
    refuse_problems(problems)
    notify(reporter, notices)
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
            for requests, before, after in joined_to_groups(labelled, name, *both):
                found |= compute_measures(requests, before, after, EditSet(), {}, seed, reporter, asked=asked)
    return found


def usual_measures(original: Dataset, masked: Dataset, *, files: bool) -> tuple[str, ...]:
    """Measures where none is named: losses of numbers, of categories, or of both, as the data have them."""
    numbers, categories = compared_variables(original, masked)
    linkage = ("distance_record_linkage",) if files else ()
    of_categories = USUAL_OF_CATEGORIES if categories else ()
    return (*USUAL_OF_NUMBERS, *linkage, *of_categories) if numbers or not categories else of_categories


def measure(
    original: Data | LinkedData,
    masked: Data | LinkedData,
    measures: MeasureNames | None = None,
    *,
    edits: Rules | None = None,
    key: str | None = None,
    cluster: str | None = None,
    variables: Sequence[str] | None = None,
    declared: DeclaredVariables | None = None,
    seed: int = 0,
    reporter: Reporter | None = None,
) -> dict[str, Measurement]:
    """Information loss and disclosure risk of a masked file.

    Parameters
    ----------
    original, masked : Dataset, data frame or LinkedData
        Records are paired in order, or by `key`; those of several levels (`linked_data` of both) in order, and what is
        measured of one level is called ``level.label``. Files of different length without a key are not paired:
        measures that compare files as files take them.
    measures : sequence of names or of {name: params}, optional
        By default ``pil`` and ``sse`` of numbers, ``contingency_tables`` and ``entropy_based_loss`` of categories; of
        these, what needs pairs of records is not computed where there are none, and a note says so.
    edits : EditSet or sequence of rules, optional
        For measures that use them.
    key : str, optional
        Variable that identifies a record in both files; it is not measured.
    cluster : str, optional
        Variable of the original that identifies households, when `read` was not given it.
    variables : sequence of str, optional
        To compare; by default the numeric confidential and quasi-identifying ones of both files.
    declared : mapping of name to declaration, optional
        For data frames.
    seed : int, default 0
        For measures that sample.
    reporter : Reporter, optional
        Receives stages; by default the logger ``maskwright`` does.

    Returns
    -------
    dict of label to Measurement

    Raises
    ------
    InputError
        Unknown measures or variables; measures requested that need pairs of records, where there are none.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame({"age": [20 + 7 * place % 20 for place in range(20)]})
    >>> found = mw.measure(data, mw.protect(data, "microaggregation", params={"k": 4}, seed=1), ["sse"])
    >>> round(found["sse"].value, 2)  # percent of the variance
    4.51
    """
    if isinstance(original, LinkedData) or isinstance(masked, LinkedData):
        if not (isinstance(original, LinkedData) and isinstance(masked, LinkedData)):
            raise InputError("data of several levels are compared with such: give linked_data of both files")
        if any(each is not None for each in (edits, key, cluster, variables, declared)):
            raise InputError("edits, key, cluster, variables and declared are not for data of several levels")
        chosen = None if measures is None else measure_requests(measures)
        return measure_linked(original, masked, chosen, seed, reporter or Logged())
    before, after = dataset_of(original, declared, "original"), dataset_of(masked, declared, "masked")
    if cluster is not None:
        before = with_households(before, cluster).without([cluster])
    reporter = reporter or Logged()
    before, after = pair_files(before, after, key, reporter)
    requests = measure_requests(usual_measures(before, after, files=False) if measures is None else measures)
    return compute_measures(
        requests, before, after, edits_of(edits), {}, seed, reporter, variables, asked=measures is not None
    )


def measure_files(
    original: Path,
    masked: Path,
    measures: Sequence[str],
    overrides: Sequence[str],
    *,
    edits: Sequence[Path],
    key: str | None,
    options: ReadingOptions = NO_OPTIONS,
    reporter: Reporter,
) -> dict[str, dict[str, Any]]:
    """Measure a masked file against its original; returns label to plain measurement."""
    requests = _requests(measures, overrides) if measures else ()
    one, other = data_files((original, masked), options)
    with stage(reporter, "Reading"):
        before = load(one, identifiers=True)
        after = load(replace(other, cluster=None), identifiers=True, may_lack="anything")
    if one.cluster is not None:
        before = before.without([one.cluster])
    before, after = pair_files(before, after, key, reporter)
    missing = [
        column.name
        for column in before
        if column.variable.is_numeric and column.variable.role == "confidential" and column.name not in after
    ]
    for name in missing:
        message = f"{name} is not in the masked file and is not measured"
        notify(reporter, [Notice("not-in-the-masked-file", name, message)])
    if not measures:
        requests = _requests(usual_measures(before, after, files=True), overrides)
    found = compute_measures(requests, before, after, read_rule_files(edits), {}, 0, reporter, asked=bool(measures))
    return {request.label: measure_record(request, found[request.label]).to_json() for request in requests}


def _requests(measures: Sequence[str], overrides: Sequence[str]) -> tuple[MeasureRequest, ...]:
    """Measures of a command line, with their parameters."""
    here = Place()
    stated: dict[str, Node] = {name: Node("mapping", here) for name in measures}
    for text in overrides:
        target, equals, value = text.partition("=")
        name, dot, parameter = target.partition(".")
        if not (equals and dot and name and parameter):
            raise InputError(f"--set {text}: expected name.parameter=value, for instance pil.bandwidth=last-column")
        if name not in stated:
            raise InputError(f"--set {name}.{parameter}: {unknown_name('chosen measure', name, stated)}")
        stated[name] = stated[name].with_entry(parameter, value_of(value, Place(f"--set {target}")))
    section = Node("sequence", here, elements=tuple(Node("mapping", here).with_entry(*each) for each in stated.items()))
    problems: list[Problem] = []
    requests = resolve_measures(section, plugins(), problems)
    if problems:
        raise InputError([replace(each, hint=each.hint or _list_form(stated)) for each in problems])
    return requests


def _list_form(measures: Iterable[str]) -> str | None:
    """How the command line gives a list to the first of the measures that takes one."""
    known = plugins().measures
    for name in measures:
        for parameter, field in known[name].params.model_fields.items() if name in known else ():
            if "list[" in str(field.annotation) or "tuple[" in str(field.annotation):
                return f"a list is given in brackets and quotes: --set '{name}.{parameter}=[region,sex,age]'"
    return None
