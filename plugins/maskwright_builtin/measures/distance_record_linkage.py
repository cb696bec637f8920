"""Distance-based record linkage: how often the nearest record of the other file is a record's own counterpart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, field_validator

from maskwright import Comparison, InputError, Measure, Measurement, Progress
from maskwright_builtin.measures.nearest_records import compare_with_own, squared_distances
from maskwright_builtin.measures.pairing import Pairs, listed, pair_records, present_values, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST_VARIABLES = 7
MOST_SUBSETS = 10
MISSING_RULE = "for distances a missing cell stands at the original file's mean of its variable"

Names = Annotated[list[str], Field(min_length=1)]


class DistanceRecordLinkageParams(BaseModel, extra="forbid", frozen=True):
    """What the intruder knows and how records are linked."""

    known: Annotated[int, Field(ge=1)] | Names | None = Field(
        None,
        description="The variables the intruder knows: an integer for that many of the first ones, or their names. "
        "Alone it makes one scenario of just these; with `scenarios` the scenarios are made from them.",
    )
    scenarios: Literal["cumulative", "all_subsets"] | Annotated[list[Names], Field(min_length=1)] | None = Field(
        None,
        description="The scenarios averaged: 'cumulative' for the first known variable, the first two, ...; "
        f"'all_subsets' for every non-empty subset of the known variables (at most {MOST_SUBSETS}); or a list of lists "
        f"of names. Default: cumulative over the first {FIRST_VARIABLES} variables, unless `known` is given.",
    )
    direction: Literal["original_to_masked", "masked_to_original"] = Field(
        "original_to_masked", description="Which file's records are linked to the nearest record of the other file."
    )
    standardise: Literal["original", "own"] = Field(
        "original",
        description="'original': both files by the mean and standard deviation (divisor n - 1) of the original. "
        "'own': each file by its own.",
    )
    ties: Literal["share", "lowest_index"] = Field(
        "share",
        description="Several records exactly as near: 'share' counts the expected success of drawing one of them, "
        "'lowest_index' takes the first in the file.",
    )

    @field_validator("known")
    @classmethod
    def _names_once(cls, known: int | list[str] | None) -> int | list[str] | None:
        if isinstance(known, list) and len(set(known)) < len(known):
            raise ValueError("a variable is named twice")
        return known

    @field_validator("scenarios")
    @classmethod
    def _scenarios_once(cls, scenarios: str | list[list[str]] | None) -> str | list[list[str]] | None:
        if isinstance(scenarios, list):
            if any(len(set(names)) < len(names) for names in scenarios):
                raise ValueError("a variable is named twice in one scenario")
            if len({frozenset(names) for names in scenarios}) < len(scenarios):
                raise ValueError("the same scenario is listed twice")
        return scenarios


def distance_record_linkage(
    comparison: Comparison,
    params: DistanceRecordLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records whose nearest record of the other file, in the variables known, is their own counterpart.

    Distances are Euclidean on standardised values; the value is the mean over scenarios. The result is exact: only
    "is a record strictly nearer than my own, and how many are exactly as near" is asked of a k-d tree, in O(n) memory.

    Ties: exact equality of distances, also between different rows; each record earns 1 / (number tied). Variables
    with declared decimals are compared as whole numbers of grid units, so that ties on the grid are exact.

    Missing cells stand at the mean of the original file (0 after standardising), as in clustering. A variable that is
    constant in the original file tells no records apart and is left out of the distances.

    Sampled masked files: from original to masked, the originals of the masked records are linked; from masked to
    original, the candidates are all records of the original file.

    Returns
    -------
    Measurement
        `parts` has ``known_1``, ``known_2``, ...: the mean over the scenarios with that many variables; for listed
        scenarios one part each, names joined by ``+``. `per_record` has the percent earned by each masked record,
        averaged over the scenarios.

    Raises
    ------
    InputError
        Unknown variables, more known variables than there are, too many subsets.
    """
    pairs = pair_records(comparison, MISSING_RULE)
    scenarios = _scenarios(params, comparison)
    used = sorted({j for scenario in scenarios for j in scenario.columns})
    original, masked, weight = _comparable_values(comparison, pairs, used, own=params.standardise == "own")
    notes = list(pairs.notes)
    origin = pairs.origin
    without = [pairs.names[j] for j, factor in zip(used, weight, strict=True) if factor == 0.0]
    del pairs  # both files once more, with variables that no scenario knows
    if without:
        notes.append(f"constant in the original file and left out of the distances: {listed(without)}")
    found: dict[str, list[float]] = {}
    per_record = np.zeros(len(masked))
    for done, scenario in enumerate(scenarios):

        def progress(share: float, done: int = done) -> None:
            comparison.progress((done + share) / len(scenarios))

        columns = [used.index(j) for j in scenario.columns]
        files = original[:, columns], masked[:, columns]
        credit = _credit(*files, weight[columns], origin, params, progress)
        found.setdefault(scenario.part, []).append(100.0 * float(credit.mean()))
        per_record += 100.0 * credit / len(scenarios)
    return Measurement(
        float(np.mean([percent for percents in found.values() for percent in percents])),
        parts={part: float(np.mean(percents)) for part, percents in found.items()},
        per_record=per_record,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Scenario:
    """What an intruder knows in one scenario: positions of variables, and the part of the result it counts in."""

    columns: tuple[int, ...]
    part: str


def _scenarios(params: DistanceRecordLinkageParams, comparison: Comparison) -> list[_Scenario]:
    names = comparison.variables
    if isinstance(params.scenarios, list):
        if params.known is not None:
            raise InputError("distance_record_linkage: give either `known` or a list of scenarios, not both")
        return [_Scenario(_positions(chosen, comparison), "+".join(chosen)) for chosen in params.scenarios]
    if isinstance(params.known, list):
        known = _positions(params.known, comparison)
    else:
        if params.known is not None and params.known > len(names):
            raise InputError(
                f"distance_record_linkage: known is {params.known}, but only {len(names)} variables are compared"
            )
        known = tuple(range(params.known or min(FIRST_VARIABLES, len(names))))
    if params.scenarios == "all_subsets":
        if len(known) > MOST_SUBSETS:
            raise InputError(
                f"distance_record_linkage: all subsets of {len(known)} variables are too many; "
                f"name at most {MOST_SUBSETS} as `known`"
            )
        sizes = range(1, len(known) + 1)
        return [_Scenario(chosen, f"known_{size}") for size in sizes for chosen in combinations(known, size)]
    if params.known is not None and params.scenarios is None:
        return [_Scenario(known, f"known_{len(known)}")]
    return [_Scenario(known[:size], f"known_{size}") for size in range(1, len(known) + 1)]


def _positions(chosen: list[str], comparison: Comparison) -> tuple[int, ...]:
    names = comparison.variables
    for name in chosen:
        # Looking up a variable that is not in the file raises the error that names the nearest one.
        if comparison.original[name].name not in names:
            raise InputError(
                f"distance_record_linkage: variable {name!r} is not among the numeric variables compared: "
                f"{listed(list(names))}"
            )
    return tuple(names.index(name) for name in chosen)


def _comparable_values(
    comparison: Comparison, pairs: Pairs, used: list[int], *, own: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The `used` columns of both files without missing cells, and factors for their differences (0: leave out)."""
    original = np.empty((len(pairs.original), len(used)), order="F")
    masked = np.empty((len(pairs.masked), len(used)), order="F")
    weight = np.zeros(len(used))
    for j, position in enumerate(used):
        name = pairs.names[position]
        decimals = [file[name].variable.decimals for file in (comparison.original, comparison.masked)]
        old, new = _in_grid_units(pairs.original[:, position], pairs.masked[:, position], decimals)
        deviation = spread(old, ddof=1)
        center = float(present_values(old).mean()) if deviation else 0.0
        if deviation and own:
            new_values = present_values(new)
            new_center = float(new_values.mean()) if new_values.size else 0.0
            old, new = (old - center) / deviation, (new - new_center) / (spread(new, ddof=1) or 1.0)
            deviation, center = 1.0, 0.0
        original[:, j] = np.where(np.isnan(old), center, old)
        masked[:, j] = np.where(np.isnan(new), center, new)
        weight[j] = 1.0 / deviation if deviation else 0.0
    return original, masked, weight


def _in_grid_units(
    old: NDArray[np.float64], new: NDArray[np.float64], decimals: list[int | None]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both columns as whole numbers of the finer declared grid, if they lie on it; else as they are.

    Differences of whole numbers are exact: in binary64 0.3 - 0.2 is not 0.4 - 0.3, and a tie would be lost.
    """
    places = [number for number in decimals if number is not None]
    if len(places) < len(decimals) or max(places) == 0:
        return old, new
    scaled = [column * 10.0 ** max(places) for column in (old, new)]
    whole = [np.rint(column) for column in scaled]
    for exact, near in zip(whole, scaled, strict=True):
        off_grid = np.abs(exact - near) > 1e-6
        if (off_grid | (np.abs(exact) >= 2.0**53)).any():
            return old, new
    return whole[0], whole[1]


def _credit(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    weight: NDArray[np.float64],
    origin: NDArray[np.int64] | None,
    params: DistanceRecordLinkageParams,
    progress: Progress,
) -> NDArray[np.float64]:
    """Chance that each masked record and its original are linked; shape (m,)."""
    source = np.arange(len(masked)) if origin is None else origin
    counterparts = original[source]
    distance = squared_distances(counterparts, masked, weight)
    if params.direction == "masked_to_original":
        near = compare_with_own(masked, original, weight, source, distance, progress)
        if params.ties == "lowest_index":
            return np.where(near.first == source, 1.0, 0.0)
        return _shared(np.ones(len(masked)), near.ties)
    # An original may have several masked records (drawn with replacement): a link to any of them is correct.
    _, family = np.unique(source, return_inverse=True)
    least = np.full(len(source), np.inf)
    np.minimum.at(least, family, distance)
    correct = np.bincount(family, weights=distance == least[family])[family].astype(np.float64)
    near = compare_with_own(counterparts, masked, weight, np.arange(len(masked)), least[family], progress)
    if params.ties == "lowest_index":
        return np.where((near.first >= 0) & (source[near.first] == source), 1.0, 0.0)
    return _shared(correct, near.ties)


def _shared(correct: NDArray[np.float64], ties: NDArray[np.int64]) -> NDArray[np.float64]:
    """Chance that one of `ties` records drawn at random is a correct one; 0 where another record is nearer."""
    return np.where(ties > 0, correct / np.maximum(ties, 1), 0.0)


DISTANCE_RECORD_LINKAGE = Measure(
    name="distance_record_linkage",
    compute=distance_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=DistanceRecordLinkageParams,
    invariant_to=frozenset({"affine", "records"}),
    reference="Domingo-Ferrer and Torra (2001), A quantitative comparison of disclosure control methods for microdata, "
    "in Confidentiality, Disclosure and Data Access, Elsevier, chapter 6; scenarios of Mateo-Sanz, doctoral thesis (in "
    "Catalan), chapter 6",
    summary="Percent of records whose nearest record of the other file is their own, over what an intruder may know.",
)
