"""Distance-based record linkage over keys of any type together, by Gower's distance."""

from __future__ import annotations

from functools import partial
from math import lcm
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Cost, InputError, Measure, MeasureClaims, Measurement, MeasurePart, NamesVariables
from maskwright_builtin.measures.key_variables.key_classes import (
    KeySetsParams,
    in_words,
    key_set_mistakes,
    key_set_names,
    set_parts,
    worst_of_sets,
)
from maskwright_builtin.measures.record_linkage.linkage import HOUSEHOLD_DESCRIPTION, Household, reached
from maskwright_builtin.measures.record_linkage.mixed.mixed_keys import mixed_keys, rows_of
from maskwright_builtin.measures.record_linkage.mixed.nearest_rows import link
from maskwright_builtin.measures.uncertainty import interval_of_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Measurable
    from maskwright_builtin.measures.record_linkage.mixed.mixed_keys import MixedKey, Ordered
    from maskwright_builtin.measures.record_linkage.mixed.nearest_rows import Links
    from maskwright_builtin.measures.record_linkage.mixed.row_costs_kernel import Costs

MOST_KEYS = 60
MOST_SHARES = 24
"""With more keys, means over different numbers of keys are equal only up to rounding."""
LARGEST_COST = 2.0**51
"""Whole numbers below are exact in binary64, sums of them too."""


class MixedKeysParams(KeySetsParams, extra="forbid", frozen=True):
    """What the intruder knows, and which file is searched."""

    nominal: Annotated[list[str], NamesVariables()] = Field(
        default_factory=list,
        description="Keys whose values are names: numbers that are codes, or ordered categories whose order is not to "
        "count. They are equal or not.",
    )
    direction: Literal["original_to_masked", "masked_to_original"] = Field(
        "original_to_masked", description="Which file's records are linked to records of the other file."
    )
    household: Household = Field("any", description=HOUSEHOLD_DESCRIPTION)


class MixedRecordLinkageParams(MixedKeysParams, extra="forbid", frozen=True):
    """What the intruder knows, and how records are linked."""

    ordered: Literal["steps", "mid_ranks", "equality"] = Field(
        "steps",
        description="Distance of ordered categories. 'steps': steps over the number of categories less 1. 'mid_ranks': "
        "difference of their mean ranks in the original over the range of those (Podani). 'equality': 0 or 1.",
    )
    missing: Literal["left_out", "distant"] = Field(
        "left_out",
        description="A key that is missing in either record. 'left_out': the distance is the mean over the other "
        "keys (Gower). 'distant': 1, so that emptied cells give the intruder nothing.",
    )


