"""The order-statistics attack: posterior intervals of the values behind group means of individual ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Comparison, Cost, Measure, MeasureClaims, Measurement, plural
from maskwright_builtin.measures.attribute_disclosure.fitted_laws import FAMILIES, Empirical, Law, fit_law
from maskwright_builtin.measures.pairing import (
    households_of,
    largest_of_household,
    listed,
    pair_records,
    spread,
)
from maskwright_builtin.measures.uncertainty import MeanOverVariables
from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


RECORDS_AT_ONCE = 16_384


def posterior_intervals(
    law: Law, low: Floats, high: Floats, rank: Integers, n: int, alpha: float
) -> tuple[Floats, Floats]:
    """Equal-tailed intervals that hold the order statistics with probability ``1 - alpha``, given bounds.

    The share of the law below the i-th smallest of n values has the beta distribution ``B(i, n - i + 1)``; cut off to
    the shares below `low` and `high` it is the posterior distribution.

    `law`: distribution of the single values. `low`, `high`: bounds known for certain, ``low < high``; shape (r,).
    `rank`: i, from 1; shape (r,). `alpha`: between 0 and 1. Returns NaN where the law gives the bounds no probability
    that could be distinguished from 0; shape (r,).

    Mateo-Sanz, doctoral thesis (in Catalan), chapter 3, formulas 3.4 to 3.8.
    """
    from maskwright_builtin.measures.attribute_disclosure.order_statistics_kernel import truncated_quantiles

    ends = np.empty((2, len(rank)))

    def solve(chunk: slice) -> None:
        i = rank[chunk].astype(np.float64)
        begin, end = law.below(low[chunk]), law.below(high[chunk])
        # In the upper half shares are counted from above, where they are small numbers with all their digits.
        flipped = begin + end > 1.0
        begin[flipped], end[flipped] = law.above(high[chunk][flipped]), law.above(low[chunk][flipped])
        known = begin < end
        a, b = np.where(flipped, n - i, i - 1.0), np.where(flipped, i - 1.0, n - i)
        found = np.full((2, len(i)), np.nan)
        shares = np.where(flipped, 1.0 - alpha / 2.0, alpha / 2.0)
        first, second = np.empty(known.sum()), np.empty(known.sum())
        truncated_quantiles(
            begin[known], end[known], a[known], b[known], shares[known], 1.0 - shares[known], first, second
        )
        for side, solved in enumerate((first, second)):
            value = np.empty(len(solved))
            up = flipped[known]
            value[up], value[~up] = law.with_above(solved[up]), law.with_below(solved[~up])
            # Inverting the law must not leave the bounds by a rounding error.
            found[side, known] = np.clip(value, low[chunk][known], high[chunk][known])
        ends[:, chunk] = found

    chunks = [slice(begin, begin + RECORDS_AT_ONCE) for begin in range(0, len(rank), RECORDS_AT_ONCE)]
    for _ in in_order(solve, chunks):
        pass
    return ends[0], ends[1]


WIDTHS = 10
MISSING_RULE = "a pair with a missing cell is left out of its variable"


class OrderStatisticsAttackParams(BaseModel, extra="forbid", frozen=True):
    """What the intruder assumes."""

    alpha: float = Field(0.1, gt=0, lt=1, description="1 - the nominal confidence of the intervals.")
    distribution: Literal["empirical", "fitted", "uniform", "normal", "lognormal", "weibull"] = Field(
        "empirical",
        description="The distribution of each variable, estimated from the masked values. 'empirical': straight lines "
        "between them; 'fitted': of the four families the one with the smallest Akaike criterion.",
    )


def order_statistics_attack(
    comparison: Comparison,
    params: OrderStatisticsAttackParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of values in a narrow interval that an intruder computes from the ranks of masked values alone.

    Individual ranking replaces k neighbours in a sorted column by their mean, so the groups of equal masked values are
    ranges of ranks. With a_-1, a_0, a_1 the masked values of the group before, the own and the next group, an original
    value of the group lies in ``[a_-1, a_1]`` for certain, and the i-th smallest of n has the density ``f_i:n(x) ~
    F(x)^(i-1) (1 - F(x))^(n-i) f(x)``, cut off to that interval; the attack's interval holds it with probability 1 -
    alpha, alpha / 2 in each tail. It is exact: ``F(X_i:n)`` has the beta distribution ``B(i, n - i + 1)``.

    A value is disclosed at t percent when the interval holds it and half the width is at most t percent of the masked
    variable's standard deviation (divisor n; as interval_disclosure by sd); the measure is the mean over t = 1..10 and
    over variables. Values of the first and the last group, which lack a neighbour, count as not disclosed.

    Missing cells: each variable uses the records with both values. Weights are not used: the risk is that of the
    records released. Where households are declared, households are counted, disclosed when any of
    their values is.

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)`` of what the n records (households) contribute and of z^2
    more in thought, half of them 0 and half 100, with z = 1.96; for plain hits and misses that is Agresti and
    Coull's. It says where the figure may lie in another file of this kind and size, with records drawn
    independently from a large population.

    Returns
    -------
    Measurement
        `parts`, means over variables, in percent: ``percent_1`` .. ``percent_10``; ``hit_rate``, originals inside the
        attack's interval (about 1 - alpha or more when F is right, less when it is badly estimated); and
        ``certain_hit_rate``, inside the certain one (100 under individual ranking up to rounding; less proves another
        method); ``q``, width of the attack's interval in percent of the certain one; ``q_smallest`` and ``q_largest``,
        the same for the smallest and largest value of each group, known as such and bounded by their own mean;
        ``q_lowest_group`` and ``q_highest_group``, q in the outermost groups with two neighbours; ``sharpened``, values
        with q below 100 (1 - alpha) - 5; ``extremes_disclosed``, values of the two outermost such groups at either end
        that are disclosed at 10 percent. `per_variable` the measure by variable, `per_record` its mean over variables.

    Notes
    -----
    The intervals take the neighbours' means as fixed bounds, so they are not calibrated: away from the extremes the hit
    rate is well above 1 - alpha even with the right F.
    """
    pairs = pair_records(comparison, MISSING_RULE)
    households = households_of(comparison, pairs)
    notes = list(pairs.notes)
    found: dict[str, _Found] = {}
    laws: dict[str, list[str]] = {}
    unusable: list[str] = []
    disclosed, compared = np.zeros(len(pairs.masked)), np.zeros(len(pairs.masked))
    contributions = MeanOverVariables(len(pairs.masked), households)
    for j, name in enumerate(pairs.names):
        comparison.progress(j / pairs.p)
        original, masked = pairs.originals(j), pairs.masked[:, j]
        both = ~(np.isnan(original) | np.isnan(masked))
        groups = _groups_of(masked[both], original[both])
        law = None if len(groups.values) < 3 else _law(groups, params.distribution)
        if law is None:
            unusable.append(name)
            continue
        laws.setdefault(law.name, []).append(name)
        one = _attack(groups, law, params.alpha, spread(masked[both], ddof=0))
        found[name] = one
        counts = one.widths if households is None else largest_of_household(one.widths, households[both])
        by_width = {f"percent_{t}": 100.0 * float((counts > WIDTHS - t).mean()) for t in range(1, WIDTHS + 1)}
        one.parts.update(by_width)
        contributions.add(counts / WIDTHS, both)
        disclosed[both] += 100.0 / WIDTHS * one.widths
        compared += both
    comparison.progress(1.0)
    notes += [f"distribution of the values: {law} for {listed(names)}" for law, names in laws.items()]
    if unusable:
        notes.append(
            "left out, fewer than three different masked values or none that the distribution allows: "
            f"{listed(unusable)}"
        )
    without_law = sum(one.without_law for one in found.values())
    if without_law:
        notes.append(f"the distribution excludes {plural(without_law, 'certain interval')}, taken without it")
    if not found:
        notes.append("not defined: no variable has groups with two neighbours")
        return Measurement(float("nan"), notes=tuple(notes))
    names = list(next(iter(found.values())).parts)
    parts = {part: float(np.mean([one.parts[part] for one in found.values()])) for part in names}
    by_variable = {
        name: float(np.mean([one.parts[f"percent_{t}"] for t in range(1, WIDTHS + 1)])) for name, one in found.items()
    }
    if parts["certain_hit_rate"] < 100.0:
        notes.append("not all values are inside the certain intervals: the masking is not plain individual ranking")
    with np.errstate(invalid="ignore"):
        per_record = disclosed / compared
    return Measurement(
        float(np.mean(list(by_variable.values()))),
        parts=parts,
        per_variable=by_variable,
        per_record=per_record,
        interval=contributions.interval(),
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class _Groups:
    """Records in the order of masked, then original values, and their groups of equal masked values.

    `order`: shape (n,). `original`: in that order, so that place r holds the value of rank r + 1 if the masking kept
    ranks; shape (n,). `values`: masked value of each group, ascending; shape (g,). `bounds`: group j is
    ``order[bounds[j]:bounds[j + 1]]``; shape (g + 1,).
    """

    order: Integers
    original: Floats
    values: Floats
    bounds: Integers


def _groups_of(masked: Floats, original: Floats) -> _Groups:
    # Ranks kept by the masking leave the second sort nothing to do, and it notices.
    order = np.argsort(original)
    order = order[np.argsort(masked[order], kind="stable")]
    ordered = masked[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > 0.0)
    return _Groups(order, original[order], ordered[starts], np.append(starts, len(ordered)))


def _law(groups: _Groups, distribution: str) -> Law | None:
    copies = np.diff(groups.bounds)
    if distribution == "empirical":
        n = float(groups.bounds[-1])
        return Empirical(groups.values, (groups.bounds[:-1] + groups.bounds[1:]) / (2.0 * n))
    families = FAMILIES if distribution == "fitted" else (distribution,)
    fitted = [fit for family in families if (fit := fit_law(groups.values, copies, family)) is not None]
    return min(fitted, key=lambda fit: fit[1])[0] if fitted else None


@dataclass(frozen=True, eq=False)
class _Found:
    """What the attack found on one variable; `widths`: at how many of the ten widths each record is disclosed."""

    widths: Integers
    parts: dict[str, float]
    without_law: int


def _attack(groups: _Groups, law: Law, alpha: float, deviation: float) -> _Found:
    bounds, values, n = groups.bounds, groups.values, int(groups.bounds[-1])
    inner = slice(int(bounds[1]), int(bounds[-2]))
    group = np.repeat(np.arange(len(values)), np.diff(bounds))[inner]
    low, high = values[group - 1], values[group + 1]
    rank = np.arange(inner.start, inner.stop) + 1
    lower, upper, without_law = _intervals(law, low, high, rank, n, alpha)
    original = groups.original[inner]
    hit, width = (lower <= original) & (original <= upper), upper - lower
    q = 100.0 * width / (high - low)
    reach = np.arange(1, WIDTHS + 1) / 100.0 * deviation
    narrow = WIDTHS - np.searchsorted(reach, width / 2.0, side="left")
    widths = np.zeros(n, dtype=np.int64)
    widths[groups.order[inner]] = np.where(hit, narrow, 0)
    inner_groups = np.arange(1, len(values) - 1)
    smallest = _ratio(law, values[inner_groups - 1], values[inner_groups], bounds[inner_groups] + 1, n, alpha)
    largest = _ratio(law, values[inner_groups], values[inner_groups + 1], bounds[inner_groups + 1], n, alpha)
    outermost = np.minimum(group - 1, len(values) - 2 - group) < 2
    parts = {
        "hit_rate": 100.0 * hit.mean(),
        "certain_hit_rate": 100.0 * ((low <= original) & (original <= high)).mean(),
        "q": q.mean(),
        "q_smallest": smallest,
        "q_largest": largest,
        "q_lowest_group": q[group == 1].mean(),
        "q_highest_group": q[group == len(values) - 2].mean(),
        "sharpened": 100.0 * (q < 100.0 * (1.0 - alpha) - 5.0).mean(),
        "extremes_disclosed": 100.0 * (hit & (narrow > 0))[outermost].mean(),
    }
    return _Found(widths, {part: float(value) for part, value in parts.items()}, without_law)


def _intervals(law: Law, low: Floats, high: Floats, rank: Integers, n: int, alpha: float) -> tuple[Floats, Floats, int]:
    """Posterior intervals; the certain ones where the law excludes them, and how many those are."""
    lower, upper = posterior_intervals(law, low, high, rank, n, alpha)
    excluded = np.isnan(lower)
    return np.where(excluded, low, lower), np.where(excluded, high, upper), int(excluded.sum())


def _ratio(law: Law, low: Floats, high: Floats, rank: Integers, n: int, alpha: float) -> float:
    """Mean width of the posterior intervals in percent of the certain ones."""
    lower, upper, _ = _intervals(law, low, high, rank, n, alpha)
    return float(100.0 * ((upper - lower) / (high - low)).mean())


ORDER_STATISTICS_ATTACK = Measure(
    name="order_statistics_attack",
    compute=order_statistics_attack,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=OrderStatisticsAttackParams,
    claims=MeasureClaims(cost=Cost(cell=8.0), counts_households=True, invariant_to={"affine", "records", "columns"}),
    reference="Mateo-Sanz, doctoral thesis (in Catalan), chapter 3; the distribution of the masked values stands for "
    "the true one",
    summary="Percent of values in narrow intervals computed from ranks: the attack on individual ranking.",
)
