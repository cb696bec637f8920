"""Published figures beside computed ones, and how well they agree."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

TO_THE_DIGITS = "to the digits"
WITHIN_TOLERANCE = "within tolerance"
WITHIN_SCATTER = "within the scatter"
NOT_REPRODUCED = "not reproduced"
NOT_REPRODUCIBLE = "not reproducible"
OPEN = "open"
GRADES = (TO_THE_DIGITS, WITHIN_TOLERANCE, WITHIN_SCATTER, NOT_REPRODUCED, NOT_REPRODUCIBLE, OPEN)
"""Grades of one printed figure, from the best; the last two have no computed figure: because none can be had, and
because nobody has computed it yet."""
SPARE = 2
"""Decimals that a computed figure has more than the printed one."""

STOCHASTIC = ("Addt", "Distr", "Remost", "Rank")
# Columns of the tables by those of an experiment. Table A.2 has variances under PI3 and covariances under PI4.
SUMMARY = {"PI": "mg.PI", "ERD": "mg.ERD", "ICN": "mg.ICN", "ICD": "mg.ICD", "MG": "mg"}
LOSS = {"PI1": "mg.PI1", "PI2": "mg.PI2", "PI3": "mg.PI4", "PI4": "mg.PI3", "PI5": "mg.PI5"}


def decimals(printed: str) -> int:
    """Decimals of a printed figure, also of one like 1.09E-04."""
    exponent = Decimal(printed).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def grade_of_cell(printed: str, computed: str, tolerance: float = 0.0, scatter: float = 0.0) -> str:
    """Grade one printed figure by the computed one, both as they are written.

    Parameters
    ----------
    printed : str
        Figure as its source prints it.
    computed : str
        Ours, with two decimals more; empty where nothing can be computed, "open" where it could be but is not.
    tolerance : float, default 0
        How far the figure moves with the rounding of printed input, or between two readings of what its source leaves
        open: never taken from the difference.
    scatter : float, default 0
        Half the width of the 99 % interval of one run, for a figure that hangs on random numbers.

    Returns
    -------
    str
        One of `GRADES`.

    Examples
    --------
    >>> grade_of_cell("13.44075", "13.4407481")
    'to the digits'
    >>> grade_of_cell("13.44075", "13.4408", tolerance=2e-4)
    'within tolerance'
    >>> grade_of_cell("0.0012", "-0.0011", tolerance=0.02)
    'not reproduced'
    >>> grade_of_cell("9.583", "")
    'not reproducible'
    """
    if not computed:
        return NOT_REPRODUCIBLE
    if computed == OPEN:
        return OPEN
    # In decimals: in binary64, 1.005 and half a printed digit are not what they look like.
    difference = abs(Decimal(computed) - Decimal(printed))
    if difference <= Decimal(5).scaleb(-decimals(printed) - 1):
        return TO_THE_DIGITS
    # A figure of the other sign says the opposite, however small it is.
    if difference <= Decimal(repr(tolerance)) and Decimal(computed) * Decimal(printed) >= 0:
        return WITHIN_TOLERANCE
    return WITHIN_SCATTER if difference <= Decimal(repr(scatter)) else NOT_REPRODUCED


def reach_of_readings(one: Sequence[float], other: Sequence[float]) -> float:
    """How far figures of one kind move between two readings of what their source leaves open.

    The source's own program is a third reading. Changes of one kind of figures are taken as draws from one normal
    distribution around 0; this is what 99 % of them stay below.
    """
    return float(2.576 * np.sqrt(np.mean(np.square(np.subtract(one, other)))))


def parts_of(runs: pd.DataFrame, label: str, count: int) -> dict[str, str]:
    """Columns of the first parts of a measure, by their names in the thesis: ICN_1 is the first part of icn."""
    parts = [column for column in runs.columns if column.startswith(f"{label}.")]
    return {f"{label.upper()}_{number}": column for number, column in enumerate(parts[:count], 1)}


def columns_of(runs: pd.DataFrame) -> dict[str, str]:
    """Every column of tables A.1 to A.5 by the column of an experiment."""
    linked = {f"ERD_{number}": f"mg.ERD-{number}" for number in range(1, 8)}
    return {**SUMMARY, **LOSS, **linked, **parts_of(runs, "icn", 10), **parts_of(runs, "icd", 10)}


def parameter_of(runs: pd.DataFrame) -> pd.Series:
    """The varying parameter of each run, as the tables have it."""
    found = pd.Series(np.nan, index=runs.index, dtype=float)
    for name in ("k", "p", "t", "quality"):
        if name in runs:
            found = found.fillna(pd.to_numeric(runs[name], errors="coerce"))
    share = runs["family"] == "Addt"
    return found.where(~share, (100.0 * found).round())
