"""Values drawn anew from the distribution of each variable, and given to the records by rank."""

from __future__ import annotations

from maskwright_builtin.methods.distribution.distortion import PROBABILITY_DISTRIBUTION, RESAMPLING

__all__ = ["PROBABILITY_DISTRIBUTION", "RESAMPLING"]
