"""Linkage by an intruder who knows the method and its parameters: rank swapping, multivariate microaggregation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field, field_validator

from maskwright import Comparison, InputError, Measure, MeasureClaims, Measurement, NamesVariables
from maskwright_builtin.measures.pairing import Pairs, households_of, listed, pair_records, spread
from maskwright_builtin.measures.record_linkage.known_variables import not_compared
from maskwright_builtin.measures.record_linkage.linkage import reached
from maskwright_builtin.measures.uncertainty import interval_of_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Measurable
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers

RECORDS_AT_ONCE = 2048
"""Records linked between two signs of progress."""


class RankSwappingLinkageParams(BaseModel, extra="forbid", frozen=True):
    """What the intruder knows."""

    p: float = Field(10.0, gt=0, le=100, description="The parameter p of rank swapping, in percent of the ranks.")
    known: Annotated[list[str] | None, NamesVariables()] = Field(
        None, min_length=1, description="Variables whose original values the intruder knows; by default all compared."
    )


def rank_swapping_record_linkage(
    comparison: Comparison,
    params: RankSwappingLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records that an intruder who knows p finds again after rank swapping.

    Rank swapping keeps the values of each variable, and moves none by more than p percent of the ranks. So with an
    original value x at the ranks l to u of the m masked values s, the masked value of the same record lies between
    s[l - w] and s[u + w], w = floor(p m / 100). The records that lie there in every known variable are candidates, and
    the nearest one of them, by the standardised distance of `distance_record_linkage`, is linked; records exactly as
    near share the link. Where there is no candidate nothing is linked.

    Missing cells: rank swapping leaves them in place, so a record with a missing cell has candidates with it missing.
    A value that no masked record has lies between two ranks, both of which count as its own. Weights are not used.
    Households: where they are declared, one is linked when any of its records is.

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)`` of what the n records (households) earn, and of z^2 more in
    thought, half of them 0 and half 100, with z = 1.96: where the figure may lie in another file of this kind and size.

    Returns
    -------
    Measurement
        `parts`, in percent of the records: ``single``, linked without any choice; ``own_among_candidates``, which is
        100 if the method was rank swapping with this p or less; ``without_candidates``; and ``candidates``, the mean
        number of candidates in percent of the records. `per_record`: the percent that each record is linked.

    Notes
    -----
    O(n**2) in the worst case, of which the windows of one variable are looked at: 2 p percent.
    """
    pairs = pair_records(comparison, "a missing cell is linked to missing ones")
    columns = _positions(pairs, params.known)
    from maskwright_builtin.measures.record_linkage.transparency_kernel import link_within  # heavy: it compiles

    queries, targets, weight = _files(pairs, columns)
    bounds = [_bounds(queries[:, j], targets[:, j], params.p) for j in range(len(columns))]
    low, high = (np.column_stack([each[side] for each in bounds]) for side in (0, 1))
    # The variable with the fewest records in its windows leaves the fewest to be looked at.
    windows = [_windows(targets[:, j], low[:, j], high[:, j]) for j in range(len(columns))]
    pivot = int(np.argmin([(window[:, 1] - window[:, 0]).sum() for window in windows]))
    order = np.argsort(targets[:, pivot], kind="stable")
    found = np.zeros((len(targets), 4), dtype=np.int64)
    link_within(queries, targets, weight, low, high, order, windows[pivot], found)
    comparison.progress(1.0)
    credit = found[:, 3] / np.maximum(found[:, 1], 1)
    notes = list(pairs.notes)
    if not found[:, 2].all():
        notes.append(
            f"not every record is among its candidates: the masking is not rank swapping with p = {params.p:g}"
        )
    return _measurement(comparison, pairs, credit, found[:, 0], found[:, 2] > 0, notes)


def _bounds(own: Floats, masked: Floats, p: float) -> tuple[Floats, Floats]:
    """Smallest and largest value that a record can have after rank swapping; NaN for missing ones."""
    values = np.sort(masked[~np.isnan(masked)])
    ends = np.full((2, len(own)), np.nan)
    there = ~np.isnan(own)
    if len(values):
        # A product such as 0.07 * 100 may fall short of the whole number it stands for.
        reach = math.floor(p * len(values) / 100.0 * (1.0 + 1e-12))
        first, after = (np.searchsorted(values, own[there], side=side) for side in ("left", "right"))
        is_absent = first == after
        ends[0, there] = values[np.clip(first - is_absent - reach, 0, len(values) - 1)]
        ends[1, there] = values[np.clip(after - 1 + is_absent + reach, 0, len(values) - 1)]
    else:
        ends[0, there], ends[1, there] = np.inf, -np.inf
    return ends[0], ends[1]


