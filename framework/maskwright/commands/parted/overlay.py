"""What steps made of the records of one part, put back in its order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.parted.spilling import spilled, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset


@dataclass(frozen=True)
class MaskedGroup:
    """Where the masked values of a variable group are.

    Attributes
    ----------
    group : int
        Position in the plan.
    variables : tuple of str
    adjusted : tuple of str
        Those of them that were brought onto their edits with the clusters.
    folders : tuple of str
        Of the tasks, one for each block, or of a step that masks part by part one for each part.
    by_part : bool
    """

    group: int
    variables: tuple[str, ...]
    adjusted: tuple[str, ...]
    folders: tuple[str, ...]
    by_part: bool

    def of_part(self, position: int, records: int) -> dict[str, NDArray[np.float64]]:
        """Masked values of a part by record, ``p:name`` as the method gave them and ``a:name`` adjusted.

        Parameters
        ----------
        position : int
            Of the part.
        records : int
        """
        if self.by_part:
            found = spilled(Path(self.folders[position]) / f"m{self.group}", 0, 1)
        else:
            pieces = [spilled(Path(folder) / "masked", position, position + 1) for folder in self.folders]
            found = together(pieces)
        rows = found.pop("row")
        put = {}
        for name, values in found.items():
            put[name] = np.full(records, np.nan)
            put[name][rows] = values
        return put


def with_masked(data: Dataset, groups: Sequence[MaskedGroup], position: int, *, adjusted: bool = False) -> Dataset:
    """A part with what the steps made of it in place of its own values.

    Parameters
    ----------
    data : Dataset
        The original part.
    groups : sequence of MaskedGroup
        In the order of the plan.
    position : int
        Of the part.
    adjusted : bool, default False
        Whether values are those that adjusting gave, where it was done with the clusters.
    """
    for group in groups:
        found = group.of_part(position, len(data))
        changed = {}
        for name in group.variables:
            values = found[f"a:{name}"] if adjusted and name in group.adjusted else found[f"p:{name}"]
            changed[name] = data[name].changed(values, np.isnan(values))
        data = data.with_columns(changed)
    return data
