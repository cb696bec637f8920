"""What was found of all finished parts together: added up part by part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.parted.finishing import FEW
from maskwright.commands.parted.planning import merged_outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from maskwright.commands.parted.finishing import FinishedPart
    from maskwright.data.dataset import Dataset
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.release.last_look import UnchangedCells


@dataclass(frozen=True, eq=False)
class Finished:
    """What was found of all finished parts.

    `outcome`: of the files as they were read back. `masked`: variables of the published file, without records.
    """

    outcome: Outcome
    unchanged: tuple[UnchangedCells, ...]
    doubts: Mapping[tuple[str, str], Doubt]
    masked: Dataset


def added_up(parts: Iterable[tuple[int, FinishedPart]]) -> Finished:
    """What was found of all parts.

    `parts`: in order; at least one.
    """
    outcomes: list[tuple[int, Outcome]] = []
    unchanged: list[tuple[UnchangedCells, NDArray[np.float64]]] = []
    doubts: dict[tuple[str, str], Doubt] = {}
    masked: Dataset | None = None
    for first, part in parts:
        masked = part.masked if masked is None else masked
        outcomes.append((first, part.outcome))
        for doubt in part.doubts:
            doubts.setdefault((doubt.kind, doubt.subject), doubt)
        unchanged = [
            _added(*each) for each in zip(unchanged, part.unchanged, strict=True)
        ] if unchanged else list(part.unchanged)  # fmt: skip
    assert masked is not None
    cells = tuple(replace(each, values=max(len(values), each.values)) for each, values in unchanged)
    return Finished(merged_outcome(outcomes), cells, doubts, masked)


def _added(
    one: tuple[UnchangedCells, NDArray[np.float64]], other: tuple[UnchangedCells, NDArray[np.float64]]
) -> tuple[UnchangedCells, NDArray[np.float64]]:
    cells = replace(
        one[0], cells=one[0].cells + other[0].cells, unchanged=one[0].unchanged + other[0].unchanged,
        values=max(one[0].values, other[0].values),
    )  # fmt: skip
    return cells, np.union1d(one[1], other[1])[:FEW]
