"""Noise: a random number is added to each value, or multiplies it."""

from __future__ import annotations

from maskwright_builtin.methods.noise.additive import ADDITIVE_NOISE
from maskwright_builtin.methods.noise.correlated import CORRELATED_NOISE
from maskwright_builtin.methods.noise.multiplicative import MULTIPLICATIVE_NOISE

__all__ = ["ADDITIVE_NOISE", "CORRELATED_NOISE", "MULTIPLICATIVE_NOISE"]
