"""Published figures beside computed ones, and how well they agree."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from pathlib import Path

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

EXACT = 0.02
"""Two printed decimals, as the specification counts a row as exact."""
CODES = {
    "Addt": ("sorollPP", 100.0), "Distr": ("distrib", 1.0), "Remost": ("mostreig", 1.0), "Rank": ("rank", 1.0),
    "JPEG": ("jpg", 1.0),
}  # fmt: skip
# Largest difference of MG that an independent recomputation left, by family.
STATED = {
    "MicZ": 0.007, "MicPCP": 0.006, "Micmul": 4.87, "Mic5mul": 0.18, "Mic6mul": 0.50, "Mic4mul": 0.36, "Mic3mul": 0.56,
    "Mic2mul": 0.08, "MicOI": 0.05,
}  # fmt: skip
STATED_EXACT = {
    "MicZ": 18, "MicPCP": 18, "Micmul": 11, "Mic5mul": 12, "Mic6mul": 6, "Mic4mul": 4, "Mic3mul": 0, "Mic2mul": 6,
    "MicOI": 8,
}  # fmt: skip
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
        Difference that the table's page explains.
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
    if difference <= Decimal(repr(tolerance)):
        return WITHIN_TOLERANCE
    return WITHIN_SCATTER if difference <= Decimal(repr(scatter)) else NOT_REPRODUCED


def published(tables: Path) -> pd.DataFrame:
    """Tables A.1 to A.5, which are one file, indexed by family and parameter."""
    whole = pd.read_csv(tables, comment="#")
    whole["family"] = whole["family"].replace({"rank_swapping": "Rank"})
    return whole.set_index(["family", "parameter"]).sort_index()


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


@dataclass(frozen=True)
class Graded:
    """Rows with grades, one for each published variant that was computed."""

    rows: pd.DataFrame

    def by_family(self) -> pd.DataFrame:
        """Rows, exact ones and differences by family."""
        grouped = self.rows.groupby("family")
        return pd.DataFrame(
            {
                "rows": grouped.size(),
                "exact": grouped["exact"].sum(),
                "exact in the specification": pd.Series(STATED_EXACT),
                "largest difference of MG": grouped["difference"].max().round(3),
                "stated": pd.Series(STATED),
                "median": grouped["difference"].median().round(3),
                "inside 99 %": grouped["inside"].mean().mul(100).round(1),
                "MG inside 99 %": grouped["mg_inside"].sum(),
            }
        )


def grade(runs: pd.DataFrame, printed: pd.DataFrame) -> Graded:
    """Grade every variant: exact, or the difference of MG; for random variants, inside the interval of their runs.

    The interval of a random variant is that of one more run (the thesis has one): mean and 2.68 standard deviations of
    50 runs (Student's t, 49 degrees of freedom, 99 %), each widened by half a printed digit.
    """
    columns = columns_of(runs)
    runs = runs.assign(parameter=parameter_of(runs))
    rows = []
    for (family, parameter), found in runs.groupby(["family", "parameter"], dropna=False):
        key = (family, parameter) if not np.isnan(parameter) else None
        row = printed.loc[family].iloc[0] if key is None else printed.loc[key]
        computed = found[list(columns.values())]
        difference = computed.mean().to_numpy() - row[list(columns)].to_numpy(float)
        deviation = computed.std(ddof=1).to_numpy()
        reach = 2.68 * deviation * np.sqrt(1 + 1 / len(found)) + 0.0051
        record_level = [name for name in columns if name == "PI1" or "_" in name]
        exact = [abs(value) <= EXACT for name, value in zip(columns, difference, strict=True) if name in record_level]
        random = len(found) > 1
        rows.append(
            {
                "family": family,
                "parameter": parameter,
                "code": row["code"],
                "MG printed": row["MG"],
                "MG computed": round(found["mg"].mean(), 3),
                "MG own pairs": round(found["mg_own"].mean(), 3),
                "difference": abs(found["mg"].mean() - row["MG"]),
                "exact": all(exact) and not random,
                "inside": float(np.mean(np.abs(difference) <= reach)) if random else np.nan,
                "mg_inside": bool(np.abs(difference)[4] <= reach[4]) if random else False,
                "grade": _grade(str(family), found, difference, reach, exact=all(exact), random=random),
            }
        )
    return Graded(pd.DataFrame(rows))


def _grade(
    family: str, found: pd.DataFrame, difference: np.ndarray, reach: np.ndarray, *, exact: bool, random: bool
) -> str:
    if random:
        # The mean variation of a few values near 0 makes PI1, and MG by it, skewed: no normal interval holds it.
        seen = found["mg"].min() <= found["mg"].mean() - difference[4] <= found["mg"].max()
        inside = abs(difference[4]) <= reach[4]
        return "interval" if inside else "in the range of the runs" if seen else "outside the interval"
    if exact:
        return "exact"
    if family in STATED:
        return "within the stated difference" if abs(difference[4]) <= STATED[family] + 0.01 else "outside"
    return "not reproducible"
