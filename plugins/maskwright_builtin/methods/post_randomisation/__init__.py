"""Post-randomisation: categories change at random along a Markov matrix."""

from __future__ import annotations

from maskwright_builtin.methods.post_randomisation.pram import PRAM

__all__ = ["PRAM"]
