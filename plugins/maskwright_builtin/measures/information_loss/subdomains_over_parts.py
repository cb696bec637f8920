"""Means and covariances on the categories of declared variables, of a file in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright import Comparison, Further, InputError, Measurement, Merging, Problem
from maskwright_builtin.measures.common.pair_sums import pair_sums, statistics_of_sums
from maskwright_builtin.measures.common.pairing import pair_records
from maskwright_builtin.measures.common.shares_of_values import places_of_values
from maskwright_builtin.measures.common.weighting import weighted_over_parts
from maskwright_builtin.measures.information_loss.over_parts import missing_notes, moments_of_part
from maskwright_builtin.measures.information_loss.standard_units import StandardUnits
from maskwright_builtin.measures.information_loss.subdomain_changes import (
    MISSING_RULE,
    SMALLEST,
    changes,
    scales,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright_builtin.measures.information_loss.subdomains import SubdomainParams

Facts = dict[str, Any]

MOST_SUBDOMAINS = 1_000
"""Different values of a declared variable: a part tells sums for each of them."""


def subdomains_of_part(comparison: Comparison, params: SubdomainParams, asked: Mapping[str, Any] | None) -> Facts:
    """Moments of one part in the first round, then products of variables in each subdomain."""
    if asked is None:
        return moments_of_part(comparison, params, None)
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    units = StandardUnits.from_json(asked["units"])
    found: Facts = {}
    for name in params.domains:
        found[name] = {}
        for file, data, values in ((0, comparison.original, pairs.original), (1, comparison.masked, pairs.masked)):
            for value, rows in places_of_values(data[name]).items():
                own = found[name].setdefault(value, [None, None])
                sums = pair_sums(values[rows], units.center, units.scale, to_fourth=False)
                own[file] = {"records": len(rows), "sums": sums}
        if len(found[name]) > MOST_SUBDOMAINS:
            raise InputError(
                Problem(
                    f"subdomains: {name} has more than {MOST_SUBDOMAINS} different values, and a run over parts sums "
                    "each of them apart",
                    hint="name variables with fewer values as `domains`, or leave out `execution: engine`",
                )
            )
    return found


def subdomain_changes_of_parts(
    facts: Sequence[Mapping[str, Any]], params: SubdomainParams, asked: Mapping[str, Any] | None
) -> Measurement | Further:
    """The measure `subdomains` of a file in parts."""
    if asked is None:
        return Further({"units": StandardUnits.of(facts).to_json(), "notes": missing_notes(facts, MISSING_RULE)})
    units, notes = StandardUnits.from_json(asked["units"]), list(asked["notes"])
    scale = scales(units.deviation.tolist(), notes)
    gathered: dict[str, list[NDArray[np.float64]]] = {}
    small = 0
    for name in params.domains:
        for value in sorted({value for each in facts for value in each[name]}):
            own = [each[name].get(value, [None, None]) for each in facts]
            files = [[part[file] for part in own if part[file] is not None] for file in (0, 1)]
            if min(sum(each["records"] for each in file) for file in files) < SMALLEST:
                small += 1
                continue
            old, new = (
                statistics_of_sums([each["sums"] for each in file], units.center, units.scale) for file in files
            )
            gathered.setdefault(name, []).append(changes(old, new, scale))
    return summary(gathered, small, units.names, notes)


def _refused(params: SubdomainParams) -> str | None:
    if params.random:
        return "random subsets are drawn from all records at once: say `random: 0`, and name `domains`"
    return weighted_over_parts(params)


SUBDOMAINS_OVER_PARTS = Merging(partial=subdomains_of_part, merged=subdomain_changes_of_parts, refused=_refused)
