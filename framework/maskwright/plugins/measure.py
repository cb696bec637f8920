"""What a measure is: original and masked data in, one number and its parts out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from maskwright.edits.edit import EditSet
from maskwright.plugins.partition import NoParams
from maskwright.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Comparison:
    """Original and masked data, as a measure gets them. Read-only.

    Attributes
    ----------
    original, masked : Dataset
        `masked` is what was read back from the file that will be released.
    variables : tuple of str
        The numeric variables to compare, in file order; all are in both files.
    edits : EditSet
    origin : ndarray of shape (m,), int64, or None
        Original record of each masked record; None when they are paired one to one in order.
    plan : mapping
        A plain record of the plan; empty when two files are compared without one.
    progress : callable
    """

    original: Dataset
    masked: Dataset
    variables: tuple[str, ...]
    edits: EditSet = field(default_factory=EditSet)
    origin: NDArray[np.int64] | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress = silent

    def original_values(self) -> NDArray[np.float64]:
        """Values of `variables` in the originals of the masked records; shape (m, p), NaN where missing."""
        values = self.original.matrix(self.variables)
        return values if self.origin is None else values[self.origin]

    def masked_values(self) -> NDArray[np.float64]:
        """Values of `variables` in the masked records; shape (m, p), NaN where missing."""
        return self.masked.matrix(self.variables)


@dataclass(frozen=True, eq=False)
class Measurement:
    """What a measure found.

    Attributes
    ----------
    value : float
        The measure. NaN only when it is not defined for these data, with a note saying why.
    parts : mapping of str to float
        Named parts.
    per_variable : mapping of str to float
    per_record : ndarray of shape (m,), float64, or None
        Contribution of each masked record; confidential, never in the public record.
    interval : tuple of two floats, or None
        Uncertainty of `value`.
    notes : tuple of str
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    per_variable: Mapping[str, float] = field(default_factory=dict)
    per_record: NDArray[np.float64] | None = None
    interval: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measure:
    """A loss or risk measure.

    Attributes
    ----------
    name : str
    compute : callable
        ``(comparison, params, rng) -> Measurement``; a pure function.
    kind : {"loss", "risk", "score"}
    unit : str
        ``percent``, ``count``, ...
    direction : {"lower", "higher"}
        Which is better; thresholds follow it.
    range : tuple of two floats or None
        Smallest and largest possible value; None is unbounded.
    params : type of pydantic.BaseModel
    invariant_to : frozenset of str
        Claims tested by the kit: ``affine`` (a column rescaled in both files), ``records`` (permuted in both),
        ``columns`` (permuted in both).
    deterministic : bool
    reference, summary : str
    """

    name: str
    compute: Callable[[Comparison, Any, np.random.Generator], Measurement]
    kind: Literal["loss", "risk", "score"] = "loss"
    unit: str = "percent"
    direction: Literal["lower", "higher"] = "lower"
    range: tuple[float | None, float | None] = (0.0, None)
    params: type[BaseModel] = NoParams
    invariant_to: frozenset[str] = frozenset()
    deterministic: bool = True
    reference: str = ""
    summary: str = ""
