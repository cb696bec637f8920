"""The picture of what k means: clusters of at least k records, each published as its mean."""

from __future__ import annotations

import numpy as np
import pandas as pd

import maskwright as mw
from _extension.inline_svg import CLEAR, FIRST, QUIET, SECOND, inline
from maskwright.foundation.progress import Quiet

RECORDS, K = 24, 3
PUBLISHED = "published for all of a cluster, and for how many"
INK = "#111111"
"""On the diamonds, on light and on dark ground."""


def k_clusters() -> tuple[str, str]:
    """Draw records, and the means by which microaggregation with k = 3 replaces them.

    Returns
    -------
    svg, alternative : str
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rng = np.random.default_rng(6)
    original = pd.DataFrame({"age": rng.integers(18, 90, RECORDS), "income": rng.integers(8, 60, RECORDS) * 100})
    masked = mw.protect(original, "microaggregation", params={"k": K}, seed=1, reporter=Quiet())
    means = masked.value_counts()
    with rc_context(CLEAR):
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for before, after in zip(original.to_numpy(), masked.to_numpy(), strict=True):
            axes.plot([before[0], after[0]], [before[1], after[1]], color=QUIET, linewidth=0.9, zorder=1)
        axes.scatter(original["age"], original["income"], s=26, color=SECOND, label="original record", zorder=2)
        places = np.array(means.index.tolist())
        axes.scatter(places[:, 0], places[:, 1], s=190, marker="D", color=FIRST, label=PUBLISHED, zorder=3)
        for (age, income), size in zip(places, means, strict=True):
            axes.annotate(str(size), (age, income), ha="center", va="center_baseline", fontsize=9, color=INK)
        axes.set_xlabel("age")
        axes.set_ylabel("income")
        axes.margins(x=0.1, y=0.1)
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        said = (
            f"{RECORDS} records as points over age and income, joined in {len(means)} clusters of {means.min()} to "
            f"{means.max()} records. Every record of a cluster is published with the mean of the cluster, so that at "
            f"least {K} published records look alike."
        )
        return inline(figure), said
