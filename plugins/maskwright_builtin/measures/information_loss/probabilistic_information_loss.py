"""Probabilistic information loss (PIL): whether statistics changed more than by sampling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Further, Measure, MeasureClaims, Measurement, Merging, Progress
from maskwright_builtin.measures.information_loss.moments import Moments, center_and_scale, moments
from maskwright_builtin.measures.information_loss.partition_losses import missing_notes
from maskwright_builtin.measures.information_loss.partition_moments import (
    PartMoments,
    condensed_sums,
    moments_of_sums,
    pair_sums,
    plain_moments,
)
from maskwright_builtin.measures.information_loss.pil_statistics import (
    MISSING_RULE,
    averaged,
    moment_losses,
    quantile_losses,
    quantiles,
    quantiles_with_error,
    ranks_of_quantiles,
    relative_spread,
    with_weight,
)
from maskwright_builtin.measures.pairing import (
    Pairs,
    WeightedParams,
    Weights,
    chosen,
    effective_number,
    listed,
    pair_records,
    present_values,
    weighted_over_parts,
    weights_of,
)
from maskwright_builtin.measures.partition_statistics import (
    FIRST_POINTS,
    RankSearch,
    condensed,
    counted,
    interval_counts_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.measures.partition_statistics import Facts, Request
    from maskwright_builtin.numerics.arrays import Floats


def statistics_of_part(comparison: Comparison, params: ProbabilisticInformationLossParams, request: Request) -> Facts:  # noqa: ARG001
    """Moments and some values of one part in the first round, then products of its variables and what is asked."""
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    files = pairs.original, pairs.masked
    if request is None:
        return {
            "missing": [int(np.isnan(file).sum()) for file in files],
            "variables": {
                name: [
                    {
                        "moments": PartMoments.of(file[:, j]).to_json(),
                        "interval_counts": interval_counts_of(file[:, j], None, FIRST_POINTS),
                    }
                    for file in files
                ]
                for j, name in enumerate(pairs.names)
            },
        }  # fmt: skip
    places = {name: pairs.names.index(name) for name in request["names"]}
    found: dict[str, Any] = {
        "interval_counts": {
            name: [
                interval_counts_of(file[:, places[name]], intervals)
                for file, intervals in zip(files, each, strict=True)
            ]
            for name, each in request["intervals"].items()
        },
        "inside": {name: counted(files[0][:, places[name]], each) for name, each in request["borders"].items()},
    }
    if "sums" not in request:
        used, center, scale = list(places.values()), np.array(request["center"]), np.array(request["scale"])
        found["sums"] = [
            pair_sums(file[:, used], center, scale, to_fourth=file is files[0]) for file in files
        ]  # fmt: skip
    return found


def condensed_statistics(
    facts: Sequence[Facts],
    params: ProbabilisticInformationLossParams,  # noqa: ARG001
    request: Request,
) -> list[Facts]:
    """Statistics of some neighbouring parts as those of one."""
    if request is None:
        variables = {
            name: [
                {
                    "moments": PartMoments.merged(each["variables"][name][at]["moments"] for each in facts).to_json(),
                    "interval_counts": condensed([each["variables"][name][at]["interval_counts"] for each in facts]),
                }
                for at in (0, 1)
            ]
            for name in facts[0]["variables"]
        }
        return [{"missing": [sum(each["missing"][at] for each in facts) for at in (0, 1)], "variables": variables}]
    found: dict[str, Any] = {
        "interval_counts": {
            name: [condensed([each["interval_counts"][name][at] for each in facts]) for at in (0, 1)]
            for name in facts[0]["interval_counts"]
        },
        "inside": {
            name: np.sum([each["inside"][name] for each in facts], axis=0).tolist() for name in facts[0]["inside"]
        },
    }
    if "sums" in facts[0]:
        found["sums"] = [condensed_sums([each["sums"][at] for each in facts]) for at in (0, 1)]
    return [found]


def loss_of_parts(
    facts: Sequence[Facts], params: ProbabilisticInformationLossParams, request: Request
) -> Measurement | Further:
    """The measure `pil` of a file in parts, or its next request."""
    if request is None:
        known = _begun(facts, params)
        if isinstance(known, Measurement):
            return known
        return _next(known, _read(known["searches"]), params)
    known = dict(request)
    searches = _read(known["searches"])
    for name, files in searches.items():
        if name in request["intervals"]:
            counts = [each["interval_counts"][name] for each in facts]
            searches[name] = [
                search.closer([each[at] for each in counts]) if search.open else search
                for at, search in enumerate(files)
            ]
    if "sums" not in known:
        moments = [moments_of_sums([each["sums"][at] for each in facts]) for at in (0, 1)]
        known["sums"] = [plain_moments(each) for each in moments]
    for name in request["borders"]:
        known["inside"][name] = [[sum(each["inside"][name][side][at] for each in facts) for at in
                                  range(len(request["borders"][name]))] for side in (0, 1)]  # fmt: skip
    if len(known["inside"]) < len(known["names"]):
        return _next(known, searches, params)
    return _loss(known, searches, params)


def _begun(facts: Sequence[Facts], params: ProbabilisticInformationLossParams) -> Facts | Measurement:
    """What is known after the first round."""
    notes = missing_notes(facts, MISSING_RULE)
    lists = ("names", "center", "scale", "ends", "numbers")
    known: dict[str, Any] = {**{name: [] for name in lists}, "searches": {}, "inside": {}}
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
            RankSearch.begun(
                ranks_of_quantiles(n, params.step).tolist(), [each["interval_counts"] for each in file]
            ).to_json()
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
    """Request values between those counted, and where quantiles are known the numbers of values near them."""
    intervals, borders = {}, {}
    for name, files in searches.items():
        if any(each.open for each in files):
            intervals[name] = [each.intervals for each in files]
        if not files[0].open and name not in known["inside"]:
            half, values = _window(known, name), _quantiles(known, searches, name, 0, params)
            borders[name] = [*(values - half).tolist(), *(values + half).tolist()]
    plain = {name: [each.to_json() for each in files] for name, files in searches.items()}
    return Further({**known, "searches": plain, "intervals": intervals, "borders": borders})


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
) -> Floats:  # fmt: skip
    n = known["numbers"][known["names"].index(name)][file]
    return searches[name][file].values(ranks_of_quantiles(n, params.step).tolist())


def _read(plain: Mapping[str, Any]) -> dict[str, list[RankSearch]]:
    return {name: [RankSearch.from_json(each) for each in files] for name, files in plain.items()}


def _moments(plain: Mapping[str, Any]) -> Moments:
    p = len(plain["mean"])
    return Moments(**{
        name: np.array(values, dtype=np.float64) if name == "mean" else np.array(values, dtype=np.float64).reshape(p, p)
        for name, values in plain.items()
    })  # fmt: skip


PIL_OVER_PARTS = Merging(
    partial=statistics_of_part, merged=loss_of_parts, condensed=condensed_statistics, refused=weighted_over_parts
)


class ProbabilisticInformationLossParams(WeightedParams, extra="forbid", frozen=True):
    """Details on which published programs differ, and whether records count by their weights."""

    step: int = Field(5, ge=1, le=50, description="Step between the quantiles compared, in percent: 5, 10, ..., 95.")
    bandwidth: Literal["per-column", "last-column"] = Field(
        "per-column",
        description="Width of the interval in which the density at a quantile is estimated, a thousandth of the range: "
        "of each column, or of the last column for all ('last-column' repeats an error of older programs, to "
        "reproduce their figures; the result then depends on the order of the columns).",
    )


def probabilistic_information_loss(
    comparison: Comparison,
    params: ProbabilisticInformationLossParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Probability that a statistic moves less by sampling than it moved by masking, averaged, in percent.

    For a statistic with asymptotic variance Var estimated on the original file the loss is
    ``erf(abs(masked - original) / sqrt(2 Var))``. Five parts, each a mean over variables, pairs of variables, or
    quantiles of the orders q = 5, 10, ..., 95 percent:

        means          m = sum w x / W                                 Var = mu_20 / n_e
        variances      mu_20                                           Var = (mu_40 - mu_20^2) / n_e
        covariances    mu_11                                           Var = (mu_22 - mu_11^2) / n_e
        correlations   r = mu_11 / sqrt(mu_20 mu_02)                   Var = (a + r^2 (b + 2 a) / 4 - r c) / n_e
        quantiles      x_l,  S_l <= (1 - 1 / n_e) W q < S_l + w_l      Var = q (1 - q) / (n_e f^2)

        mu_rs = sum w (x_i - m_i)^r (x_j - m_j)^s / W,   a = mu_22 / (mu_20 mu_02),
        b = mu_40 / mu_20^2 + mu_04 / mu_02^2,   c = (mu_31 / mu_20 + mu_13 / mu_02) / sqrt(mu_20 mu_02),
        f = (weight of the values nearer than h to the quantile) / (2 h W),   h = range / 1000

    with w the weights, all 1 unless `weighted`, W their sum over the records that have the values, S_l that of the
    values sorted before x_l, and ``n_e = W^2 / sum w^2``; without weights W and n_e are n, the number of records. 0 for
    the original data, at most 100; a part saturates quickly (two standard errors are already 95).

    The two files are compared as files: records need not be paired, and a sampled masked file is compared with the
    whole original.

    Weighted: n_e is Kish's effective number of records, because unequal weights make statistics less certain; that
    takes weights as unrelated to the values. Standard errors have that of the original file, the rank of a quantile
    that of its own file. Whole weights are as so many copies of each record, but for n_e, which copies do not raise; a
    record of weight 0 counts for nothing, and the scale of the weights does not matter.

    Missing cells: each statistic uses the records of its own file that have all the values it needs.

    Corner rules: no variance and no difference is no loss, no variance and a difference is full loss; a pair with a
    constant variable has no correlation and is left out; with one variable the parts of pairs do not exist and the
    others are averaged; a variable without any value in one file is left out. All are said in the notes.

    Returns
    -------
    Measurement
        `parts` has the parts that exist; `per_variable` averages the same parts over what concerns the variable.
    """
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    notes = list(pairs.notes)
    weights = weights_of(comparison, "pil", weighted=params.weighted)
    if weights is not None:
        pairs, weights = with_weight(pairs, weights)
        number = effective_number(weights.original)
        notes.append(f"weighted: the {len(pairs.original)} original records with weight are as certain as {number:.0f}")
    files = pairs.original, pairs.masked
    gone = [name for j, name in enumerate(pairs.names) if any(np.isnan(file[:, j]).all() for file in files)]
    if gone:
        notes.append(f"left out, no value in one of the files: {listed(gone)}")
        kept = [j for j, name in enumerate(pairs.names) if name not in gone]
        names = tuple(pairs.names[j] for j in kept)
        pairs = Pairs(names, pairs.original[:, kept], pairs.masked[:, kept], pairs.origin, pairs.notes)
    if not pairs.names:
        notes.append("not defined: no variable can be compared")
        return Measurement(float("nan"), notes=tuple(notes))
    losses = _moment_losses(pairs, weights, comparison.progress)
    losses["quantiles"] = _quantile_losses(pairs, weights, params, comparison.progress)
    comparison.progress(1.0)
    return averaged(losses, pairs.names, notes)


