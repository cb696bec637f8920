"""Linkage of nearest records, in each scenario of known variables, with the households of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from pydantic import Field, model_validator

from maskwright import Comparison, Measurement, give_back_memory
from maskwright_builtin.measures.pairing import households_of, listed
from maskwright_builtin.measures.record_linkage.known_variables import (
    KnownVariablesParams,
    added_by_variable,
    parts_of,
    scenarios_of,
)
from maskwright_builtin.measures.record_linkage.nearest_records import (
    MISSING_RULE,
    PAIRING_DESCRIPTION,
    Pairing,
    comparable_values,
    count_nearer,
    find_nearest,
    pairs_of,
    squared_distances,
)
from maskwright_builtin.measures.uncertainty import interval_of_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Floats, Integers

    Files = tuple[Floats, Floats, Floats]
    """Original of shape (n, d), masked of shape (m, d), and the factor of each difference, (d,)."""


LARGEST_VISITED = 300
"""Households with more targets are searched like files; in smaller ones visiting every pair is faster."""

Household = Literal["any", "all"]

HOUSEHOLD_DESCRIPTION = (
    "Where households are declared, a household counts as linked when 'any' of its records is, or "
    "only when 'all' are; chances of its records are multiplied as independent ones."
)


def relatives(households: Integers, target_households: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Pairs of queries and targets of one household: each time some queries and one target for each of them.

    As many times as the largest household has targets, so that memory stays O(n); not those of `large_households`.
    """
    order, begin, end = _members(households, target_households)
    size = end - begin
    size[size > LARGEST_VISITED] = 0
    for step in range(int(size.max(initial=0))):
        chosen = np.flatnonzero(step < size)
        yield chosen, order[begin[chosen] + step]