def mixed_record_linkage(
    comparison: Comparison,
    params: MixedRecordLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records whose nearest record of the other file, on keys of any type, is their own counterpart.

    The distance is Gower's, the mean over the keys of

        nominal   0 where equal, else 1
        ordered   steps / (categories - 1), or mean ranks
        numeric   |difference| / range of the original

    A value is at distance 0 from a published band or group that it lies in, else as far as from the nearest member:
    recoded and generalised variables are compared as what their categories stand for. Distances are computed as whole
    numbers over a common denominator, so that ties are exact; where ranges are too large for one, differences of
    numbers are rounded to about 1e-12 of the range. The numbers of other files may lie outside of the original's range
    and then count more than 1. Every one of t nearest records has the share 1 / t of the link.

    Missing cells, suppressed ones among them, are left out of both sums of the mean, or at distance 1 (`missing`).
    Records with no key in common are never linked. Weights are not used: the risk is that of the records released.

    Households: where they are declared a link is correct when it reaches any record of the same household, and the
    value is the percent of households of which at least one record is linked, or all are (`household`).

    The intruder knows that the person is in the file: of a sampled masked file, the originals of its records are
    linked, or they are linked to all of the original.

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)``, as in distance_record_linkage.

    Returns
    -------
    Measurement
        `parts`: ``linkageQ``, the value with its number of keys Q; ``correct_links``, the expected number of records
        linked to their own; ``mean_ties``, how many records are nearest, mean over the records that have any.
        `per_record`: percent earned by each masked record.

    Raises
    ------
    InputError
        No keys, unknown ones, too many; no records.
    """
    return worst_of_sets(comparison, params, "mixed_record_linkage", partial(_on_keys, comparison, params))


def _on_keys(comparison: Comparison, params: MixedRecordLinkageParams, keys: tuple[str, ...]) -> Measurement:
    files = MixedFiles(comparison, params, keys, "mixed_record_linkage", params.ordered)
    costs = gower_costs(files.keys, params.missing)
    found = files.link(costs)
    gone = "left out of both sums" if params.missing == "left_out" else "at distance 1"
    notes = [*files.notes, f"a key missing in either record is {gone}"] if files.missing else files.notes
    return files.measurement(found, notes)


class MixedFiles:
    """Both files ready to be linked on some keys."""

    def __init__(
        self, comparison: Comparison, params: MixedKeysParams, keys: tuple[str, ...], measure: str, ordered: Ordered
    ) -> None:
        """Read the keys of both files."""
        comparison.require_pairs(f"{measure} compares each masked record with its own original")
        if len(keys) > MOST_KEYS:
            raise InputError(f"{measure}: {len(keys)} keys are too many; name at most {MOST_KEYS} as `keys`")
        self.keys, notes = mixed_keys(comparison, keys, params.nominal, ordered)
        stray = [name for name in params.nominal if name not in keys]
        if stray and params.key_sets is None:
            raise InputError(f"{measure}: `nominal` names {in_words(tuple(stray))}, not among the keys")
        origin = comparison.origin if comparison.origin is not None else comparison.masked.origin
        self.origin = np.arange(len(comparison.masked)) if origin is None else origin
        household = np.arange(len(comparison.original)) if comparison.households is None else comparison.households
        self.own_households = None if comparison.households is None else household[self.origin]
        originals, masked = [key.original for key in self.keys], [key.masked for key in self.keys]
        if params.direction == "original_to_masked":
            self.queries, self.targets = rows_of(originals, origin), rows_of(masked)
            self.households = household[self.origin], household[self.origin]
        else:
            self.queries, self.targets = rows_of(masked), rows_of(originals)
            self.households = household[self.origin], household
        self.of_masked = params.direction == "masked_to_original"
        self.household: Household = params.household
        self.progress = comparison.progress
        searched = "original" if self.of_masked else "masked"
        self.missing = any((column.codes < 0).any() for column in (*originals, *masked))
        how = ", ".join(f"{key.name} ({key.kind})" for key in self.keys)
        self.notes = [f"keys: {how}; the {searched} file is searched", *notes]

    def link(self, costs: Costs) -> Links:
        """Link every record."""
        return link(self.queries, self.targets, costs, self.households, self.progress)

    def measurement(self, found: Links, notes: Sequence[str], parts: dict[str, float] | None = None) -> Measurement:
        """The measurement of the links."""
        linked = reached(found.chance, self.own_households, self.household)
        value = 100.0 * float(linked.mean())
        linkable = found.ties[found.ties > 0]
        names = tuple(key.name for key in self.keys)
        return Measurement(
            value,
            parts={
                f"linkage{len(names)}": value,
                "correct_links": float(found.chance.sum()),
                "mean_ties": float(linkable.mean()) if linkable.size else 0.0,
                **(parts or {}),
            },
            per_record=100.0 * found.chance,
            interval=interval_of_mean(linked),
            notes=tuple(notes),
            sentence=f"An intruder who knows {in_words(names)} of a person in the file and takes the most similar "
            f"record is expected to be right for {found.chance.sum():,.0f} of the {len(found.chance):,} records.",
        )


def gower_costs(keys: Sequence[MixedKey], missing: Literal["left_out", "distant"]) -> Costs:
    """Costs that are Gower distances times a whole number."""
    from maskwright_builtin.measures.record_linkage.mixed.row_costs_kernel import Costs

    d = len(keys)
    linear = np.array([key.kind != "nominal" for key in keys])
    span = np.array([key.span for key in keys])
    farthest = sum(max(key.width / key.span, 1.0) if key.kind != "nominal" else 1.0 for key in keys)
    shares = lcm(*range(1, d + 1)) if missing == "left_out" and d <= MOST_SHARES else 1
    most = LARGEST_COST / (shares * farthest)
    whole, rounded = 1, False
    for size in np.sort(span[linear]):
        together = lcm(whole, int(size)) if size == int(size) else 0
        if 0 < together <= most:
            whole = together
        else:
            rounded = True
    scale = float(whole)
    while rounded and 2.0 * scale <= most:
        scale *= 2.0
    nothing = np.zeros(d)
    unit = np.full(d, scale)
    factor = np.array([shares / max(k, 1) if missing == "left_out" else 1.0 for k in range(d + 1)])
    gone = nothing if missing == "left_out" else unit
    return Costs(linear, scale / span, nothing, nothing, np.zeros((1, d)), unit, unit, gone, factor)


def mixed_key_mistakes(params: MixedKeysParams, given: Measurable) -> Iterator[tuple[str, str]]:
    """What is wrong with the keys, given the variables: the parameter, and what it is."""
    yield from key_set_mistakes(params, given)
    keys = key_set_names(params, given)
    stray = [name for name in params.nominal if name not in keys]
    if stray:
        yield "nominal", f"{in_words(tuple(stray))}: not among the keys"


def linkage_parts(params: MixedKeysParams) -> Iterator[MeasurePart]:
    """Parts that thresholds can be set for."""
    yield MeasurePart("correct_links", "records")
    yield MeasurePart("mean_ties", "records", "higher")
    yield from set_parts(params, "percent", "lower", (0.0, 100.0))


MIXED_RECORD_LINKAGE = Measure(
    name="mixed_record_linkage",
    compute=mixed_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=MixedRecordLinkageParams,
    claims=MeasureClaims(
        cost=Cost(cell=3.0),
        uses=key_set_names,
        check=mixed_key_mistakes,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=linkage_parts,
    reference="Gower (1971), A general coefficient of similarity and some of its properties, Biometrics 27(4), "
    "857-871; mean ranks: Podani (1999), Extending Gower's general coefficient of similarity to ordinal characters, "
    "Taxon 48(2), 331-340",
    summary="Percent of records whose nearest record of the other file is their own, on keys of any type.",
)
