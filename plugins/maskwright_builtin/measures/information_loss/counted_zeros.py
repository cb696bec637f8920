"""Zeros of both files, counted at once or part by part, and what `structural_zeros` says of the counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Measurement
from maskwright_builtin.measures.common.pairing import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MISSING_RULE = "a cell missing in either file is left out"


def kinds_of_cells(original: NDArray[np.float64], masked: NDArray[np.float64]) -> tuple[NDArray[np.bool_], ...]:
    """Cells whose zero was kept, lost or made, and those that are present in both files; each of shape (n,).

    `original`, `masked`: of one variable, paired; NaN where missing; shape (n,).
    """
    there = ~(np.isnan(original) | np.isnan(masked))
    before, after = (original == 0.0) & there, (masked == 0.0) & there
    return before & after, before & ~after, after & ~before, there


def measured_zeros(
    counts: Mapping[str, Sequence[float]],
    empty: Sequence[str],
    notes: Sequence[str],
    per_record: NDArray[np.float64] | None = None,
) -> Measurement:
    """The measure of counted cells.

    `counts`: of each variable, zeros kept, lost and made, and compared cells; by weight where records have weights.
    `empty`: variables without a record that has a value in both files. `per_record`: shape (n_masked,).
    """
    said = list(notes)
    kept, lost, made, cells = (math.fsum(own[at] for own in counts.values()) for at in range(4))
    if empty:
        said.append(f"left out, no record has a value in both files: {listed(empty)}")
    if not cells:
        return Measurement(math.nan, notes=(*said, "not defined: no variable can be compared"))
    per_variable = {
        name: _percent(own[1] + own[2], math.fsum(own[:3])) for name, own in counts.items() if math.fsum(own[:3]) > 0.0
    }
    if not per_variable:
        said.append("no value is zero in either file: nothing could be lost")
    parts = {
        "share_original": _percent(kept + lost, cells),
        "share_masked": _percent(kept + made, cells),
        "lost": _percent(lost, kept + lost),
        "made": _percent(made, kept + made),
    }
    return Measurement(_percent(lost + made, kept + lost + made), parts, per_variable, per_record, notes=tuple(said))


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole > 0.0 else 0.0
