"""An intruder who knows the edits: what they and the published values give away of the masked ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import (
    Column,
    Comparison,
    Cost,
    InputError,
    Measure,
    MeasureClaims,
    Measurement,
    NamesVariables,
    plural,
    project,
)
from maskwright_builtin.measures.attribute_disclosure.edit_bounds import EditBounds
from maskwright_builtin.measures.pairing import largest_of_household, listed, spread
from maskwright_builtin.measures.record_linkage.distance_record_linkage import (
    DistanceRecordLinkageParams,
    distance_record_linkage,
)
from maskwright_builtin.measures.record_linkage.known_variables import KnownVariablesParams, known_mistakes
from maskwright_builtin.measures.uncertainty import MeanOverVariables

if TYPE_CHECKING:
    from maskwright import Dataset
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers

WIDTHS = 10
ROUNDING = 1e-9
"""In standard deviations: an interval as narrow as this is a point."""


class EditKnowledgeDisclosureParams(KnownVariablesParams, extra="forbid", frozen=True):
    """What is published unmasked, and what the intruder knows for the linkage."""

    unmasked: Annotated[Annotated[list[str], Field(min_length=1)] | None, NamesVariables()] = Field(
        None,
        description="Numeric variables published as they are. Default: those equal in all records of both files.",
    )


def edit_knowledge_disclosure(
    comparison: Comparison, params: EditKnowledgeDisclosureParams, rng: np.random.Generator
) -> Measurement:
    """Percent of masked values that the edits and the values published unmasked pin down.

    Original records obey the edits, and the intruder knows these. From the variables published unmasked follows an
    interval ``[l, u]`` for each original value of a masked variable: ``a + b == total`` with total and a unmasked gives
    b, ``x <= total`` bounds x, conditions apply where published values decide them. Equalities are solved exactly and
    the rest is interval propagation, which may leave intervals wider than linear programming would, never too narrow;
    ends are moved inwards to the published decimals. Masked values imply nothing: they obey the edits by construction.

    A value is disclosed at t percent when its interval holds it and half the width is at most t percent of the original
    variable's standard deviation (divisor n); the measure is the mean over t = 1..10 and over the masked variables that
    edits name. Then the intruder moves every masked record that breaks edits to the nearest one that does not and has
    its unmasked values, every value still outside its interval to the nearest end, and links records with what results.

    Missing cells: a missing unmasked value implies nothing, a missing original counts for nothing. Weights are not
    used. Where households are declared, households are counted, disclosed when any of their values
    is. With no variable left masked everything is known, and the measure is 100; with no edit on a masked variable 0.

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)`` of what the n records (households) contribute and of z^2
    more in thought, half of them 0 and half 100, with z = 1.96; for plain hits and misses that is Agresti and
    Coull's. It says where the figure may lie in another file of this kind and size, with records drawn
    independently from a large population.

    Returns
    -------
    Measurement
        `parts` in percent of the masked values of variables in edits: ``determined``, the interval is one point;
        ``bounded``, finite at both ends; ``one_sided``, at one; ``held``, originals inside their interval, of those
        with any end (less than 100 where originals violate edits); ``percent_1`` .. ``percent_10``; and ``linkage`` and
        ``linkage_with_edits``, distance_record_linkage with the masked values and with the moved ones.
        `per_variable`: the measure for each masked variable compared. `per_record`: its mean over the masked variables.

    Raises
    ------
    InputError
        Unknown variables, files that cannot be paired.
    """
    linkage = DistanceRecordLinkageParams.model_validate({"known": params.known, "scenarios": params.scenarios})
    plain = distance_record_linkage(comparison, linkage, rng)
    values = _originals(comparison)
    published = _published(comparison, params.unmasked, values)
    hidden = _hidden(comparison, values, published)
    notes = [f"published unmasked: {listed(published) if published else 'no numeric variable'}"]
    if len(published) == len(values):
        everything = np.full(len(comparison.masked), 100.0)
        notes.append("no variable is masked: every value is known")
        return Measurement(100.0, parts={"linkage": plain.value}, per_record=everything, notes=tuple(notes))
    if not hidden:
        notes.append("no edit names a masked variable: the edits give nothing away")
        nothing = np.zeros(len(comparison.masked))
        return Measurement(0.0, parts={"linkage": plain.value}, per_record=nothing, notes=tuple(notes))
    bounds = _implied(comparison, values, published)
    if bounds.unused:
        notes.append(f"edits with conditions that imply no bounds here: {listed(bounds.unused)}")
    if bounds.contradicted.any():
        notes.append(
            f"edits are violated by unmasked values alone in {plural(int(bounds.contradicted.sum()), 'record')}; "
            "nothing is implied there"
        )
    households = comparison.masked_households()
    found = {name: _exposed(values[name], bounds.low[name], bounds.high[name], households) for name in hidden}
    usable = [one for one in found.values() if one.compared.any()]
    if not usable:
        notes.append("not defined: no masked variable has a value")
        return Measurement(float("nan"), parts={"linkage": plain.value}, notes=tuple(notes))
    moved = replace(comparison, masked=_moved(comparison, bounds, published, hidden))
    parts = {part: float(np.mean([one.parts[part] for one in usable])) for part in usable[0].parts}
    parts |= {"linkage": plain.value, "linkage_with_edits": distance_record_linkage(moved, linkage, rng).value}
    determined = [name for name in hidden if found[name].parts["determined"] > 0.0]
    if determined:
        notes.append(f"edits determine values of {listed(determined)} from those published unmasked")
    contributions = MeanOverVariables(len(comparison.masked), households)
    for one in usable:
        contributions.add(one.counts / WIDTHS, one.compared)
    with np.errstate(invalid="ignore"):
        per_record = sum(100.0 / WIDTHS * one.widths for one in usable) / sum(one.compared for one in usable)
    return Measurement(
        float(np.mean([one.value for one in usable])),
        parts=parts,
        per_variable={name: one.value for name, one in found.items() if name in comparison.variables},
        per_record=np.asarray(per_record),
        interval=contributions.interval(),
        notes=(*notes, *plain.notes),
    )


def edits_known(comparison: Comparison) -> Comparison:
    """The comparison of an intruder who knows the edits: masked records moved to where these leave room for them."""
    values = _originals(comparison)
    published = _published(comparison, None, values)
    hidden = _hidden(comparison, values, published)
    if not hidden:
        return comparison
    return replace(comparison, masked=_moved(comparison, _implied(comparison, values, published), published, hidden))


def _originals(comparison: Comparison) -> dict[str, Floats]:
    """Original values of the masked records by name of numeric variable, NaN where missing; shape (m,)."""
    origin = comparison.masked.origin if comparison.origin is None else comparison.origin
    found = {}
    for column in comparison.original:
        name, masked = column.variable.name, comparison.masked
        if column.variable.is_numeric and name in masked and masked[name].variable.is_numeric:
            values = np.where(column.missing, np.nan, column.values)
            found[name] = values if origin is None else values[origin]
    return found


def _hidden(comparison: Comparison, values: dict[str, Floats], published: list[str]) -> list[str]:
    return [name for name in values if name not in published and name in comparison.edits.variables]


def _published(comparison: Comparison, declared: list[str] | None, values: dict[str, Floats]) -> list[str]:
    if declared is not None:
        wrong = [name for name in declared if comparison.masked[name].name not in values]
        if wrong:
            raise InputError(f"edit_knowledge_disclosure: {listed(wrong)} is no numeric variable of both files")
        return declared
    return [
        name
        for name, original in values.items()
        if np.array_equal(original, np.where(comparison.masked[name].missing, np.nan, comparison.masked[name].values),
                          equal_nan=True)
    ]  # fmt: skip


def _implied(comparison: Comparison, values: dict[str, Floats], published: list[str]) -> EditBounds:
    low: dict[str, Floats] = {}
    high: dict[str, Floats] = {}
    for name in values:
        column = comparison.masked[name]
        variable = comparison.original[name].variable
        known = (~column.missing) & (name in published)
        least = -np.inf if variable.lower is None else variable.lower
        most = np.inf if variable.upper is None else variable.upper
        low[name], high[name] = np.where(known, column.values, least), np.where(known, column.values, most)
    bounds = EditBounds(comparison.edits, low, high)
    for name in values:
        decimals = comparison.original[name].variable.decimals
        if decimals is not None and name not in published:
            # The published decimals are known too: ends move inwards to the grid, a hair being rounding.
            unit = 10.0**decimals
            first = np.ceil(bounds.low[name] * unit - 1e-6) / unit
            last = np.floor(bounds.high[name] * unit + 1e-6) / unit
            empty = first > last
            bounds.low[name] = np.where(empty, bounds.low[name], first)
            bounds.high[name] = np.where(empty, bounds.high[name], last)
    return bounds


@dataclass(frozen=True, eq=False)
class _Exposed:
    """One masked variable: shares in percent, and at how many of the ten widths each record is disclosed.

    `counts` are those of the records compared, or of their households.
    """

    value: float
    parts: dict[str, float]
    widths: Integers
    compared: Booleans
    counts: Integers


def _exposed(original: Floats, low: Floats, high: Floats, households: Integers | None) -> _Exposed:
    compared = ~np.isnan(original)
    widths = np.zeros(len(original), dtype=np.int64)
    if not compared.any():
        return _Exposed(0.0, {"determined": 0.0}, widths, compared, widths[compared])
    deviation = spread(original, ddof=0)
    slack = ROUNDING * deviation + 1e-12 * np.abs(np.where(compared, original, 0.0))
    held = (low - slack <= original) & (original <= high + slack)
    width = high - low
    point = width <= 2.0 * slack
    reach = np.arange(1, WIDTHS + 1) / 100.0 * deviation
    narrow = np.where(point, WIDTHS, WIDTHS - np.searchsorted(reach, width / 2.0, side="left"))
    widths[compared] = np.where(held, narrow, 0)[compared]
    counts = widths[compared]
    if households is not None:
        counts = largest_of_household(counts, households[compared])
    ends = np.isfinite(low).astype(np.int64) + np.isfinite(high)
    some = compared & (ends > 0)
    shares = {
        "determined": point & compared,
        "bounded": (ends == 2) & compared,
        "one_sided": (ends == 1) & compared,
    }
    parts = {part: 100.0 * float(chosen[compared].mean()) for part, chosen in shares.items()}
    parts["held"] = 100.0 * float(held[some].mean()) if some.any() else 100.0
    by_width = {f"percent_{t}": 100.0 * float((counts > WIDTHS - t).mean()) for t in range(1, WIDTHS + 1)}
    return _Exposed(float(np.mean(list(by_width.values()))), parts | by_width, widths, compared, counts)


def _moved(comparison: Comparison, bounds: EditBounds, published: list[str], hidden: list[str]) -> Dataset:
    """The masked file with its records moved onto the edits, and every masked value into its interval."""
    columns = {name: comparison.masked[name] for name in (*hidden, *published)}
    hidden = [name for name in hidden if not columns[name].missing.all()]
    if not hidden:
        return comparison.masked
    values = {name: np.where(column.missing, np.nan, column.values) for name, column in columns.items()}
    points, _ = project(
        np.column_stack([values[name] for name in hidden]), [columns[name].variable for name in hidden],
        comparison.edits, companions={name: values[name] for name in published},
    )  # fmt: skip
    changed = {}
    for name, found in zip(hidden, points.T, strict=True):
        column, ends = columns[name], (bounds.low[name], bounds.high[name])
        kept = np.where(column.missing, column.values, np.clip(found, *ends))
        changed[name] = Column(column.variable, kept, column.missing)
    return comparison.masked.with_columns(changed)


EDIT_KNOWLEDGE_DISCLOSURE = Measure(
    name="edit_knowledge_disclosure",
    compute=edit_knowledge_disclosure,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=EditKnowledgeDisclosureParams,
    claims=MeasureClaims(cost=Cost(cell=5.0), counts_households=True, check=known_mistakes, invariant_to={"records"}),
    reference="Torra, Cano and Navarro-Arribas, edit constraints and microaggregation, for the edits; the attack is "
    "interval propagation, Moore, Kearfott and Cloud (2009), Introduction to Interval Analysis, SIAM",
    summary="Percent of masked values that edits and unmasked values pin down, and what that adds to linkage.",
)
