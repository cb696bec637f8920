"""Computing measures of loss and risk on two datasets."""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.shared_codes import shared_codes
from maskwright.foundation.errors import InputError, PluginError, Problem, UnpairedRecords
from maskwright.foundation.progress import Reporter, stage
from maskwright.foundation.randomness import generator
from maskwright.pipeline.steps import judged_figures
from maskwright.plugins.measure import Comparison, Measurable, Measure, Measurement, MeasurePart
from maskwright.plugins.parameter_markers import files_named
from maskwright.release.measure_record import FiguresBefore, MeasureRecord, PartThreshold, TableRecord
from maskwright.release.measured_variables import JUDGED, OF_CATEGORIES, given_to_measures, left_out, names_used

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.pipeline.resolved import MeasureRequest


NO_THRESHOLDS: Mapping[str, float] = MappingProxyType({})
MOST_DESCRIBED = 8
"""Variables that are listed when none can be measured."""


def compared_variables(original: Dataset, masked: Dataset) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Variables of both files that are measured without a plan, in the original's order: numeric and categorical ones.

    Of numbers those are the quasi-identifiers and confidential variables; of categories, few of which are declared to
    be either, all but identifiers.
    """
    return released_variables(original, masked), released_categories(original, masked, original.names)


def _nothing_to_measure(original: Dataset, masked: Dataset) -> InputError:
    return InputError(
        Problem(
            "there is no variable to measure: none is numeric in both files, with the role quasi_identifier or "
            f"confidential in the original. The original has {_described(original)}; the masked file has "
            f"{_described(masked)}",
            hint="Are these two files of the same data, and the names spelt alike? For XML, --record names the "
            f"element of one record{OF_CATEGORIES}.",
        )
    )


def released_variables(
    original: Dataset, released: Dataset, masked: Collection[str] = (), recoded: Collection[str] = ()
) -> tuple[str, ...]:
    """Numeric variables of a released file that are measured, in the original's order; recoded ones hold categories.

    Besides the masked ones they are the quasi-identifiers and confidential variables that are published as they are: an
    intruder knows, and finds, those too.

    Parameters
    ----------
    original, released : Dataset
    masked : collection of str
        Names of the variables that some step masks.
    recoded : collection of str
        Names of those that are published as categories.
    """
    return tuple(
        column.name
        for column in original
        if column.variable.is_numeric
        and column.name not in recoded
        and (column.name in masked or column.variable.role in JUDGED)
        and column.name in released
        and released[column.name].variable.is_numeric
    )


def released_categories(original: Dataset, released: Dataset, masked: Collection[str] = ()) -> tuple[str, ...]:
    """Variables of a released file that are measured as categories, recoded numbers among them.

    Besides the masked ones they are the quasi-identifiers and confidential variables that are published as they are.

    Parameters
    ----------
    original, released : Dataset
    masked : collection of str
        Names of the variables that some step masks.
    """
    return tuple(
        column.name
        for column in original
        if column.name in released
        and not released[column.name].variable.is_numeric
        and column.variable.role != "identifier"
        and (column.name in masked or column.variable.role in JUDGED)
    )


def unmasked_variable_notices(names: Collection[str], masked: Collection[str]) -> tuple[str, ...]:
    """Say which of the variables compared are published as they are: a note for every measure."""
    open_ones = [name for name in names if name not in masked]
    if not open_ones:
        return ()
    more = f" and {len(open_ones) - MOST_DESCRIBED} more" if len(open_ones) > MOST_DESCRIBED else ""
    said = (
        f"{len(open_ones)} of the {len(names)} variables compared are published unmasked, which lowers losses and "
        f"raises risks: {', '.join(open_ones[:MOST_DESCRIBED])}{more}"
    )
    return (said,)


def _described(data: Dataset) -> str:
    """Names of variables, with what keeps them from being measured."""
    shown = [
        column.name
        + ("" if column.variable.is_numeric else f" ({column.variable.type})")
        + (
            f" (role {column.variable.role})"
            if column.variable.is_numeric and column.variable.role not in JUDGED
            else ""
        )
        for column in list(data)[:MOST_DESCRIBED]
    ]
    more = len(data.names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


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

    Parameters
    ----------
    requests : sequence of MeasureRequest
    original, masked : Dataset
        `masked` as it was read back.
    edits : EditSet
    plan : mapping
        A plain record of the plan; empty without one.
    seed : int
    reporter : Reporter
    variables : sequence of str, optional
        To compare, categories among them; by default those of `compared_variables`.
    asked : bool
        Whether somebody asked for these measures. Then one that needs pairs of records is refused where there are
        none; otherwise it has no value, and a note says why.
    about, about_categories : tuple of str
        Further notes of every measure, and in their stead those of a loss that looks at categories alone.
    changed : collection of str, optional
        Names of the variables that steps mask; by default those whose values differ.
    before : bool
        Whether measures that look at one file are computed on the original too.
    drawn : bool
        Whether a step draws records anew, so that they are not paired.

    Raises
    ------
    InputError
        Nothing to measure; measures asked for that need pairs, where there are none; every one is named.
    PluginError
        When a measure breaks its contract.
    """
    hidden = changed_variables(original, masked) if changed is None else changed
    if variables is None:
        names, categorical = compared_variables(original, masked)
    else:
        names, categorical = _by_kind(variables, masked)
    weights, about_weights = record_weights(original)
    given = given_to_measures(original, masked, names, categorical)
    if variables is None and all(_looks_at_nothing(each.measure, each.params, given) for each in requests):
        raise _nothing_to_measure(original, masked)
    results: dict[str, Measurement] = {}
    unpaired: list[Problem] = []
    for request in requests:
        missed = left_out(request.measure, request.params, given, hidden)
        if missed.blind:
            unseen = f"not defined: {', '.join(missed.blind)} looks at none of the masked variables"
            unseen += OF_CATEGORIES if request.measure.kind == "score" else ""
            results[request.label] = Measurement(math.nan, notes=(unseen,), leaves_out=missed.names)
            continue
        with stage(reporter, f"Measuring {request.label}") as progress:
            comparison = Comparison(
                original, masked, names, edits, masked.origin, weights, original.households, plan, progress,
                categorical, drawn,
            )  # fmt: skip
            found = _computed(request, comparison, seed, unpaired, before=before)
        used = names_used(request.measure, request.params, given)
        of_categories = request.measure.kind == "loss" and used.isdisjoint(names) and not used.isdisjoint(categorical)
        said = about_categories if of_categories else about
        notes = (*found.notes, *said, *about_weights, *_household_notices(request.measure, original))
        results[request.label] = replace(found, notes=notes, leaves_out=missed.names)
    if unpaired and asked:
        raise InputError(unpaired)
    return results


