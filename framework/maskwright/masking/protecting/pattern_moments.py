"""Moments of all records that have the cells of a pattern, from those of single patterns.

Each record is looked at once, with its own pattern; patterns are then merged, which does not depend on the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.plugins.guarding.frozen import read_only
from maskwright.plugins.moments import Moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.masking.protecting.variable_group import GroupSource
    from maskwright.planning.cell_holders import Pool


class PatternMoments:
    """Moments of each pattern of missing cells among the records of a pool."""

    def __init__(self, pool: Pool, source: GroupSource) -> None:
        self._center, self._scale = source.center, source.scale
        self._missing = np.array([pattern for pattern, _ in pool.patterns])
        found = [self._of_pattern(source.values[pool.records[places]], pattern) for pattern, places in pool.patterns]
        self._n = np.array([len(places) for _, places in pool.patterns], dtype=np.float64)
        self._mean, self._low, self._high, self._scatter = (np.stack(each) for each in zip(*found, strict=True))

    def _of_pattern(self, values: NDArray[np.float64], missing: NDArray[np.bool_]) -> tuple[NDArray[np.float64], ...]:
        """Mean, least, largest and sums of products of deviations in standard units; 0 where cells are missing."""
        points = np.where(missing, 0.0, (values - self._center) / self._scale)
        mean = points.mean(axis=0)
        deviations = points - mean
        shown = np.where(missing, 0.0, values)
        return mean, shown.min(axis=0), shown.max(axis=0), deviations.T @ deviations

    def of(self, columns: NDArray[np.int64]) -> Moments:
        """Moments of the records that have these cells, and maybe others; there must be one.

        `columns`: positions of the cells; shape (q,).
        """
        having = ~self._missing[:, columns].any(axis=1)
        n, means = self._n[having], self._mean[having][:, columns]
        total = n.sum()
        mean = n @ means / total
        between = means - mean
        cells = np.ix_(columns, columns)
        scatter = self._scatter[having].sum(axis=0)[cells] + (between * n[:, None]).T @ between
        scale = self._scale[columns]
        return Moments(
            n=int(total),
            mean=read_only(self._center[columns] + mean * scale),
            low=read_only(self._low[having].min(axis=0)[columns]),
            high=read_only(self._high[having].max(axis=0)[columns]),
            covariance=read_only(scatter / max(total - 1.0, 1.0) * np.outer(scale, scale)),
        )
