"""The picture of how an edit is kept: masked records that break it move to the nearest place where it holds."""

from __future__ import annotations

import numpy as np
import pandas as pd

import maskwright as mw
from _extension.inline_svg import CLEAR, FIRST, QUIET, SECOND, inline
from maskwright.foundation.progress import Quiet

RECORDS = 40
HIGHEST = 100


def edits_kept() -> tuple[str, str]:
    """Draw the same noise with and without the edit ``costs <= turnover``.

    Returns
    -------
    svg, alternative : str
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rng = np.random.default_rng(2)
    turnover = rng.integers(20, HIGHEST, RECORDS)
    data = pd.DataFrame({"turnover": turnover, "costs": (turnover * rng.uniform(0.5, 1.0, RECORDS)).astype(int)})
    free, kept = (_masked(data, edits) for edits in ([], ["costs <= turnover"]))
    broken = free["costs"] > free["turnover"]
    with rc_context(CLEAR):
        figure = Figure(figsize=(7.0, 4.6), layout="constrained")
        axes = figure.add_subplot()
        axes.axline((0, 0), slope=1, color=QUIET, linewidth=1.2, label="costs = turnover")
        axes.scatter(kept["turnover"], kept["costs"], s=24, color=SECOND, label="published: the edit holds", zorder=3)
        axes.scatter(free["turnover"][broken], free["costs"][broken], s=34, marker="x", color=FIRST,
                     label="after the noise alone: the edit is violated", zorder=2)  # fmt: skip
        for number in np.flatnonzero(broken):
            start, end = (_place(found, int(number)) for found in (free, kept))
            arrow = {"arrowstyle": "->", "color": FIRST, "linewidth": 1.0}
            axes.annotate("", xy=end, xytext=start, arrowprops=arrow)
        axes.set_xlabel("turnover")
        axes.set_ylabel("costs")
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        violated = int((kept["costs"] > kept["turnover"]).sum())
        said = (
            f"{RECORDS} masked records over turnover and costs. Noise alone takes {int(broken.sum())} of them above "
            "the line costs = turnover, where the edit costs <= turnover is violated. An arrow leads from each of "
            f"these to its published place; {violated} published records violate the edit."
        )
        return inline(figure), said


def _masked(data: pd.DataFrame, edits: list[str]) -> pd.DataFrame:
    return mw.protect(data, "additive_noise", edits=edits, params={"p": 0.5}, seed=4, reporter=Quiet())


def _place(data: pd.DataFrame, number: int) -> tuple[float, float]:
    return float(data["turnover"].iloc[number]), float(data["costs"].iloc[number])
