"""Aggregations that come with Maskwright."""

from __future__ import annotations

from maskwright_builtin.aggregations.median import MEDIAN
from maskwright_builtin.aggregations.trimmed_mean import TRIMMED_MEAN

AGGREGATIONS = (MEDIAN, TRIMMED_MEAN)