def _looks_at_nothing(measure: Measure, params: BaseModel, given: Measurable) -> bool:
    """Whether a measure, or a part of a score, needs numbers to compare, and there are none."""
    if measure.components is not None:
        return any(_looks_at_nothing(part, own, given) for part, own in measure.components(params))
    return measure.uses is None and not given.compared


def _computed(
    request: MeasureRequest, comparison: Comparison, seed: int, unpaired: list[Problem], *, before: bool
) -> Measurement:
    """What a measure finds; that it needs pairs is added to `unpaired`. One nobody asked for says why it cannot."""
    measure = request.measure
    try:
        if not measure.compares_unpaired:
            comparison.require_pairs("each masked record is compared with its own original")
        found = measure.compute(comparison, request.params, generator(seed, "measure", request.label))
    except UnpairedRecords as error:
        (problem,) = error.problems
        if request.asked:
            unpaired.append(replace(problem, message=f"{request.label}: {problem.message}"))
        return Measurement(math.nan, notes=(f"not computed: needs pairs; {problem.message}",))
    except InputError as error:
        if request.asked:
            raise
        return Measurement(math.nan, notes=(f"not computed: {error.problems[0].message}",))
    if not isinstance(found, Measurement):
        raise PluginError(f"measure {measure.name!r} returned a {type(found).__name__}, not a Measurement")
    if before and measure.of_one_file:
        found = replace(
            found, before=_of_original(request, comparison, generator(seed, "measure before", request.label))
        )
    return found


def _of_original(request: MeasureRequest, comparison: Comparison, rng: np.random.Generator) -> Measurement:
    """The same measure, of the original as if it were released as it is."""
    released = replace(comparison.original, origin=None)
    try:
        return request.measure.compute(
            replace(comparison, masked=released, origin=None, drawn=False), request.params, rng
        )
    except InputError as error:
        return Measurement(math.nan, notes=(f"not computed of the original: {error}",))


