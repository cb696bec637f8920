"""Centre and scale of each variable: the units in which masking measures distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.dataset import Dataset


@dataclass(frozen=True)
class Standardisation:
    """Centre and scale of each variable over the whole original file.

    `center`: mean of the cells that are not missing. `scale`: their standard deviation (ddof = 1); constant variables
    have scale 1.
    """

    center: Mapping[str, float]
    scale: Mapping[str, float]

    @classmethod
    def of(cls, data: Dataset, names: Sequence[str]) -> Standardisation:
        """Measure the named variables of the original file; missing cells left out."""
        center: dict[str, float] = {}
        scale: dict[str, float] = {}
        for name in names:
            column = data[name]
            present = np.asarray(column.values, dtype=np.float64)[~column.missing]
            center[name] = float(np.mean(present)) if len(present) else 0.0
            deviation = float(np.std(present - center[name], ddof=1)) if len(present) > 1 else 0.0
            # A spread that is rounding noise is no spread: dividing by it would make noise count as distance.
            noise = 1e-12 * (abs(center[name]) + float(np.max(np.abs(present), initial=0.0)))
            scale[name] = deviation if deviation > noise else 1.0
        return cls(center, scale)

    def updated(self, data: Dataset, names: Sequence[str]) -> Standardisation:
        """The same with the named variables measured again: they have become categories."""
        again = Standardisation.of(data, names)
        return Standardisation({**self.center, **again.center}, {**self.scale, **again.scale})
