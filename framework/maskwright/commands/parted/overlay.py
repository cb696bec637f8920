"""What steps made of the records of one part, put back in its order."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.spilling import gathered, spilled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable


@dataclass(frozen=True)
class MaskedGroup:
    """Where the masked values of a variable group are.

    `folders`: of the tasks, one for each block, or of a step that masks part by part one for each part. `published`:
    what became of its variables, where the method publishes others. `notes`: what is said once of all records.
    """

    group: int
    variables: tuple[str, ...]
    folders: tuple[str, ...]
    by_part: bool
    published: tuple[Variable, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)

    def of_part(self, position: int, records: int) -> dict[str, NDArray[np.float64]]:
        """Masked values of a part by record, ``p:name`` as the method gave them and ``a:name`` adjusted."""
        if self.by_part:
            found = spilled(Path(self.folders[position]) / f"m{self.group}", 0, 1)
        else:
            found, _ = gathered([Path(folder) / "masked" for folder in self.folders], position, position + 1)
        rows = found.pop("row")
        put = {}
        for name, values in found.items():
            put[name] = np.full(records, np.nan)
            put[name][rows] = values
        return put


def with_masked(data: Dataset, groups: Sequence[MaskedGroup], position: int) -> tuple[Dataset, Dataset]:
    """A part with what the methods of the steps made of it, and with that adjusted where it was with the clusters.

    `groups`: in the order of the plan.
    """
    protected = adjusted = data
    for group in groups:
        found = group.of_part(position, len(data))
        given = {name: found[f"p:{name}"] for name in group.variables}
        became = {each.name: each for each in group.published}
        protected = _changed(protected, given, became)
        adjusted = _changed(adjusted, _adjusted(given, found), became)
    return protected, adjusted


def _adjusted(
    given: dict[str, NDArray[np.float64]], found: dict[str, NDArray[np.float64]]
) -> dict[str, NDArray[np.float64]]:
    return {name: found.get(f"a:{name}", values) for name, values in given.items()}


def _changed(data: Dataset, given: dict[str, NDArray[np.float64]], became: Mapping[str, Variable]) -> Dataset:
    columns = {}
    for name, values in given.items():
        variable, missing = became.get(name, data[name].variable), np.isnan(values)
        put = values if variable.is_numeric else np.where(missing, -1, np.nan_to_num(values)).astype(np.int32)
        columns[name] = data[name].changed(put, missing, variable)
    return data.with_columns(columns)
