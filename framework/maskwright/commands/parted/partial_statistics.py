"""Statistics of parts that add up: of masking and adjusting, drift of moments, and class sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.parted.shuffling import spill, spilled, together
from maskwright.data.classes.classes import Classes
from maskwright.data.sketches.record_hashes import class_hashes
from maskwright.masking.adjusting.distortion import Distortion, Moments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.plugins.engine import Receipt


DRIFT, OBEYING = "drift", "drift of obeying"
"""What a task reports of the moments of its records."""


class DriftTotals:
    """Moments of all parts, added in the order in which the parts are finished."""

    def __init__(self) -> None:
        self.states: dict[str, list[Moments]] = {DRIFT: [], OBEYING: []}
        self.records = 0

    def taken(self, receipt: Receipt) -> Receipt:
        """Take the moments that a finished part reports; its receipt without them."""
        for which, before in self.states.items():
            own = [Moments.from_json(each) for each in receipt.facts.get(which, ())]
            if own:
                self.states[which] = [one + other for one, other in zip(before, own, strict=True)] if before else own
        self.records += int(receipt.facts["records"]) if receipt.facts.get(DRIFT) else 0
        return replace(receipt, facts={name: each for name, each in receipt.facts.items() if name not in self.states})

    @property
    def distortion(self) -> Distortion | None:
        """Of all parts together; None where none has records."""
        return self._of(DRIFT)

    @property
    def distortion_of_obeying(self) -> Distortion | None:
        """Of the records whose original obeys the edits that few violate; None where these are all of them."""
        return self._of(OBEYING)

    def _of(self, which: str) -> Distortion | None:
        states = self.states[which]
        return Distortion(states[0], states[1], states[2], self.records) if states else None


DISTINCT_AT_ONCE = 250_000
"""Classes that one task counts: about 30 MB."""


def spill_classes(path: Path, data: Dataset, names: Sequence[str], tasks: int) -> None:
    """Write the classes of one part and how many of its records are in each, sorted by the task that counts them."""
    columns = Classes.of(class_hashes(data, names)).columns()
    readers = columns["k0"].view(np.uint64) % np.uint64(tasks)
    spill(path, columns, readers.astype(np.int64), tasks)


def count_classes(
    folders: tuple[str, ...],
    least: tuple[int, ...],
    tasks: int,
    folder: Path,  # noqa: ARG001
    key: str,
) -> Mapping[str, object]:
    """Count the classes of one share of the hashes; a task.

    `key`: set of variables, and share: ``2-17``.
    """
    from pathlib import Path as FilePath

    which, share = (int(each) for each in key.split("-"))
    assert share < tasks
    pieces = [spilled(FilePath(each) / f"k{which}", share, share + 1) for each in folders if each]
    found = together(pieces)
    counts = Classes.of_columns(found).records
    if not len(counts):
        return {"smallest": None, "below": 0}
    return {"smallest": int(counts.min()), "below": int(counts[counts < least[which]].sum())}
