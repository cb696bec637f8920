"""Discrepancies of a file in parts: errors of values add up; matrices are those of merged sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Further, Measurement, Merging
from maskwright_builtin.measures.common.pair_sums import pair_sums, statistics_of_sums
from maskwright_builtin.measures.common.pairing import listed, pair_records
from maskwright_builtin.measures.common.weighting import weighted_over_parts
from maskwright_builtin.measures.information_loss.discrepancy_cells import MISSING_RULE, discrepancy_of
from maskwright_builtin.measures.information_loss.over_parts import missing_notes, moments_of_part
from maskwright_builtin.measures.information_loss.standard_units import StandardUnits
from maskwright_builtin.measures.information_loss.variation import ERRORS, terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.measures.information_loss.discrepancy import DiscrepancyParams

Facts = dict[str, Any]


def matrices_of_part(comparison: Comparison, params: DiscrepancyParams, asked: Mapping[str, Any] | None) -> Facts:
    """Errors of the values of one part, or moments in the first round and products of variables in the second."""
    if params.of != "X" and asked is None:
        return moments_of_part(comparison, params, None)
    pairs = pair_records(comparison, MISSING_RULE, required=params.of == "X")
    if params.of != "X":
        assert asked is not None
        units = StandardUnits.from_json(asked["units"])
        files = pairs.original, pairs.masked
        return {"sums": [pair_sums(each, units.center, units.scale, to_fourth=False) for each in files]}
    found: Facts = {
        "missing": [int(np.isnan(each).sum()) for each in (pairs.original, pairs.masked)], "variables": {}
    }  # fmt: skip
    for j, name in enumerate(pairs.names):
        cells = [terms(pairs.originals(j), pairs.masked[:, j], each) for each in ERRORS]
        sums = [float(each[~np.isnan(each)].sum()) for each in cells]
        found["variables"][name] = [int((~np.isnan(cells[0])).sum()), *sums]
    return found


def discrepancy_of_parts(
    facts: Sequence[Mapping[str, Any]], params: DiscrepancyParams, asked: Mapping[str, Any] | None
) -> Measurement | Further:
    """The measure `discrepancy` of a file in parts."""
    if params.of == "X":
        return _of_values(facts, params)
    if asked is None:
        units = StandardUnits.of(facts)
        return Further({"units": units.to_json(), "notes": missing_notes(facts, MISSING_RULE)})
    units = StandardUnits.from_json(asked["units"])
    old, new = (
        statistics_of_sums([each["sums"][file] for each in facts], units.center, units.scale) for file in (0, 1)
    )
    return discrepancy_of(old, new, params, units.names, list(asked["notes"]))


def _of_values(facts: Sequence[Mapping[str, Any]], params: DiscrepancyParams) -> Measurement:
    notes = missing_notes(facts, MISSING_RULE)
    chosen = ERRORS.index(params.error)
    total, sums, per_variable, without = 0, [0.0] * len(ERRORS), dict[str, float](), list[str]()
    for name in facts[0]["variables"]:
        own = [each["variables"][name] for each in facts]
        cells = sum(each[0] for each in own)
        if not cells:
            without.append(name)
            continue
        errors = [math.fsum(each[1 + at] for each in own) for at in range(len(ERRORS))]
        total += cells
        sums = [one + other for one, other in zip(sums, errors, strict=True)]
        per_variable[name] = errors[chosen] / cells
    if without:
        notes.append(f"left out, no record has a value in both files: {listed(without)}")
    if not total:
        return Measurement(math.nan, notes=(*notes, "not defined: no variable can be compared"))
    parts: dict[str, float] = {name: value / total for name, value in zip(ERRORS, sums, strict=True)}
    return Measurement(parts[params.error], parts, per_variable, notes=tuple(notes))


def _refused(params: DiscrepancyParams) -> str | None:
    if params.of == "X" and params.pairing == "nearest":
        return "the nearest original record may be in another part: leave out `pairing: nearest`"
    return weighted_over_parts(params)


DISCREPANCY_OVER_PARTS = Merging(partial=matrices_of_part, merged=discrepancy_of_parts, refused=_refused)
