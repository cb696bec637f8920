"""Linking the nearest records in every scenario of what an intruder knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measurement, give_back_memory
from maskwright_builtin.measures.common.pairing import households_of, listed
from maskwright_builtin.measures.common.standardising import MISSING_RULE, comparable_values
from maskwright_builtin.measures.common.uncertainty import interval_of_mean
from maskwright_builtin.measures.record_linkage.known_variables import added_by_variable, parts_of, scenarios_of
from maskwright_builtin.measures.record_linkage.linkage import LinkageParams, chance_of_link
from maskwright_builtin.measures.record_linkage.nearest_pairing import pairs_of
from maskwright_builtin.measures.record_linkage.relatives import reached

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Files = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
    """Original of shape (n, d), masked of shape (m, d), and the factor of each difference, (d,)."""


def _as_they_are(original: NDArray[np.float64], masked: NDArray[np.float64], weight: NDArray[np.float64]) -> Files:
    return original, masked, weight


def _columns(values: NDArray[np.float64], chosen: list[int]) -> NDArray[np.float64]:
    """Columns of a file, (n, d); not copied where they are next to each other, as those known first are."""
    return values[:, chosen[0] : chosen[-1] + 1] if np.all(np.diff(chosen) == 1) else values[:, chosen]


def measure_linkage(
    comparison: Comparison,
    params: LinkageParams,
    measure: str,
    *,
    own: bool = False,
    space: Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], Files] | None = None,
) -> Measurement:
    """Percent linked, mean over scenarios, as `distance_record_linkage` documents it.

    `own`: standardise each file by its own mean and standard deviation. `space`: from the known columns of both files,
    paired row by row, to the coordinates whose Euclidean distance is meant.
    """
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
