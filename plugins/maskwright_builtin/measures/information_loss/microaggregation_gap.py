"""How far a microaggregated file is from the best that any partition into groups of k could do, at most."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, Comparison, Measure, Measurement, Variable, find_partition
from maskwright_builtin.measures.pairing import pair_records

MOST_RECORDS = 5000
"""The linear programme has a row for each."""

MISSING_RULE = "the bound is not defined with missing cells"

STARTS = 8
"""Partitions whose groups the linear programme starts with."""


class MicroaggregationGapParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of the gap."""

    k: int = Field(
        default=3,
        ge=2,
        le=20,
        strict=True,
        description="Smallest number of records of a group, as the file was masked with.",
    )
    precision: float = Field(
        default=1e-3,
        gt=0,
        lt=1,
        description="The bound is sharpened until it is this share below the best that the method can prove.",
    )
    max_rounds: int = Field(
        default=60, ge=1, strict=True, description="Rounds of sharpening. Stopping early leaves a valid, lower bound."
    )


def microaggregation_gap(
    comparison: Comparison, params: MicroaggregationGapParams, rng: np.random.Generator
) -> Measurement:
    """Sum of squared errors above a certified lower bound, in percent of that bound.

        100 (SSE - B) / B

    SSE is that of the standardised variables compared, all together. B is a proven lower bound of the SSE of replacing
    records by the means of groups, whatever partition into groups of at least k records is taken: a file with a gap of
    2 is at most 2 % worse than the best possible one. A file that is not microaggregated with this k, in these
    variables together, may be below the bound; -100 is the original.

    Weights are not used: the bound is of records that count once each.

    Not defined (NaN, with a note) for more than 5,000 records, fewer than 2k, or missing cells.

    Returns
    -------
    Measurement
        Parts: the loss and the bound, both in percent of the total sum of squares as in `sse`, and the rounds.
    """
    pairs = pair_records(comparison, MISSING_RULE)
    masked = pairs.masked
    original = np.stack([pairs.originals(column) for column in range(pairs.p)], axis=1)
    n = len(original)
    empty = np.asarray(np.isnan(original).all(axis=0) & np.isnan(masked).all(axis=0))
    names = [name for name, gone in zip(pairs.names, empty, strict=True) if not gone]
    original, masked = original[:, ~empty], masked[:, ~empty]
    if n > MOST_RECORDS or n < 2 * params.k or np.isnan(original).any() or np.isnan(masked).any():
        why = f"the bound is for 2k to {MOST_RECORDS} records without missing cells in the variables compared"
        return Measurement(float("nan"), notes=(why,))
    center, spread = original.mean(axis=0), original.std(axis=0, ddof=1)
    varies = spread > 1e-12 * np.abs(original).max(axis=0, initial=0.0)
    points = (original[:, varies] - center[varies]) / spread[varies]
    error = float((((masked - original)[:, varies] / spread[varies]) ** 2).sum())
    total = float((points**2).sum())
    if total == 0.0:
        return Measurement(float("nan"), notes=("no variable varies: there is nothing to lose",))

    from maskwright_builtin.partitions.lower_bound.bound import sum_of_squares_bound

    refine = find_partition("refine")
    block = Block(
        points, np.zeros(points.shape, dtype=np.bool_),
        tuple(Variable(name) for name, kept in zip(names, varies, strict=True) if kept),
        center=np.zeros(points.shape[1]), scale=np.ones(points.shape[1]),
    )  # fmt: skip
    starts = [refine.cluster(block, params.k, refine.params(seed=seed), rng) for seed in range(STARTS)]
    found = sum_of_squares_bound(
        points, params.k, starts, precision=params.precision, max_rounds=params.max_rounds,
        progress=comparison.progress,
    )  # fmt: skip
    notes = []
    if found.unfinished:
        notes.append(f"{found.unfinished} searches were cut off: the bound is valid, and could be higher")
    left_out = {
        "without values": [name for name, gone in zip(pairs.names, empty, strict=True) if gone],
        "constant": [name for name, kept in zip(names, varies, strict=True) if not kept],
    }
    notes.extend(f"{', '.join(which)}: {why}, left out" for why, which in left_out.items() if which)
    return Measurement(
        # Equal records can be grouped without loss: any loss is then infinitely far above.
        value=100.0 * (error - found.value) / found.value if found.value > 0 else (0.0 if error == 0 else float("nan")),
        parts={
            "loss": 100.0 * error / total, "lower_bound": 100.0 * found.value / total, "rounds": float(found.rounds),
        },
        notes=tuple(notes) if found.value > 0 or error == 0 else (*notes, "the bound is 0: the gap has no scale"),
    )  # fmt: skip


MICROAGGREGATION_GAP = Measure(
    name="microaggregation_gap",
    compute=microaggregation_gap,
    kind="loss",
    unit="percent",
    range=(-100.0, None),
    params=MicroaggregationGapParams,
    reference="Aloise, Hansen, Rocha and Santi (2014), Journal of Global Optimization 60(2), 165-182",
    summary="How much more a microaggregated file loses than the best partition into groups of k, at most.",
)
