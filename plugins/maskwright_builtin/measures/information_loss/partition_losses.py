"""Losses of a file in partitions: sums over record pairs, moments and zeros that add up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Measurement, Merging
from maskwright_builtin.measures.information_loss.partition_moments import PartMoments
from maskwright_builtin.measures.pairing import listed, pair_records, weighted_over_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.measures.pairing import Pairs, WeightedParams
    from maskwright_builtin.measures.partition_statistics import Facts
    from maskwright_builtin.numerics.arrays import Booleans, Floats


MISSING_RULE = "a cell missing in either file is left out"


def kinds_of_cells(original: Floats, masked: Floats) -> tuple[Booleans, ...]:
    """Cells whose zero was kept, lost or made, and those that are present in both files; each of shape (n,).

    `original`, `masked`: of one variable, paired; NaN where missing; shape (n,).
    """
    there = ~(np.isnan(original) | np.isnan(masked))
    before, after = (original == 0.0) & there, (masked == 0.0) & there
    return before & after, before & ~after, after & ~before, there


def measured_zeros(
    counts: Mapping[str, Sequence[float]], empty: Sequence[str], notes: Sequence[str], per_record: Floats | None = None
) -> Measurement:
    """The measure of counted cells.

    `per_record`: shape (n_masked,).
    """
    lines = list(notes)
    kept, lost, made, cells = (math.fsum(own[at] for own in counts.values()) for at in range(4))
    if empty:
        lines.append(f"left out, no record has a value in both files: {listed(empty)}")
    if not cells:
        return Measurement(math.nan, notes=(*lines, "not defined: no variable can be compared"))
    per_variable = {
        name: _percent(own[1] + own[2], math.fsum(own[:3])) for name, own in counts.items() if math.fsum(own[:3]) > 0.0
    }
    if not per_variable:
        lines.append("no value is zero in either file: nothing could be lost")
    parts = {
        "share_original": _percent(kept + lost, cells),
        "share_masked": _percent(kept + made, cells),
        "lost": _percent(lost, kept + lost),
        "made": _percent(made, kept + made),
    }
    return Measurement(_percent(lost + made, kept + lost + made), parts, per_variable, per_record, notes=tuple(lines))


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole > 0.0 else 0.0


def _missing(pairs: Pairs) -> list[int]:
    return [int(np.isnan(pairs.original).sum()), int(np.isnan(pairs.masked).sum())]


def missing_notes(facts: Sequence[Facts], rule: str) -> list[str]:
    """Note on the missing cells of both files, where there are any."""
    gone = [sum(each["missing"][at] for each in facts) for at in (0, 1)]
    lines = f"missing cells: {gone[0]} in the original file, {gone[1]} in the masked file; {rule}"
    return [lines] if any(gone) else []


MISSING_RULE_OF_PAIRS = "a cell missing in either file is left out, and the divisor of its variable shrinks with it"


def differences_of_part(comparison: Comparison, params: WeightedParams, request: object) -> Facts:  # noqa: ARG001
    """Squares and sizes of the differences of one part, with the moments of its originals."""
    pairs = pair_records(comparison, MISSING_RULE_OF_PAIRS)
    found: dict[str, Any] = {"missing": _missing(pairs), "variables": {}}
    for j, name in enumerate(pairs.names):
        moved = pairs.originals(j) - pairs.masked[:, j]
        there = moved[~np.isnan(moved)]
        found["variables"][name] = {
            "pairs": len(there),
            "squares": float((there * there).sum()),
            "sizes": float(np.abs(there).sum()),
            "original": PartMoments.of(pairs.original[:, j]).to_json(),
        }
    return found


def _differences(facts: Sequence[Facts]) -> dict[str, tuple[int, float, float, PartMoments]]:
    """Pairs, squares, sizes and moments of each variable over all parts."""
    found = {}
    for name in facts[0]["variables"]:
        own = [each["variables"][name] for each in facts]
        found[name] = (
            sum(each["pairs"] for each in own), math.fsum(each["squares"] for each in own),
            math.fsum(each["sizes"] for each in own), PartMoments.merged(each["original"] for each in own),
        )  # fmt: skip
    return found


def squared_error_of_parts(facts: Sequence[Facts], params: WeightedParams, request: object) -> Measurement:  # noqa: ARG001
    """The measure `sse` of a file in parts."""
    notes = missing_notes(facts, MISSING_RULE_OF_PAIRS)
    per_variable: dict[str, float] = {}
    without_scale, without_pairs = [], []
    for name, (pairs, squares, _, original) in _differences(facts).items():
        variance = original.spread(1) ** 2
        if not pairs:
            without_pairs.append(name)
        elif squares == 0.0:
            per_variable[name] = 0.0
        elif variance == 0.0 or pairs < 2:
            without_scale.append(name)
        else:
            per_variable[name] = 100.0 * squares / (variance * (pairs - 1))
    return mean_of_variables(per_variable, [*notes, *left_out_notes(without_pairs, without_scale)])


IL1S_LEAVES_OUT = ("no record has a value in both files", "changed although constant")
"""Why a variable has no part in the mean."""


def il1s_of_parts(facts: Sequence[Facts], params: WeightedParams, request: object) -> Measurement:  # noqa: ARG001
    """The measure `il1s` of a file in parts."""
    notes = missing_notes(facts, MISSING_RULE_OF_PAIRS)
    per_variable: dict[str, float] = {}
    left_out: dict[str, list[str]] = {reason: [] for reason in IL1S_LEAVES_OUT}
    for name, (pairs, _, sizes, original) in _differences(facts).items():
        scale = original.spread(1)
        if not pairs:
            left_out[IL1S_LEAVES_OUT[0]].append(name)
        elif scale == 0.0 and sizes:
            left_out[IL1S_LEAVES_OUT[1]].append(name)
        else:
            per_variable[name] = sizes / (math.sqrt(2.0) * (scale or 1.0)) / pairs
    notes += [f"left out, {why}: {listed(names)}" for why, names in left_out.items() if names]
    return mean_of_variables(per_variable, notes)


def mean_of_variables(
    per_variable: Mapping[str, float], notes: Sequence[str], per_record: Floats | None = None
) -> Measurement:
    """The mean over the variables; `per_record`: the sum over the variables; shape (n_masked,)."""
    if not per_variable:
        return Measurement(math.nan, notes=(*notes, "not defined: no variable can be compared"))
    return Measurement(
        float(np.mean(list(per_variable.values()))),
        per_variable=per_variable,
        per_record=None if per_record is None else per_record / len(per_variable),
        notes=tuple(notes),
    )


def left_out_notes(without_pairs: Sequence[str], without_scale: Sequence[str]) -> list[str]:
    """Notes on the variables that have no part in a mean."""
    notes = []
    if without_pairs:
        notes.append(f"left out, no record has a value in both files: {listed(without_pairs)}")
    if without_scale:
        notes.append(f"left out, changed although constant in the original file (no scale): {listed(without_scale)}")
    return notes


def zeros_of_part(comparison: Comparison, params: WeightedParams, request: object) -> Facts:  # noqa: ARG001
    """Zeros of one part that were kept, lost and made, and compared cells."""
    pairs = pair_records(comparison, MISSING_RULE)
    found: dict[str, Any] = {"missing": _missing(pairs), "variables": {}}
    for j, name in enumerate(pairs.names):
        kinds = kinds_of_cells(pairs.originals(j), pairs.masked[:, j])
        found["variables"][name] = [int(np.count_nonzero(each)) for each in kinds]
    return found


def structural_zeros_of_parts(facts: Sequence[Facts], params: WeightedParams, request: object) -> Measurement:  # noqa: ARG001
    """The measure `structural_zeros` of a file in parts."""
    zeros = {
        name: [sum(each["variables"][name][at] for each in facts) for at in range(4)] for name in facts[0]["variables"]
    }
    empty = [name for name, (*_, cells) in zeros.items() if not cells]
    return measured_zeros(zeros, empty, missing_notes(facts, MISSING_RULE))


MISSING_RULE_OF_MOMENTS = "each moment uses the present values of its own file"


def moments_of_part(comparison: Comparison, params: WeightedParams, request: object) -> Facts:  # noqa: ARG001
    """Moments of both files of one part."""
    pairs = pair_records(comparison, MISSING_RULE_OF_MOMENTS, required=False)
    both = {
        name: [PartMoments.of(file[:, j]).to_json() for file in (pairs.original, pairs.masked)]
        for j, name in enumerate(pairs.names)
    }
    return {"missing": _missing(pairs), "variables": both}


def higher_moments_of_parts(facts: Sequence[Facts], params: WeightedParams, request: object) -> Measurement:  # noqa: ARG001
    """The measure `higher_moments` of a file in parts."""
    notes = missing_notes(facts, MISSING_RULE_OF_MOMENTS)
    changes: dict[str, Floats] = {}
    without_scale, empty = [], []
    for name in facts[0]["variables"]:
        old, new = (PartMoments.merged(each["variables"][name][file] for each in facts) for file in (0, 1))
        scale = old.spread(0)
        if not old.n or not new.n:
            empty.append(name)
        elif scale == 0.0 and new.spread(0) > 0.0:
            without_scale.append(name)
        else:
            divisor = scale or 1.0
            changes[name] = np.array(
                [
                    abs(new.third / new.n - old.third / old.n) / divisor**3,
                    abs(new.fourth / new.n - old.fourth / old.n) / divisor**4,
                ]
            )
    return mean_of_moments(changes, notes, empty, without_scale)


def mean_of_moments(
    changes: Mapping[str, Floats], about: Sequence[str], empty: Sequence[str], without_scale: Sequence[str]
) -> Measurement:
    """The measure `higher_moments`, from the changes of both moments of each variable; shape (2,) each."""
    notes = list(about)
    if empty:
        notes.append(f"left out, no value (with weight) in one of the files: {listed(empty)}")
    notes += left_out_notes((), without_scale)
    if not changes:
        return Measurement(math.nan, notes=(*notes, "not defined: no variable can be compared"))
    by_order = np.mean(list(changes.values()), axis=0)
    return Measurement(
        float(by_order.mean()),
        parts={"order_3": float(by_order[0]), "order_4": float(by_order[1])},
        per_variable={name: float(np.mean(change)) for name, change in changes.items()},
        notes=tuple(notes),
    )


SQUARED_ERROR_OVER_PARTS = Merging(
    partial=differences_of_part, merged=squared_error_of_parts, refused=weighted_over_parts
)
IL1S_OVER_PARTS = Merging(partial=differences_of_part, merged=il1s_of_parts, refused=weighted_over_parts)
STRUCTURAL_ZEROS_OVER_PARTS = Merging(
    partial=zeros_of_part, merged=structural_zeros_of_parts, refused=weighted_over_parts
)
HIGHER_MOMENTS_OVER_PARTS = Merging(
    partial=moments_of_part, merged=higher_moments_of_parts, refused=weighted_over_parts
)