def _by_kind(variables: Sequence[str], masked: Dataset) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of numeric variables, and of those that are published as categories; unknown ones are for the measures."""
    categorical = [name for name in variables if name in masked and not masked[name].variable.is_numeric]
    return tuple(name for name in variables if name not in categorical), tuple(categorical)


def changed_variables(original: Dataset, masked: Dataset) -> tuple[str, ...]:
    """Names of the variables of both files whose values differ in some record; none where records are not paired."""
    if masked.origin is None and len(original) != len(masked):
        return ()
    both = [column for column in original if column.name in masked]
    return tuple(column.name for column in both if _differ(column, masked[column.name], masked.origin))


def _differ(before: Column, after: Column, origin: NDArray[np.int64] | None) -> bool:
    if before.variable.is_numeric != after.variable.is_numeric:
        return True
    if before.variable.is_numeric:
        old, new = (np.where(column.missing, np.nan, column.values) for column in (before, after))
        return not np.array_equal(old if origin is None else old[origin], new, equal_nan=True)
    codes, others = shared_codes([before, after])
    return not np.array_equal(codes if origin is None else codes[origin], others)


def record_weights(original: Dataset) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Weights of the records, and why there are none although some are declared.

    Returns
    -------
    ndarray of shape (n,) or None
        Of the one numeric variable of role weight; none may be missing, negative or infinite, and not all zero.
    tuple of str
    """
    named = [column for column in original if column.variable.role == "weight"]
    if not named:
        return None, ()
    if len(named) > 1:
        return None, (f"no weights are used: several variables have that role ({', '.join(c.name for c in named)})",)
    (column,) = named
    if not column.variable.is_numeric:
        return None, (f"no weights are used: {column.name} holds categories",)
    weights = np.asarray(column.values, dtype=np.float64)
    wrong = int(np.sum(column.missing | ~(np.isfinite(weights) & (weights >= 0.0))))
    if wrong:
        return None, (f"no weights are used: {column.name} is missing, negative or infinite in {wrong} record(s)",)
    if not weights.any():
        return None, (f"no weights are used: {column.name} is zero in every record",)
    return weights, ()


def _household_notices(measure: Measure, original: Dataset) -> tuple[str, ...]:
    if original.households is None or measure.counts_households or measure.kind == "loss":
        return ()
    return ("this counts single records, although households are declared",)


def measure_record(
    request: MeasureRequest, found: Measurement, thresholds: Mapping[str, float] = NO_THRESHOLDS
) -> MeasureRecord:
    """What the run record holds of a measurement; contributions of records stay out of it.

    Parameters
    ----------
    request : MeasureRequest
    found : Measurement
    thresholds : mapping of str to float, optional
        By label, or by label and part; in the unit of the measure.
    """
    threshold = thresholds.get(request.label)
    of_parts = {
        judged.name: PartThreshold(
            threshold=thresholds[name],
            direction=judged.direction,
            met=within(judged, found.parts.get(judged.name, math.nan), thresholds[name]),
        )
        for name, judged in judged_figures(request).items()
        if name in thresholds and name != request.label
    }
    units = {
        part.name: part.unit
        for part in judged_figures(request).values()
        if part.name in found.parts and part.unit != request.measure.unit
    }
    before = (
        None
        if found.before is None
        else FiguresBefore(
            value=_number(found.before.value),
            parts={name: _number(value) for name, value in found.before.parts.items()},
            per_variable={name: _number(value) for name, value in found.before.per_variable.items()},
            tables=_tables(found.before),
        )
    )
    return MeasureRecord(
        value=_number(found.value),
        unit=request.measure.unit,
        direction=request.measure.direction,
        kind=request.measure.kind,
        measure=request.measure.name,
        summary=request.measure.summary,
        params=_params_record(request.params),
        parts={name: _number(value) for name, value in found.parts.items()},
        per_variable={name: _number(value) for name, value in found.per_variable.items()},
        interval=None if found.interval is None else (_number(found.interval[0]), _number(found.interval[1])),
        notes=found.notes,
        leaves_out=found.leaves_out,
        threshold=threshold,
        met=None if threshold is None else within(request.measure, found.value, threshold),
        part_thresholds=of_parts,
        part_units=units,
        sentence=found.sentence,
        tables=_tables(found),
        before=before,
    )


def _tables(found: Measurement) -> tuple[TableRecord, ...]:
    return tuple(
        TableRecord(
            name=table.name,
            title=table.title,
            columns=table.columns,
            rows=tuple((label, tuple(map(_number, figures))) for label, *figures in table.rows),
            unit=table.unit,
        )
        for table in found.tables
    )


def _params_record(params: BaseModel) -> dict[str, object]:
    """Parameters as plain data; of files the name, not the folder."""
    files = {name: path.name for name, path in files_named(params).items()}
    return {**params.model_dump(mode="json"), **files}


def within(measure: Measure | MeasurePart, value: float, threshold: float) -> bool:
    """Whether a value is on the right side of its threshold; a value that is not defined never is.

    Parameters
    ----------
    measure : Measure or MeasurePart
        Says which side is better.
    value, threshold : float
        In the unit of the measure.
    """
    if math.isnan(value):
        return False
    return value <= threshold if measure.direction == "lower" else value >= threshold


def _number(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return float(value) if np.isfinite(value) else None