def _windows(masked: Floats, low: Floats, high: Floats) -> Integers:
    """Places of the sorted masked values within bounds, missing ones at the end; shape (m, 2)."""
    values = np.sort(masked)
    present = int((~np.isnan(masked)).sum())
    begin, end = np.searchsorted(values[:present], low), np.searchsorted(values[:present], high, side="right")
    is_missing = np.isnan(low)
    return np.column_stack([np.where(is_missing, present, begin), np.where(is_missing, len(values), end)])


class MicroaggregationLinkageParams(BaseModel, extra="forbid", frozen=True):
    """What the intruder knows."""

    groups: Annotated[list[Annotated[list[str], Field(min_length=1)]] | None, NamesVariables()] = Field(
        None,
        min_length=1,
        description="Groups of variables that were microaggregated together, a list of lists of names. By default as "
        "the masked file shows them: a variable joins the first group with which every record still has its equals.",
    )

    @field_validator("groups")
    @classmethod
    def _once(cls, groups: list[list[str]] | None) -> list[list[str]] | None:
        names = [name for group in groups or [] for name in group]
        if len(set(names)) < len(names):
            raise ValueError("a variable is named twice")
        return groups


def microaggregation_record_linkage(
    comparison: Comparison,
    params: MicroaggregationLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records that an intruder who knows the groups of variables finds again after microaggregation.

    Microaggregated group by group of variables, the masked file shows the clusters of each group: records with equal
    values. For every group the intruder takes the cluster whose centroid, the masked values, is nearest to the
    original values of the group, by the standardised distance of `distance_record_linkage`. The records that are in
    the clusters of all groups are the candidates, all with the same masked values; one of them is linked by chance. k
    holds in each group, and several groups together leave fewer than k candidates, often one.

    Missing cells do not count in distances, and equal each other in clusters. Of clusters equally near the one with the
    smaller values counts. Weights are not used. Households: where they are declared, one is linked when any of its
    records is.

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)`` of what the n records (households) earn, and of z^2 more in
    thought, half of them 0 and half 100, with z = 1.96: where the figure may lie in another file of this kind and size.

    Returns
    -------
    Measurement
        `parts`, in percent of the records: ``single``, linked without any choice; ``own_among_candidates``;
        ``without_candidates``; and ``candidates``, the mean number of candidates in percent of the records.
        `per_record`: the percent that each record is linked.

    Notes
    -----
    O(n c p) for c clusters.
    """
    pairs = pair_records(comparison, "a missing cell does not count in distances")
    groups = _groups_shown(pairs) if params.groups is None else [_positions(pairs, group) for group in params.groups]
    from maskwright_builtin.measures.record_linkage.transparency_kernel import nearest_rows  # heavy: it compiles

    m = len(pairs.masked)
    clusters, nearest = (np.empty((m, len(groups)), dtype=np.int64) for _ in range(2))
    for number, columns in enumerate(groups):
        queries, targets, weight = _files(pairs, columns)
        clusters[:, number] = _codes_of_rows(targets)
        rows = targets[np.unique(clusters[:, number], return_index=True)[1]]
        for first in range(0, m, RECORDS_AT_ONCE):
            chosen = slice(first, first + RECORDS_AT_ONCE)
            nearest_rows(queries[chosen], rows, weight, nearest[chosen, number])
            comparison.progress((number + min(first + RECORDS_AT_ONCE, m) / m) / len(groups))
    _, code = np.unique(np.vstack([clusters, nearest]), axis=0, return_inverse=True)
    own, seen = code.ravel()[:m], code.ravel()[m:]
    candidates = np.bincount(own, minlength=int(code.max()) + 1)[seen]
    is_candidate = own == seen
    credit = is_candidate / np.maximum(candidates, 1)
    shown = "; ".join(listed([pairs.names[j] for j in columns]) for columns in groups[:8])
    notes = [*pairs.notes, f"groups of variables{'' if params.groups else ' as the masked file shows them'}: {shown}"]
    return _measurement(comparison, pairs, credit, candidates, is_candidate, notes)


def _codes_of_rows(rows: Floats) -> Integers:
    """Codes equal where rows are, missing cells equal to each other; shape (m,)."""
    columns = [np.unique(column, return_inverse=True)[1].ravel() for column in rows.T]
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _groups_shown(pairs: Pairs) -> list[tuple[int, ...]]:
    """Variables in which, together, no record is alone: those of several groups have records of their own."""
    groups: list[tuple[int, ...]] = []
    for j in range(pairs.p):
        for number, columns in enumerate(groups):
            if np.bincount(_codes_of_rows(pairs.masked[:, [*columns, j]])).min() > 1:
                groups[number] = (*columns, j)
                break
        else:
            groups.append((j,))
    return groups


def _positions(pairs: Pairs, names: Sequence[str] | None) -> tuple[int, ...]:
    if names is None:
        return tuple(range(pairs.p))
    strangers = list(not_compared(names, pairs.names))
    if strangers:
        raise InputError(strangers[0])
    return tuple(pairs.names.index(name) for name in dict.fromkeys(names))


def _files(pairs: Pairs, columns: Sequence[int]) -> tuple[Floats, Floats, Floats]:
    """Originals of the masked records, masked records, and factors of their differences."""
    queries = np.column_stack([pairs.originals(j) for j in columns])
    targets = np.ascontiguousarray(pairs.masked[:, list(columns)])
    deviations = np.array([spread(pairs.original[:, j], ddof=1) for j in columns])
    return queries, targets, np.divide(1.0, deviations, out=np.zeros(len(columns)), where=deviations > 0.0)


def _measurement(
    comparison: Comparison,
    pairs: Pairs,
    credit: Floats,
    candidates: Integers,
    is_candidate: Booleans,
    notes: Sequence[str],
) -> Measurement:
    units = reached(credit, households_of(comparison, pairs))
    shares = {
        "single": is_candidate & (candidates == 1),
        "own_among_candidates": is_candidate,
        "without_candidates": candidates == 0,
        "candidates": candidates / len(credit),
    }
    return Measurement(
        100.0 * float(units.mean()),
        parts={part: 100.0 * float(share.mean()) for part, share in shares.items()},
        per_record=100.0 * credit,
        interval=interval_of_mean(units),
        notes=tuple(notes),
    )


def _known(params: RankSwappingLinkageParams, given: Measurable) -> tuple[str, ...]:
    return tuple(params.known) if params.known else given.compared


def _known_mistakes(params: RankSwappingLinkageParams, given: Measurable) -> Iterator[tuple[str, str]]:
    yield from (("known", problem) for problem in not_compared(params.known or [], given.compared))


def _grouped(params: MicroaggregationLinkageParams, given: Measurable) -> tuple[str, ...]:
    return tuple(name for group in params.groups for name in group) if params.groups else given.compared


def _grouped_mistakes(params: MicroaggregationLinkageParams, given: Measurable) -> Iterator[tuple[str, str]]:
    names = [name for group in params.groups or [] for name in group]
    yield from (("groups", problem) for problem in not_compared(names, given.compared))


RANK_SWAPPING_RECORD_LINKAGE = Measure(
    name="rank_swapping_record_linkage",
    compute=rank_swapping_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=RankSwappingLinkageParams,
    claims=MeasureClaims(
        uses=_known, check=_known_mistakes, counts_households=True, invariant_to={"affine", "records", "columns"}
    ),
    reference="Nin, Herranz and Torra (2008), Rethinking rank swapping to decrease disclosure risk, Data and Knowledge "
    "Engineering 64 (1), 346-364",
    summary="Percent of records found again after rank swapping by an intruder who knows p.",
)

MICROAGGREGATION_RECORD_LINKAGE = Measure(
    name="microaggregation_record_linkage",
    compute=microaggregation_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=MicroaggregationLinkageParams,
    claims=MeasureClaims(
        uses=_grouped, check=_grouped_mistakes, counts_households=True, invariant_to={"affine", "records", "columns"}
    ),
    reference="Nin, Herranz and Torra (2008), On the disclosure risk of multivariate microaggregation, Data and "
    "Knowledge Engineering 67 (3), 399-412",
    summary="Percent of records found again after microaggregation by an intruder who knows the groups of variables.",
)
