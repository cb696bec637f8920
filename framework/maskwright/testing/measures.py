"""Checks of measures."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.levels.linked_data import LevelDeclaration
from maskwright.data.levels.linking import linked_levels
from maskwright.foundation.errors import MaskwrightError
from maskwright.plugins.measure import Comparison, Measure
from maskwright.plugins.measurement import ComparedLevels, Measurement, plain_records
from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    check_documented,
    check_picklable,
    generator,
    leaves_alone,
    params_of,
    require,
)
from maskwright.testing.conduct import check_calls, prints_nothing, recognisable_values, reveals_no_values
from maskwright.testing.sample_data import dataset_of, numbers, with_holes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData

_LEVELS = {
    "group": LevelDeclaration(key="group_key"),
    "member": LevelDeclaration.model_validate({"key": "member_key", "in": "group"}),
}
_OF_ROWS = ("x1", "x2")
RELATIVE = 1e-9


@dataclass(frozen=True)
class _Files:
    """Original and masked values, and what is done to both."""

    original: NDArray[np.float64]
    masked: NDArray[np.float64]
    names: tuple[str, ...] = ("x1", "x2", "x3", "x4")
    origin: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    households: NDArray[np.int64] | None = None
    who: NDArray[np.int64] | None = None
    """Which group each original record is, of measures of groups; how many members it has follows from that."""
    who_masked: NDArray[np.int64] | None = None

    def comparison(self, *, of_levels: bool = False) -> Comparison:
        if of_levels:
            return self._of_groups()
        files = dataset_of(self.original, self.names), dataset_of(self.masked, self.names)
        return Comparison(*files, self.names, origin=self.origin, weights=self.weights, households=self.households)

    def _of_groups(self) -> Comparison:
        who = np.arange(len(self.original)) if self.who is None else self.who
        who_masked = self.who_masked
        if who_masked is None:
            who_masked = who[: len(self.masked)] if self.origin is None else who[self.origin]
        original, masked = _groups(self.original, self.names, who), _groups(self.masked, self.names, who_masked)
        origin = {} if self.origin is None else {"group": self.origin}
        weights = {} if self.weights is None else {"group": self.weights}
        own = tuple(name for name in self.names if name in _OF_ROWS)
        variables = {"group": own, "member": tuple(name for name in self.names if name not in own)}
        levels = ComparedLevels(original, masked, origin, variables, weights)
        files = plain_records(original, "group"), plain_records(masked, "group")
        return Comparison(*files, own, origin=self.origin, weights=self.weights, levels=levels)


def _groups(values: NDArray[np.float64], names: Sequence[str], who: NDArray[np.int64]) -> LinkedData:
    """Each record a group of one to three members: the first two variables are its own, the others its members'."""
    home = np.repeat(np.arange(len(who)), 1 + who % 3)
    upper = [j for j, name in enumerate(names) if name in _OF_ROWS]
    lower = [j for j in range(len(names)) if j not in upper]
    number = np.arange(len(home)) - np.searchsorted(home, home)
    rows = np.column_stack([np.arange(len(who)), values[:, upper]]).astype(np.float64)
    members = np.column_stack([home, number, values[home][:, lower]]).astype(np.float64)
    tables = {
        "group": dataset_of(rows, ("group_key", *(names[j] for j in upper))),
        "member": dataset_of(members, ("group_key", "member_key", *(names[j] for j in lower))),
    }
    return linked_levels(tables, _LEVELS, {name: f"the records of {name}" for name in tables})


def _usual(n: int = 60, seed: int = 1) -> _Files:
    original = numbers(n, 4, seed=seed)
    noise = np.random.default_rng(2 + seed).normal(size=original.shape) * 0.3 * original.std(axis=0)
    return _Files(original, original + noise)


