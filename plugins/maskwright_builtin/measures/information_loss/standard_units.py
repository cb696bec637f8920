"""Centre and scale of each variable of a file in parts: what a second round over the parts sums in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maskwright_builtin.measures.common.part_moments import PartMoments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class StandardUnits:
    """Mean and standard deviation of each original variable, from the first round.

    `center`, `scale`: 0 and 1 where a variable has no value; shape (p,). `deviation`: with divisor n - 1; 0 of
    constants, and where there is no value; shape (p,). `present`: values in the original and in the masked file; shape
    (2, p).
    """

    names: tuple[str, ...]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    deviation: NDArray[np.float64]
    present: NDArray[np.int64]

    @classmethod
    def of(cls, facts: Sequence[Mapping[str, Any]]) -> Self:
        """From what `maskwright_builtin.measures.information_loss.over_parts.moments_of_part` told of each part."""
        names = tuple(facts[0]["variables"])
        both = [
            [PartMoments.merged(each["variables"][name][file] for each in facts) for name in names] for file in (0, 1)
        ]
        old = both[0]
        return cls(
            names, np.array([each.low if each.low == each.high else each.mean for each in old]),
            np.array([each.spread(0) or 1.0 for each in old]),
            np.array([each.spread(1) for each in old]),
            np.array([[each.n for each in file] for file in both]),
        )  # fmt: skip

    @property
    def empty(self) -> list[int]:
        """Positions of the variables that have no value in one of the files."""
        return np.flatnonzero((self.present == 0).any(axis=0)).tolist()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "names": list(self.names), "center": self.center.tolist(), "scale": self.scale.tolist(),
            "deviation": self.deviation.tolist(), "present": self.present.tolist(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        """What `to_json` gave."""
        arrays = {name: np.array(said[name], dtype=np.float64) for name in ("center", "scale", "deviation")}
        return cls(tuple(said["names"]), **arrays, present=np.array(said["present"], dtype=np.int64))
