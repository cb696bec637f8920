"""The chance that each masked record and its own original are linked when the nearest records are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from pydantic import Field, model_validator

from maskwright_builtin.measures.record_linkage.known_variables import KnownVariablesParams
from maskwright_builtin.measures.record_linkage.nearest_pairing import PAIRING_DESCRIPTION, Pairing
from maskwright_builtin.measures.record_linkage.nearest_records import count_nearer, find_nearest, squared_distances
from maskwright_builtin.measures.record_linkage.relatives import (
    HOUSEHOLD_DESCRIPTION,
    Household,
    large_households,
    relatives,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Progress


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
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    weight: NDArray[np.float64],
    origin: NDArray[np.int64],
    household: NDArray[np.int64],
    params: LinkageParams,
    progress: Progress,
) -> NDArray[np.float64]:
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


def _records(values: NDArray[Number], chosen: NDArray[np.int64]) -> NDArray[Number]:
    """Records of a file, (m, ...); not copied where they are all of them in their order."""
    is_whole = len(chosen) == len(values) and np.array_equal(chosen, np.arange(len(chosen)))
    return values if is_whole else values[chosen]


def chance_of_own(nearer: NDArray[np.int64], ties: NDArray[np.int64], nearest: int) -> NDArray[np.float64]:
    """Chance that a record is linked to its own counterpart; shape (q,).

    `nearer`, `ties`: records strictly nearer than its counterpart, and those exactly as near, it among them; shape
    (q,).
    """
    return _chance(nearer, ties, np.ones(len(ties), dtype=np.int64), nearest)


def _chance(
    nearer: NDArray[np.int64], ties: NDArray[np.int64], own: NDArray[np.int64], nearest: int
) -> NDArray[np.float64]:
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

    distance: NDArray[np.float64]
    position: NDArray[np.int64]
    count: NDArray[np.int64]


def _nearest_relatives(
    queries: NDArray[np.float64],
    targets: NDArray[np.float64],
    weight: NDArray[np.float64],
    households: NDArray[np.int64],
    target_households: NDArray[np.int64],
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
        nearest = find_nearest(some, others, weight, np.zeros(len(chosen), dtype=np.int64), _untold)
        limit = squared_distances(some, others[nearest], weight)
        distance[chosen], position[chosen] = limit, members[nearest]
        count[chosen] = count_nearer(some, others, weight, limit, nearest, 1, _untold).ties
    return _Relatives(distance, position, count)


def _squared_distances(
    queries: NDArray[np.float64],
    chosen: NDArray[np.int64],
    targets: NDArray[np.float64],
    relative: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """`squared_distances` of some queries to one target each, some at a time: no second copy of both files."""
    found = np.empty(len(chosen))
    for start in range(0, len(chosen), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        found[part] = squared_distances(queries[chosen[part]], targets[relative[part]], weight)
    return found


def _untold(share: float) -> None:
    """Progress of a part that is not told."""
