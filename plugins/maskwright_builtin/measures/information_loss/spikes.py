"""Spikes: values that many records have, zeros above all, and how much of their share masking takes away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import Field

from maskwright import Comparison, Further, Measure, MeasureClaims, Measurement, Merging
from maskwright_builtin.measures.information_loss.distribution_distances import (
    MISSING_RULE,
    condensed_values,
    ranges_of_values,
    values_by_range,
    values_of_partition,
)
from maskwright_builtin.measures.pairing import (
    WeightedParams,
    chosen,
    listed,
    pair_records,
    weighted_over_parts,
    weights_of,
)
from maskwright_builtin.measures.partition_statistics import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.measures.partition_statistics import Columns, Facts, Request
    from maskwright_builtin.numerics.arrays import Floats, Integers

Both = tuple[float, float]
"""Of the original, and of the masked file."""


class SpikesParams(WeightedParams, extra="forbid", frozen=True):
    """Which values are spikes, and whether records count by their weights."""

    share: float = Field(
        default=0.05,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="Share of the original's values from which on a value is a spike.",
    )
    records: int = Field(
        default=20,
        ge=1,
        strict=True,
        description="Records that a spike has at least: in a small file all are frequent.",
    )
    most: int = Field(
        default=5, ge=1, le=100, strict=True, description="Most frequent values of a file whose share is reported."
    )


@dataclass(frozen=True)
class ValueCounts:
    """Counts of the values of one variable, or sums of weights: in the original, and in the masked file.

    `numbers`: of all values. `distinct`: how many different ones there are. `zeros`: of those that are 0. `frequent`:
    of the most frequent ones, descending. `spikes`: of each spike of the original in both files.
    """

    numbers: Both
    distinct: tuple[int, int] = (0, 0)
    zeros: Both = (0, 0)
    frequent: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    spikes: tuple[Both, ...] = ()

    @classmethod
    def of(
        cls,
        values: Floats,
        records: tuple[Integers, Integers],
        numbers: Both,
        params: SpikesParams,
        weights: tuple[Floats | Integers, Floats | Integers] | None = None,
    ) -> Self:
        """Counts of different values; `records`, `weights`: of each in both files; shape (v,)."""
        zero = values == 0.0
        old, new = records if weights is None else weights
        spikes = (old >= params.share * numbers[0]) & (records[0] >= params.records)
        return cls(
            numbers,
            (int(np.count_nonzero(records[0])), int(np.count_nonzero(records[1]))),
            (float(old[zero].sum()), float(new[zero].sum())),
            (_largest(old, params.most), _largest(new, params.most)),
            tuple(zip(old[spikes].tolist(), new[spikes].tolist(), strict=True)),
        )

    def and_others(self, other: Self, params: SpikesParams) -> Self:
        """The same of these values and of others."""
        frequent = (_largest(np.array(self.frequent[at] + other.frequent[at]), params.most) for at in (0, 1))
        first, second = frequent
        return type(self)(
            self.numbers, (self.distinct[0] + other.distinct[0], self.distinct[1] + other.distinct[1]),
            (self.zeros[0] + other.zeros[0], self.zeros[1] + other.zeros[1]), (first, second),
            self.spikes + other.spikes,
        )  # fmt: skip

    def shares(self, counts: Sequence[float]) -> Floats:
        """Counts in both files as shares of their values; shape (2,)."""
        return np.asarray(np.asarray(counts, dtype=np.float64) / np.asarray(self.numbers))

    @property
    def loss(self) -> float:
        """Percent of the spikes' shares in which both files differ; NaN without a spike."""
        if not self.spikes:
            return float("nan")
        shares = np.array([self.shares(each) for each in self.spikes])
        return 100.0 * float(np.abs(shares[:, 0] - shares[:, 1]).sum() / shares.max(axis=1).sum())


def _largest(counts: Floats | Integers, most: int) -> tuple[float, ...]:
    return tuple(np.sort(counts)[::-1][:most].tolist())