def large_households(households: Integers, target_households: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Households of more than `LARGEST_VISITED` targets: positions of the queries, and of the targets, of each."""
    order, begin, end = _members(households, target_households)
    large = np.flatnonzero(end - begin > LARGEST_VISITED)
    large = large[np.argsort(begin[large], kind="stable")]
    for chosen in np.split(large, np.flatnonzero(np.diff(begin[large])) + 1) if large.size else ():
        yield chosen, np.sort(order[begin[chosen[0]] : end[chosen[0]]])


def _members(households: Integers, target_households: Integers) -> tuple[Integers, Integers, Integers]:
    """Targets in the order of their households, and where those of each query begin and end."""
    order = np.argsort(target_households, kind="stable")
    members = target_households[order]
    begin, end = (np.searchsorted(members, households, side=side) for side in ("left", "right"))
    return order, begin, end


def reached(chance: Floats, households: Integers | None, household: Household = "any") -> Floats:
    """Chance that each record, or each household, is reached; shape (u,).

    `chance`: of each masked record; shape (m,). `households`: household of each masked record; None when none are
    declared; shape (m,).
    """
    if households is None:
        return chance
    present, unit = np.unique(households, return_inverse=True)
    product = np.ones(present.size)
    np.multiply.at(product, unit, chance if household == "all" else 1.0 - chance)
    return product if household == "all" else 1.0 - product


Number = TypeVar("Number", bound=np.generic)

PAIRS_AT_ONCE = 1 << 16


class LinkageParams(KnownVariablesParams, extra="forbid", frozen=True):
    """What the intruder knows and how records are linked."""

    direction: Literal["original_to_masked", "masked_to_original"] = Field(
        "original_to_masked", description="Which file's records are linked to the nearest record of the other file."
    )
    ties: Literal["share", "lowest_index"] = Field(
        "share",
        description="Several records exactly as near: 'share' counts the expected success of drawing one of them, "
        "'lowest_index' takes the first in the file.",
    )
    nearest: int = Field(
        1,
        ge=1,
        le=10,
        description="A record counts as linked when its counterpart is among this many nearest records; 2 is "
        "second-nearest linkage.",
    )
    pairing: Pairing = Field("identity", description=PAIRING_DESCRIPTION)
    household: Household = Field("any", description=HOUSEHOLD_DESCRIPTION)

    @model_validator(mode="after")
    def _ties_shared_beyond_the_nearest(self) -> LinkageParams:
        if self.nearest > 1 and self.ties != "share":
            raise ValueError("nearest above 1 needs ties: share")
        return self


def chance_of_link(
    original: Floats,
    masked: Floats,
    weight: Floats,
    origin: Integers,
    household: Integers,
    params: LinkageParams,
    progress: Progress,
) -> Floats:
    """Chance that each masked record and its original are linked; shape (m,).

    A link is correct when it reaches a record of the same household.

    `original`, `masked`: shape (n, d) and (m, d). `weight`: shape (d,). `origin`: shape (m,). `household`: of each
    original record; ``arange(n)`` when none are declared: each record is a household of its own; shape (n,).
    """
    if params.direction == "masked_to_original":
        queries, targets, households, target_households = masked, original, household[origin], household
    else:
        own = _records(household, origin)
        queries, targets, households, target_households = _records(original, origin), masked, own, own
    nearest = _nearest_relatives(queries, targets, weight, households, target_households)
    found = count_nearer(queries, targets, weight, nearest.distance, nearest.position, params.nearest, progress)
    if params.ties == "lowest_index":
        return np.where((found.ties > 0) & (target_households[found.first] == households), 1.0, 0.0)
    return _chance(found.nearer, found.ties, nearest.count, params.nearest)


def _records(values: NDArray[Number], chosen: Integers) -> NDArray[Number]:
    """Records of a file, (m, ...); not copied where they are all of them in their order."""
    is_whole = len(chosen) == len(values) and np.array_equal(chosen, np.arange(len(chosen)))
    return values if is_whole else values[chosen]


def chance_of_own(nearer: Integers, ties: Integers, nearest: int) -> Floats:
    """Chance that a record is linked to its own counterpart; shape (q,).

    `nearer`, `ties`: records strictly nearer than its counterpart, and those exactly as near, it among them; shape
    (q,).
    """
    return _chance(nearer, ties, np.ones(len(ties), dtype=np.int64), nearest)


def _chance(nearer: Integers, ties: Integers, own: Integers, nearest: int) -> Floats:
    # One minus the chance that none of the places left goes to a relative, drawn without replacement among the ties.
    missed = np.ones(len(ties))
    left = nearest - nearer
    for place in range(nearest):
        others = np.maximum(ties - own - place, 0) / np.maximum(ties - place, 1)
        missed = np.where((place < left) & (ties > 0), missed * others, missed)
    return 1.0 - missed


@dataclass(frozen=True, eq=False)
class _Relatives:
    """The targets of a query's household that are nearest to it: their distance, one position, how many they are."""

    distance: Floats
    position: Integers
    count: Integers


def _nearest_relatives(
    queries: Floats, targets: Floats, weight: Floats, households: Integers, target_households: Integers
) -> _Relatives:
    distance = np.full(len(queries), np.inf)
    position, count = np.zeros(len(queries), dtype=np.int64), np.zeros(len(queries), dtype=np.int64)
    for chosen, relative in relatives(households, target_households):
        found = _squared_distances(queries, chosen, targets, relative, weight)
        nearer, tied = found < distance[chosen], found == distance[chosen]
        count[chosen] = np.where(nearer, 1, count[chosen] + tied)
        position[chosen[nearer]] = relative[nearer]
        distance[chosen] = np.minimum(distance[chosen], found)
    for chosen, members in large_households(households, target_households):
        some, others = queries[chosen], targets[members]
        nearest = find_nearest(some, others, weight, np.zeros(len(chosen), dtype=np.int64), no_progress)
        limit = squared_distances(some, others[nearest], weight)
        distance[chosen], position[chosen] = limit, members[nearest]
        count[chosen] = count_nearer(some, others, weight, limit, nearest, 1, no_progress).ties
    return _Relatives(distance, position, count)


def _squared_distances(
    queries: Floats, chosen: Integers, targets: Floats, relative: Integers, weight: Floats
) -> Floats:
    """`squared_distances` of some queries to one target each, some at a time: no second copy of both files."""
    found = np.empty(len(chosen))
    for start in range(0, len(chosen), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        found[part] = squared_distances(queries[chosen[part]], targets[relative[part]], weight)
    return found


def no_progress(share: float) -> None:
    """Progress of a step within a step, which is not shown."""


def _as_they_are(original: Floats, masked: Floats, weight: Floats) -> Files:
    return original, masked, weight


def _columns(values: Floats, chosen: list[int]) -> Floats:
    """Columns of a file, (n, d); not copied where they are next to each other, as those known first are."""
    return values[:, chosen[0] : chosen[-1] + 1] if np.all(np.diff(chosen) == 1) else values[:, chosen]


def measure_linkage(
    comparison: Comparison,
    params: LinkageParams,
    measure: str,
    *,
    own: bool = False,
    space: Callable[[Floats, Floats, Floats], Files] | None = None,
) -> Measurement:
    """Percent linked, mean over scenarios, as `distance_record_linkage` documents it."""
    scenarios = scenarios_of(params, comparison, measure)
    used = sorted({j for scenario in scenarios for j in scenario.columns})
    pairs = pairs_of(comparison, MISSING_RULE, params.pairing, [comparison.variables[j] for j in used])
    values = comparable_values(comparison, pairs, range(len(used)), own=own)
    notes = list(pairs.notes)
    origin = np.arange(len(pairs.masked)) if pairs.origin is None else pairs.origin
    households = households_of(comparison, pairs)
    del pairs  # both files once more
    if values.constant:
        notes.append(f"constant in the original file and left out of the distances: {listed(values.constant)}")
    household = np.arange(len(values.original)) if comparison.households is None else comparison.households
    percents: list[float] = []
    per_record = np.zeros(len(origin))
    units = 0.0 * reached(per_record, households)
    for done, scenario in enumerate(scenarios):

        def progress(share: float, done: int = done) -> None:
            comparison.progress((done + share) / len(scenarios))

        columns = [used.index(j) for j in scenario.columns]
        files = _columns(values.original, columns), _columns(values.masked, columns), values.weight[columns]
        chance = chance_of_link(*(space or _as_they_are)(*files), origin, household, params, progress)
        linked = reached(chance, households, params.household)
        percents.append(100.0 * float(linked.mean()))
        units += linked / len(scenarios)
        per_record += 100.0 * chance / len(scenarios)
        give_back_memory()
    return Measurement(
        float(np.mean(percents)),
        parts=parts_of(scenarios, percents),
        per_variable=added_by_variable(scenarios, percents, comparison.variables),
        per_record=per_record,
        interval=interval_of_mean(units),
        notes=tuple(notes),
    )