def _more_files(usual: _Files) -> Iterator[tuple[str, _Files]]:
    """Files on which a value out of range, a crash or a silent NaN is most likely."""
    empty, dependent, swapped = usual.masked.copy(), usual.original.copy(), usual.original.copy()
    empty[:, 2] = np.nan
    yield "missing_variable", _Files(usual.original, empty)
    dependent[:, 3] = dependent[:, 0] + dependent[:, 1]
    yield "dependent_columns", _Files(dependent, dependent + (usual.masked - usual.original))
    yield "one_point", _Files(usual.original, np.repeat(usual.original.mean(axis=0)[None, :], 60, axis=0))
    yield "far_away", _Files(usual.original, usual.original * -1e6 + 1e9)
    for j in range(swapped.shape[1]):
        swapped[:, j] = np.roll(swapped[:, j], 7 * (j + 1))
    yield "swapped", _Files(usual.original, swapped)
    yield "integer_ties", _Files(np.round(usual.original / 200.0), np.round(usual.masked / 200.0))
    weights = np.random.default_rng(5).integers(0, 9, 60).astype(np.float64)
    yield (
        "weights_and_households",
        _Files(usual.original, usual.masked, weights=weights, households=np.arange(60, dtype=np.int64) // 3),
    )


def _checks(measure: Measure, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, measure, given)
    yield "documented", partial(check_documented, measure)
    yield "picklable", partial(check_picklable, measure, measure.compute)
    usual = _usual()
    constant = _Files(usual.original.copy(), usual.masked.copy())
    constant.original[:, 1] = constant.masked[:, 1] = 7.0
    holes = _Files(with_holes(usual.original), with_holes(usual.masked))
    yield "measurement", partial(_measurement, measure, given, usual)
    yield "missing_cells", partial(_answers_or_refuses, measure, given, holes)
    yield "constant_column", partial(_answers_or_refuses, measure, given, constant)
    yield "one_record", partial(_answers_or_refuses, measure, given, _Files(usual.original[:1], usual.masked[:1]))
    rows = np.arange(0, 60, 2)
    sampled = _Files(usual.original, usual.masked[rows], origin=rows.astype(np.int64), who_masked=rows.astype(np.int64))
    yield "sampled_records", partial(_answers_or_refuses, measure, given, sampled)
    if measure.claims.of_one_file:
        yield "of_one_file", partial(_of_one_file, measure, given)
    if measure.claims.compares_unpaired:
        yield "unpaired_records", partial(_unpaired, measure, given, sampled)
    for name, files in _more_files(usual):
        yield name, partial(_answers_or_refuses, measure, given, files)
    yield "paired_by_origin", partial(_paired_by_origin, measure, given)
    yield "identity", partial(_identity, measure, given)
    yield "input_unmodified", partial(_input_unmodified, measure, given)
    yield "same_seed_same_result", partial(_same_seed, measure, given)
    yield "concurrent_calls", partial(_concurrent, measure, given)
    yield "prints_nothing", partial(_silent, measure, given)
    yield "notes", partial(_notes, measure, given)
    if measure.parts is not None:
        yield "declared_parts", partial(_declared_parts, measure, given)
    if measure.claims.deterministic:
        yield "deterministic", partial(_deterministic, measure, given)
    for claim in sorted(measure.claims.invariant_to):
        yield f"invariant_to_{claim}", partial(_invariant, measure, given, claim)


measure_checks = ChecksOf("measure", _checks)


def _compute(measure: Measure, given: Params, files: _Files, seed: int = 20230) -> Measurement:
    comparison = files.comparison(of_levels=measure.claims.of_levels)
    return measure.compute(comparison, params_of(measure, given), generator(seed))


def _measurement(measure: Measure, given: Params, files: _Files) -> None:
    found = _compute(measure, given, files)
    _check_measurement(measure, files, found)
    require(math.isfinite(found.value), "the value must be finite for two usual files")


def _check_measurement(measure: Measure, files: _Files, found: Measurement) -> None:
    require(isinstance(found, Measurement), "compute must return a maskwright.Measurement")
    require(isinstance(found.value, float), f"value must be a float, not {type(found.value).__name__}")
    require(not math.isnan(found.value) or bool(found.notes), "a value that is not defined needs a note that says why")
    low, high = measure.range
    slack = RELATIVE * max(1.0, abs(found.value)) if math.isfinite(found.value) else 0.0
    require(math.isnan(found.value) or low is None or found.value >= low - slack, f"value is below the range's {low}")
    require(
        math.isnan(found.value) or high is None or found.value <= high + slack, f"value is above the range's {high}"
    )
    unknown = set(found.per_variable) - set(files.names)
    require(not unknown, "per_variable holds names that are no variables of the comparison")
    for name, part in {**found.parts, **found.per_variable}.items():
        require(isinstance(name, str) and isinstance(part, float), "parts and per_variable map text to float")
        require(not math.isnan(part) or bool(found.notes), f"{name} is not defined, which needs a note that says why")
    tables = [table.name for table in found.tables]
    require(len(set(tables)) == len(tables), "no two tables may have the same name")
    for table in found.tables:
        labels = [label for label, *_ in table.rows]
        require(len(set(labels)) == len(labels), f"table {table.name}: no two rows may have the same label")
    if found.per_record is not None:
        shape = (len(files.masked),)
        require(found.per_record.shape == shape, f"per_record must have shape {shape}, one for each masked record")
    if found.interval is not None:
        require(found.interval[0] <= found.value <= found.interval[1], "the interval must hold the value")


def _answers_or_refuses(measure: Measure, given: Params, files: _Files) -> None:
    """Degenerate files are measured, or refused with a sentence for people."""
    try:
        found = _compute(measure, given, files)
    except MaskwrightError as error:
        require(bool(str(error).strip()), "a refusal must say why")
        return
    _check_measurement(measure, files, found)


def _unpaired(measure: Measure, given: Params, files: _Files) -> None:
    """Require that a file compared as a file is measured as if its records were paired, or refused with a reason."""
    try:
        found = _compute(measure, given, replace(files, origin=None))
    except MaskwrightError as error:
        require(bool(str(error).strip()), "a refusal must say why")
        return
    _check_measurement(measure, files, found)
    paired = _compute(measure, given, files).value
    same = math.isclose(found.value, paired, rel_tol=RELATIVE) or (math.isnan(found.value) and math.isnan(paired))
    require(
        same or not measure.claims.deterministic, "compares_unpaired is claimed, and pairing records changes the value"
    )


def _of_one_file(measure: Measure, given: Params) -> None:
    """Another original makes no difference."""
    usual = _usual()
    here = _compute(measure, given, usual).value
    there = _compute(measure, given, replace(usual, original=np.roll(usual.original, 1, axis=0))).value
    require(here == there, "of_one_file is claimed, and the value depends on the original")


def _identity(measure: Measure, given: Params) -> None:
    """Require that a file compared with itself has the best loss, and no better a risk than a masked one."""
    usual = _usual()
    same = _compute(measure, given, _Files(usual.original, usual.original)).value
    masked = _compute(measure, given, usual).value
    gain = masked - same if measure.direction == "lower" else same - masked
    slack = RELATIVE * max(1.0, abs(same), abs(masked))
    if measure.kind == "loss":
        require(gain >= -slack, "an unchanged file must not have a worse loss than a masked one")
        best = measure.range[0] if measure.direction == "lower" else measure.range[1]
        require(best is None or abs(same - best) <= 1e-6, f"an unchanged file must have the best value, {best}")
    elif measure.kind == "risk":
        require(gain <= slack, "an unchanged file must not have a better risk than a masked one")


def _paired_by_origin(measure: Measure, given: Params) -> None:
    """Masked records in another order, with their origin, are the same masked records."""
    usual = _usual()
    order = np.random.default_rng(6).permutation(len(usual.masked)).astype(np.int64)
    there = _compute(measure, given, usual)
    moved = _compute(measure, given, _Files(usual.original, usual.masked[order], origin=order))
    if "records" in measure.claims.invariant_to:
        same = math.isclose(there.value, moved.value, rel_tol=1e-6, abs_tol=1e-9)
        require(same, "masked records in another order, paired by origin, give another value")
    if there.per_record is not None and moved.per_record is not None and measure.claims.deterministic:
        same = np.allclose(there.per_record[order], moved.per_record, rtol=1e-6, atol=1e-9, equal_nan=True)
        require(same, "per_record must follow the order of the masked records")


def _input_unmodified(measure: Measure, given: Params) -> None:
    comparison = _usual().comparison(of_levels=measure.claims.of_levels)
    before = [column.values.copy() for data in (comparison.original, comparison.masked) for column in data]
    measure.compute(comparison, params_of(measure, given), generator())
    after = [column.values for data in (comparison.original, comparison.masked) for column in data]
    require(all(map(np.array_equal, before, after)), "compute changed the data it was given")


def _same_seed(measure: Measure, given: Params) -> None:
    one, other = (_compute(measure, given, _usual()).value for _ in range(2))
    require(one == other, "two calls with the same seed gave different values: take all randomness from rng")


def _concurrent(measure: Measure, given: Params) -> None:
    files = [_usual(seed=seed) for seed in (1, 2, 3, 4)]
    check_calls(measure.compute, lambda each: _compute(measure, given, each), files)


def _silent(measure: Measure, given: Params) -> None:
    prints_nothing(lambda: _compute(measure, given, _usual()))


def _notes(measure: Measure, given: Params) -> None:
    """Require that what a measure says, or refuses, holds no value of a record."""
    usual = _usual()
    large = _Files(np.round(usual.original * 1e6 + 1e9, 3), np.round(usual.masked * 1e6 + 1e9, 3))
    telling = recognisable_values(np.vstack([large.original, large.masked]))
    try:
        found = _compute(measure, given, large)
    except MaskwrightError as error:
        reveals_no_values(str(error), telling, "refusals")
        return
    require(all(isinstance(note, str) for note in found.notes), "notes must be texts")
    reveals_no_values([found.notes, found.sentence], telling, "notes and sentence")


def _declared_parts(measure: Measure, given: Params) -> None:
    """Require that there is each part that thresholds can be set for, within its range; some need weights."""
    usual, *others = (_usual(), *(files for _, files in _more_files(_usual()) if files.weights is not None))
    found = [_compute(measure, given, files).parts for files in (usual, *others)]
    for part in () if measure.parts is None else measure.parts(params_of(measure, given)):
        values = [parts[part.name] for parts in found if part.name in parts]
        require(bool(values), f"parts names {part.name!r}, and the measurement has no such part")
        low, high = part.range
        for value in values:
            slack = RELATIVE * max(1.0, abs(value))
            inside = (low is None or value >= low - slack) and (high is None or value <= high + slack)
            require(math.isnan(value) or inside, f"part {part.name!r} is outside its range {part.range}")


def _deterministic(measure: Measure, given: Params) -> None:
    params, comparison = params_of(measure, given), _usual().comparison(of_levels=measure.claims.of_levels)
    untouched = leaves_alone(generator(), lambda rng: measure.compute(comparison, params, rng))
    require(untouched, "deterministic is claimed, and compute takes numbers from rng")


def _invariant(measure: Measure, given: Params, claim: str) -> None:
    usual = _usual()
    if claim == "affine":
        # Powers of two keep the numbers exact, so only the measure itself can make a difference.
        factors, shifts = np.array([4.0, 0.5, 1.0, 8.0]), np.array([0.0, 16.0, -32.0, 64.0])
        changed = _Files(usual.original * factors + shifts, usual.masked * factors + shifts)
    elif claim == "records":
        order = np.random.default_rng(4).permutation(len(usual.original))
        changed = _Files(usual.original[order], usual.masked[order], who=order.astype(np.int64))
    else:
        order = np.array([2, 0, 3, 1])
        names = tuple(usual.names[position] for position in order)
        changed = _Files(usual.original[:, order], usual.masked[:, order], names)
    one, other = (_compute(measure, given, files).value for files in (usual, changed))
    same = math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    require(same, f"invariance to {claim} is claimed, and the value changes")
