"""Post-randomisation: categories change at random along a Markov matrix."""

from __future__ import annotations

from maskwright_builtin.methods.post_randomisation.markov import corrected_counts
from maskwright_builtin.methods.post_randomisation.ordinal_noise import ORDINAL_NOISE
from maskwright_builtin.methods.post_randomisation.pram import PRAM

__all__ = ["ORDINAL_NOISE", "PRAM", "corrected_counts"]
