"""Interval disclosure: how often the original value lies in a narrow interval around the masked one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Comparison, Measure, MeasureClaims, Measurement
from maskwright_builtin.measures.pairing import (
    households_of,
    largest_of_household,
    listed,
    numbers_of,
    present_values,
    spread,
)
from maskwright_builtin.measures.record_linkage.nearest_records import PAIRING_DESCRIPTION, Pairing, pairs_of
from maskwright_builtin.measures.uncertainty import MeanOverVariables
from maskwright_builtin.numerics.ordering import stable_order
from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

WIDTHS = tuple(range(1, 11))
"""Half widths of the intervals, in percent."""
MISSING_RULE = "an interval is built on the present masked values and a pair with a missing cell is left out"


class IntervalDisclosureParams(BaseModel, extra="forbid", frozen=True):
    """How the intervals are built."""

    by: Literal["rank", "sd"] = Field(
        "rank",
        description="'rank': the interval reaches p percent of the ranks to each side of the masked value's rank. "
        "'sd': it reaches p percent of the masked variable's standard deviation (divisor n) to each side.",
    )
    pairing: Pairing = Field("identity", description=PAIRING_DESCRIPTION)


def interval_disclosure(
    comparison: Comparison,
    params: IntervalDisclosureParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of original values inside an interval around their masked value, mean over p = 1..10 percent.

    By rank (ICN): with ``s`` the sorted masked values and ``l`` the last position of the masked value, the original
    is disclosed iff ``s[max(0, floor(l - w))] <= x <= s[min(n - 1, floor(l + w))]`` where ``w = n p / 100``.
    By sd (ICD): iff ``abs(x - x') <= p / 100 * sd(x')``, divisor n. Both intervals are closed and p is half the width.

    Missing cells: each variable uses its present pairs; the value is the mean over variables. Weights are not used:
    the risk is that of the records released. Where households are declared, households are counted
    instead of records: one is disclosed when any of its values of the variable is.

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)`` of what the n records (households) contribute and of z^2
    more in thought, half of them 0 and half 100, with z = 1.96; for plain hits and misses that is Agresti and
    Coull's. It says where the figure may lie in another file of this kind and size, with records drawn
    independently from a large population.

    Returns
    -------
    Measurement
        `parts` has ``percent_1`` .. ``percent_10``; `per_variable` the mean over p of each variable; `per_record`
        the mean over p and the variables compared in that record (NaN where none is).
    """
    # Variables are looked at one by one: no copy of both files.
    pairs = pairs_of(comparison, MISSING_RULE, params.pairing, wanted=())
    names = comparison.variables
    households = households_of(comparison, pairs)
    notes = list(pairs.notes)
    disclosed = _disclosed_by_rank if params.by == "rank" else _disclosed_by_sd
    shares: dict[str, Floats] = {}
    unusable: list[str] = []
    points: list[str] = []
    hits = np.zeros(len(pairs.masked))
    compared = np.zeros(len(pairs.masked))
    contributions = MeanOverVariables(len(pairs.masked), households)

    def originals(name: str) -> Floats:
        values = numbers_of(comparison.original[name])
        return values if pairs.origin is None else values[pairs.origin]

    def of_variable(variable: slice) -> Integers:
        name = names[variable.start]
        return disclosed(originals(name), numbers_of(comparison.masked[name]))

    found = in_order(of_variable, [slice(j, j + 1) for j in range(len(names))])
    for j, (name, widths) in enumerate(zip(names, found, strict=True)):
        after = numbers_of(comparison.masked[name])
        masked = present_values(after)
        both = ~(np.isnan(originals(name)) | np.isnan(after))
        comparison.progress((j + 1) / len(names))
        if not both.any():
            unusable.append(name)
            continue
        if masked.min() == masked.max():
            points.append(name)
        # The intervals are nested: one of a width holds some value of the household if its widest count reaches there.
        counted = widths[both] if households is None else largest_of_household(widths[both], households[both])
        shares[name] = 100.0 * np.cumsum(np.bincount(10 - counted, minlength=11))[:10] / counted.size
        contributions.add(counted / len(WIDTHS), both)
        hits += 10.0 * widths
        compared += both
    if points:
        notes.append(f"constant in the masked file, the interval is a single point: {listed(points)}")
    if unusable:
        notes.append(f"left out, no record has a value in both files: {listed(unusable)}")
    if not shares:
        notes.append("not defined: no variable can be compared")
        return Measurement(float("nan"), notes=tuple(notes))
    by_width = np.mean(list(shares.values()), axis=0)
    with np.errstate(invalid="ignore"):
        per_record = hits / compared
    return Measurement(
        float(by_width.mean()),
        parts={f"percent_{width}": float(share) for width, share in zip(WIDTHS, by_width, strict=True)},
        per_variable={name: float(share.mean()) for name, share in shares.items()},
        per_record=per_record,
        interval=contributions.interval(),
        notes=tuple(notes),
    )


def _disclosed_by_rank(original: Floats, masked: Floats) -> Integers:
    """For how many of the ten widths each original is inside, 0 where a value is missing; shape (m,)."""
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.measures.attribute_disclosure.rank_intervals_kernel import disclosed_by_rank

    n = len(present_values(masked))
    # In the order of the masked values, neighbours in rank are neighbours in memory.
    # What is measured is read-only, for which the kernel would be compiled a second time.
    order = stable_order(masked.copy())[:n]
    below = np.array([-(-n * width // 100) for width in WIDTHS])
    above = np.array([n * width // 100 for width in WIDTHS])
    widths = np.zeros(len(masked), dtype=np.int64)
    widths[order] = disclosed_by_rank(original[order], masked[order], below, above)
    return widths


def _disclosed_by_sd(original: Floats, masked: Floats) -> Integers:
    """For how many of the ten widths each original is inside, 0 where a value is missing; shape (m,)."""
    reach = np.array(WIDTHS) / 100.0 * spread(masked, ddof=0)
    return np.asarray(10 - np.searchsorted(reach, np.abs(original - masked), side="left"), dtype=np.int64)


INTERVAL_DISCLOSURE = Measure(
    name="interval_disclosure",
    compute=interval_disclosure,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=IntervalDisclosureParams,
    claims=MeasureClaims(counts_households=True, invariant_to={"affine", "records", "columns"}),
    reference="Mateo-Sanz, doctoral thesis (in Catalan), chapter 6: ICN (rank) and ICD (standard deviation), as its "
    "published tables compute them; with `pairing: nearest` also in their pairing",
    summary="Percent of original values inside narrow intervals (1 to 10 percent) around their masked value.",
)
