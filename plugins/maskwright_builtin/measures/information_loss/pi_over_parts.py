"""The information loss of the Mateo-Sanz thesis of a file in parts: sums of relative changes, and of products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Further, Measurement, Merging
from maskwright_builtin.measures.common.pair_sums import pair_sums, statistics_of_sums
from maskwright_builtin.measures.common.pairing import pair_records
from maskwright_builtin.measures.common.weighting import weighted_over_parts
from maskwright_builtin.measures.information_loss.over_parts import missing_notes, moments_of_part
from maskwright_builtin.measures.information_loss.standard_units import StandardUnits
from maskwright_builtin.measures.information_loss.thesis_natures import MISSING_RULE, mean_of_natures
from maskwright_builtin.measures.information_loss.variation import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.measures.information_loss.thesis_information_loss import ThesisInformationLossParams

Facts = dict[str, Any]


def changes_of_part(
    comparison: Comparison, params: ThesisInformationLossParams, asked: Mapping[str, Any] | None
) -> Facts:
    """Moments of one part in the first round, then relative changes and products of its variables."""
    if asked is None:
        return moments_of_part(comparison, params, None)
    pairs, units = pair_records(comparison, MISSING_RULE), StandardUnits.from_json(asked["units"])
    changes = {}
    for j, name in enumerate(pairs.names):
        moved = 100.0 * terms(pairs.originals(j), pairs.masked[:, j], "mean_variation")
        there = moved[~np.isnan(moved)]
        changes[name] = [len(there), float(there.sum())]
    files = pairs.original, pairs.masked
    return {
        "changes": changes, "sums": [pair_sums(each, units.center, units.scale, to_fourth=False) for each in files]
    }  # fmt: skip


def information_loss_of_parts(
    facts: Sequence[Mapping[str, Any]],
    params: ThesisInformationLossParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
) -> Measurement | Further:
    """The measure `pi` of a file in parts."""
    if asked is None:
        return Further({"units": StandardUnits.of(facts).to_json(), "notes": missing_notes(facts, MISSING_RULE)})
    units, per_variable = StandardUnits.from_json(asked["units"]), {}
    for name in units.names:
        cells = sum(each["changes"][name][0] for each in facts)
        if cells:
            per_variable[name] = math.fsum(each["changes"][name][1] for each in facts) / cells
    old, new = (
        statistics_of_sums([each["sums"][file] for each in facts], units.center, units.scale) for file in (0, 1)
    )
    return mean_of_natures(per_variable, old, new, units.names, asked["notes"])


def _refused(params: ThesisInformationLossParams) -> str | None:
    if params.pairing == "nearest":
        return "the nearest original record may be in another part: leave out `pairing: nearest`"
    return weighted_over_parts(params)


PI_OVER_PARTS = Merging(partial=changes_of_part, merged=information_loss_of_parts, refused=_refused)