def _moment_losses(pairs: Pairs, weights: Weights | None, progress: Progress) -> dict[str, Floats]:
    center, scale = center_and_scale(pairs.original, pairs.masked)

    def first_half(share: float) -> None:
        progress(0.4 * share)

    def second_half(share: float) -> None:
        progress(0.4 + 0.2 * share)

    one, other = (None, None) if weights is None else (weights.original, weights.masked)
    old = moments(pairs.original, center, scale, first_half, to_fourth=True, weights=one)
    new = moments(pairs.masked, center, scale, second_half, to_fourth=False, weights=other)
    return moment_losses(old, new)


def _quantile_losses(
    pairs: Pairs, weights: Weights | None, params: ProbabilisticInformationLossParams, progress: Progress
) -> Floats:
    """Losses of the quantiles of each variable; shape (p, q)."""
    last = present_values(pairs.original[:, -1])
    window = float(last.max() - last.min()) / 1000.0 if params.bandwidth == "last-column" else None
    losses = []
    for j in range(pairs.p):
        before, after = present_values(pairs.original[:, j]), present_values(pairs.masked[:, j])
        if weights is None:
            old, new = quantiles_with_error(before, params.step, window), quantiles(np.sort(after), params.step)
        else:
            own = chosen(weights.original, ~np.isnan(pairs.original[:, j]))
            old = quantiles_with_error(before, params.step, window, own)
            new = quantiles(after, params.step, chosen(weights.masked, ~np.isnan(pairs.masked[:, j])))
        losses.append(quantile_losses(old.values, old.sd, new))
        progress(0.6 + 0.4 * (j + 1) / pairs.p)
    return np.array(losses)


PROBABILISTIC_INFORMATION_LOSS = Measure(
    name="pil",
    compute=probabilistic_information_loss,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=ProbabilisticInformationLossParams,
    claims=MeasureClaims(compares_unpaired=True, invariant_to={"affine", "records", "columns"}),
    merging=PIL_OVER_PARTS,
    reference="Mateo-Sanz, Domingo-Ferrer, Sebé (2005), Probabilistic information loss measures in confidentiality "
    "protection of continuous microdata, Data Mining and Knowledge Discovery 11(2), 181-193",
    summary="Whether quantiles, means, variances, covariances and correlations moved more than sampling error.",
)
