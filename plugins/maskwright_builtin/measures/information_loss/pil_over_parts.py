"""Probabilistic information loss of a file in parts: merged moments, and order statistics searched round by round."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Further, Measurement, Merging
from maskwright_builtin.measures.common.pair_sums import condensed_sums, moments_of_sums, pair_sums
from maskwright_builtin.measures.common.pairing import listed, pair_records
from maskwright_builtin.measures.common.part_moments import PartMoments
from maskwright_builtin.measures.common.rank_search import FIRST_POINTS, RankSearch, condensed, counted, told_of
from maskwright_builtin.measures.common.weighting import weighted_over_parts
from maskwright_builtin.measures.information_loss.moments import Moments
from maskwright_builtin.measures.information_loss.pil_losses import (
    MISSING_RULE,
    averaged,
    moment_losses,
    quantile_losses,
)
from maskwright_builtin.measures.information_loss.quantiles import ranks_of_quantiles, relative_spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.measures.information_loss.probabilistic_information_loss import (
        ProbabilisticInformationLossParams,
    )

Facts = dict[str, Any]


def statistics_of_part(
    comparison: Comparison,
    params: ProbabilisticInformationLossParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
) -> Facts:
    """Moments and some values of one part in the first round, then products of its variables and what is asked."""
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    files = pairs.original, pairs.masked
    if asked is None:
        return {
            "missing": [int(np.isnan(file).sum()) for file in files],
            "variables": {
                name: [
                    {"moments": PartMoments.of(file[:, j]).to_json(), "told": told_of(file[:, j], None, FIRST_POINTS)}
                    for file in files
                ]
                for j, name in enumerate(pairs.names)
            },
        }  # fmt: skip
    places = {name: pairs.names.index(name) for name in asked["names"]}
    found: Facts = {
        "told": {
            name: [told_of(file[:, places[name]], intervals) for file, intervals in zip(files, each, strict=True)]
            for name, each in asked["intervals"].items()
        },
        "inside": {name: counted(files[0][:, places[name]], each) for name, each in asked["borders"].items()},
    }
    if "sums" not in asked:
        used, center, scale = list(places.values()), np.array(asked["center"]), np.array(asked["scale"])
        found["sums"] = [
            pair_sums(file[:, used], center, scale, to_fourth=file is files[0]) for file in files
        ]  # fmt: skip
    return found


def condensed_statistics(
    facts: Sequence[Mapping[str, Any]],
    params: ProbabilisticInformationLossParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
) -> list[Facts]:
    """Statistics of some neighbouring parts as those of one.

    `facts`: of `statistics_of_part`, or of this function.
    """
    if asked is None:
        variables = {
            name: [
                {
                    "moments": PartMoments.merged(each["variables"][name][at]["moments"] for each in facts).to_json(),
                    "told": condensed([each["variables"][name][at]["told"] for each in facts]),
                }
                for at in (0, 1)
            ]
            for name in facts[0]["variables"]
        }
        return [{"missing": [sum(each["missing"][at] for each in facts) for at in (0, 1)], "variables": variables}]
    found: Facts = {
        "told": {name: [condensed([each["told"][name][at] for each in facts]) for at in (0, 1)] for name in
                 facts[0]["told"]},
        "inside": {name: np.sum([each["inside"][name] for each in facts], axis=0).tolist() for name in
                   facts[0]["inside"]},
    }  # fmt: skip
    if "sums" in facts[0]:
        found["sums"] = [condensed_sums([each["sums"][at] for each in facts]) for at in (0, 1)]
    return [found]


def loss_of_parts(
    facts: Sequence[Mapping[str, Any]],
    params: ProbabilisticInformationLossParams,
    asked: Mapping[str, Any] | None,
) -> Measurement | Further:
    """The measure `pil` of a file in parts, or what it asks next."""
    if asked is None:
        known = _begun(facts, params)
        if isinstance(known, Measurement):
            return known
        return _next(known, _read(known["searches"]), params)
    known = dict(asked)
    searches = _read(known["searches"])
    for name, files in searches.items():
        if name in asked["intervals"]:
            told = [each["told"][name] for each in facts]
            searches[name] = [
                search.closer([each[at] for each in told]) if search.open else search for at, search in enumerate(files)
            ]
    if "sums" not in known:
        moments = [moments_of_sums([each["sums"][at] for each in facts]) for at in (0, 1)]
        known["sums"] = [_plain(each) for each in moments]
    for name in asked["borders"]:
        known["inside"][name] = [[sum(each["inside"][name][side][at] for each in facts) for at in
                                  range(len(asked["borders"][name]))] for side in (0, 1)]  # fmt: skip
    if len(known["inside"]) < len(known["names"]):
        return _next(known, searches, params)
    return _loss(known, searches, params)


def _begun(facts: Sequence[Mapping[str, Any]], params: ProbabilisticInformationLossParams) -> Facts | Measurement:
    """What the first round says."""
    gone = [sum(each["missing"][at] for each in facts) for at in (0, 1)]
    notes = [f"missing cells: {gone[0]} in the original file, {gone[1]} in the masked file; {MISSING_RULE}"]
    notes = notes if any(gone) else []
    known: Facts = {"names": [], "center": [], "scale": [], "ends": [], "numbers": [], "searches": {}, "inside": {}}
    empty = []
    for name in facts[0]["variables"]:
        own = [[each["variables"][name][at] for each in facts] for at in (0, 1)]
        old, new = (PartMoments.merged(each["moments"] for each in file) for file in own)
        if not old.n or not new.n:
            empty.append(name)
            continue
        scale = old.spread(0)
        center = old.mean if scale else old.low
        known["names"].append(name)
        known["center"].append(center)
        known["scale"].append(scale or max(abs(new.low - center), abs(new.high - center)) or 1.0)
        known["ends"].append([old.low, old.high])
        known["numbers"].append([old.n, new.n])
        known["searches"][name] = [
            RankSearch.begun(ranks_of_quantiles(n, params.step).tolist(), [each["told"] for each in file]).to_json()
            for n, file in zip((old.n, new.n), own, strict=True)
        ]
    if empty:
        notes.append(f"left out, no value in one of the files: {listed(empty)}")
    if not known["names"]:
        return Measurement(math.nan, notes=(*notes, "not defined: no variable can be compared"))
    return known | {"notes": notes}


def _next(
    known: Facts, searches: Mapping[str, list[RankSearch]], params: ProbabilisticInformationLossParams
) -> Further:
    """Ask for values between those told, and where quantiles are known for the numbers of values near them."""
    intervals, borders = {}, {}
    for name, files in searches.items():
        if any(each.open for each in files):
            intervals[name] = [each.intervals for each in files]
        if not files[0].open and name not in known["inside"]:
            half, values = _window(known, name), _quantiles(known, searches, name, 0, params)
            borders[name] = [*(values - half).tolist(), *(values + half).tolist()]
    said = {name: [each.to_json() for each in files] for name, files in searches.items()}
    return Further({**known, "searches": said, "intervals": intervals, "borders": borders})


def _loss(
    known: Facts, searches: Mapping[str, list[RankSearch]], params: ProbabilisticInformationLossParams
) -> Measurement:
    names = tuple(known["names"])
    old, new = (_moments(each) for each in known["sums"])
    losses = moment_losses(old, new)
    last = _window(known, names[-1])
    rows = []
    for place, name in enumerate(names):
        before, after = (_quantiles(known, searches, name, file, params) for file in (0, 1))
        count = len(before)
        smaller, no_larger = known["inside"][name]
        inside = np.array(smaller[count:]) - np.array(no_larger[:count])
        half = last if params.bandwidth == "last-column" else _window(known, name)
        spread = relative_spread(known["numbers"][place][0], inside, params.step)
        rows.append(quantile_losses(before, 2.0 * half * spread, after))
    losses["quantiles"] = np.array(rows)
    return averaged(losses, names, known["notes"])


def _window(known: Mapping[str, Any], name: str) -> float:
    low, high = known["ends"][known["names"].index(name)]
    return float(high - low) / 1000.0


def _quantiles(
    known: Mapping[str, Any], searches: Mapping[str, list[RankSearch]], name: str, file: int,
    params: ProbabilisticInformationLossParams,
) -> NDArray[np.float64]:  # fmt: skip
    n = known["numbers"][known["names"].index(name)][file]
    return searches[name][file].values(ranks_of_quantiles(n, params.step).tolist())


def _read(said: Mapping[str, Any]) -> dict[str, list[RankSearch]]:
    return {name: [RankSearch.from_json(each) for each in files] for name, files in said.items()}


def _plain(moments: Moments) -> dict[str, Any]:
    """Moments as plain data, which has no NaN."""
    return {name: [None if math.isnan(each) else each for each in np.ravel(values).tolist()] for name, values in
            vars(moments).items()}  # fmt: skip


def _moments(said: Mapping[str, Any]) -> Moments:
    p = len(said["mean"])
    return Moments(**{
        name: np.array(values, dtype=np.float64) if name == "mean" else np.array(values, dtype=np.float64).reshape(p, p)
        for name, values in said.items()
    })  # fmt: skip


PIL_OVER_PARTS = Merging(
    partial=statistics_of_part, merged=loss_of_parts, condensed=condensed_statistics, refused=weighted_over_parts
)
