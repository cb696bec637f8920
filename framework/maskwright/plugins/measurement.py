"""What a measure found: one number, its parts, and what a person should know of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from maskwright.foundation.html_tables import block, sentence, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.plugins.measure_table import MeasureTable


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
        95 percent interval of `value`; the measure's docstring says what else it could have been. None for a figure of
        these two files and nothing beyond.
    notes : tuple of str
    sentence : str
        What the value says, in one sentence for somebody who has to decide on the release and has read no paper.
    tables : tuple of MeasureTable
        Distributions and other figures that a report draws; confidential.
    leaves_out : tuple of str
        Quasi-identifiers that a risk, and masked variables that a loss does not look at. Filled in by the framework,
        from what the measure says it uses.
    before : Measurement or None
        The same of the original, of a measure that looks at one file (`Measure.of_one_file`). Filled in by the
        framework.

    Examples
    --------
    >>> from maskwright import Measurement
    >>> Measurement(12.5, per_variable={"wages": 20.0, "pensions": 5.0}).value
    12.5
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    per_variable: Mapping[str, float] = field(default_factory=dict)
    per_record: NDArray[np.float64] | None = field(default=None, repr=False)
    interval: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    sentence: str = ""
    tables: tuple[MeasureTable, ...] = ()
    leaves_out: tuple[str, ...] = ()
    before: Measurement | None = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        """Table for notebooks; contributions of records are not shown."""
        figures = [("value", self.value), *self.parts.items(), *self.per_variable.items()]
        rows = [(name, "undefined" if math.isnan(value) else f"{value:,.6g}") for name, value in figures]
        earlier = "" if self.before is None else f"{self.before.value:,.6g}"
        interval = "" if self.interval is None else f"{self.interval[0]:,.6g} to {self.interval[1]:,.6g}"
        return block(
            "Measurement",
            table(("figure", "value"), rows, (1,)),
            sentence(self.sentence),
            sentence(earlier, "before masking:"),
            sentence(interval, "95 percent interval:"),
            sentence(", ".join(self.leaves_out), "leaves out:"),
            *map(sentence, self.notes),
        )