def spikes(comparison: Comparison, params: SpikesParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Percent in which the shares of a variable's spikes differ between the files, mean over the variables with spikes.

        100 sum_v abs(p_v - p'_v) / sum_v max(p_v, p'_v)

    over the spikes v of the original: values that at least 5 % of its records have (`share`), as zeros, usual working
    hours or rounded amounts; p_v is the share of the records with a value that have v. 0 when every spike keeps its
    share, or where there is none; 100 when all are gone. Records need not be paired.

    Weighted: shares of the weights. Missing cells: each file uses its present values.

    Returns
    -------
    Measurement
        `per_variable` holds the measure of each variable with a spike; `parts` the ``largest`` of them, and, as means
        over all variables, the percent of values that are 0 (``zeros_original``, ``zeros_masked``), the number of
        different values (``distinct_original``, ``distinct_masked``), and the percent that have one of their file's
        five most frequent values (``frequent_original``, ``frequent_masked``).
    """
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    weights = weights_of(comparison, "spikes", weighted=params.weighted)
    of_files = (None, None) if weights is None else (weights.original, weights.masked)
    found: dict[str, ValueCounts] = {}
    for j, name in enumerate(pairs.names):
        columns = pairs.original[:, j], pairs.masked[:, j]
        there = [~np.isnan(column) for column in columns]
        present = [column[records] + 0.0 for column, records in zip(columns, there, strict=True)]
        own = [chosen(each, records) for each, records in zip(of_files, there, strict=True)]
        numbers = [len(each) if w is None else float(w.sum()) for each, w in zip(present, own, strict=True)]
        if all(numbers):
            values = np.unique(np.concatenate(present))
            places = [np.searchsorted(values, each) for each in present]
            old, new = (np.bincount(each, minlength=len(values)) for each in places)
            sums = [np.bincount(each, w, len(values)) for each, w in zip(places, own, strict=True)]
            found[name] = ValueCounts.of(
                values, (old, new), (numbers[0], numbers[1]), params, None if weights is None else (sums[0], sums[1])
            )
        comparison.progress((j + 1) / pairs.p)
    return _measured(pairs.names, found, pairs.notes)


def _measured(names: Sequence[str], found: Mapping[str, ValueCounts], about: Sequence[str]) -> Measurement:
    notes = list(about)
    without = [name for name in names if name not in found]
    if without:
        notes.append(f"left out, no value (with weight) in one of the files: {listed(without)}")
    if not found:
        return Measurement(float("nan"), notes=(*notes, "not defined: no variable can be compared"))
    losses = {name: each.loss for name, each in found.items() if each.spikes}
    zeros, frequent, distinct = (
        np.mean([own(each) for each in found.values()], axis=0)
        for own in (
            lambda each: 100.0 * each.shares(each.zeros),
            lambda each: 100.0 * each.shares([sum(own) for own in each.frequent]),
            lambda each: np.array(each.distinct, dtype=np.float64),
        )
    )
    parts = {"largest": max(losses.values(), default=0.0)}
    for what, both in (("zeros", zeros), ("distinct", distinct), ("frequent", frequent)):
        parts |= {f"{what}_original": float(both[0]), f"{what}_masked": float(both[1])}
    value = float(np.mean(list(losses.values()))) if losses else 0.0
    return Measurement(value, parts, losses, notes=tuple(notes))


def counts_of_ranges(columns: Columns, params: SpikesParams, request: Request) -> Facts:
    """Counts of the values of each variable within some ranges."""
    assert request is not None
    found, _ = distinct_rows(columns, ("variable", "range", "value"))
    facts: dict[str, Any] = {}
    for number, name in enumerate(request["edges"]):
        own = found["variable"] == number
        numbers = (request["numbers"][name][0], request["numbers"][name][1])
        old, new = (found[file][own].astype(np.int64) for file in ("old", "new"))
        each = ValueCounts.of(found["value"][own].astype(np.float64), (old, new), numbers, params)
        facts[name] = [each.distinct, each.zeros, each.frequent, each.spikes]
    return facts


def spikes_of_parts(facts: Sequence[Facts], params: SpikesParams, request: Request) -> Measurement | Further:
    """The measure `spikes` of a file in parts."""
    if request is None:
        ranges = ranges_of_values(facts)
        return ranges if ranges.asked["edges"] else _measured(ranges.asked["names"], {}, ranges.asked["notes"])
    found: dict[str, ValueCounts] = {}
    for name in request["edges"]:
        numbers = (request["numbers"][name][0], request["numbers"][name][1])
        total = ValueCounts(numbers)
        for each in facts:
            distinct, zeros, frequent, own = each[name]
            more = ValueCounts(
                numbers, (distinct[0], distinct[1]), (zeros[0], zeros[1]), (tuple(frequent[0]), tuple(frequent[1])),
                tuple((old, new) for old, new in own),
            )  # fmt: skip
            total = total.and_others(more, params)
        found[name] = total
    return _measured(request["names"], found, request["notes"])


SPIKES_OVER_PARTS = Merging(
    partial=values_of_partition, merged=spikes_of_parts, condensed=condensed_values, rows=values_by_range,
    counted=counts_of_ranges,
    refused=weighted_over_parts,
)  # fmt: skip

SPIKES = Measure(
    name="spikes",
    compute=spikes,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=SpikesParams,
    merging=SPIKES_OVER_PARTS,
    claims=MeasureClaims(compares_unpaired=True, invariant_to={"records", "columns"}),
    reference="Hundepool et al. (2012), Statistical Disclosure Control, Wiley, section 3.5: zeros and other special "
    "values; the share is the Jaccard distance of the two histograms of spikes",
    summary="Change of the shares of values that many records have: zeros, usual hours, rounded amounts.",
)
