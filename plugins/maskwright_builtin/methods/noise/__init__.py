"""Noise: a random number is added to each value, or multiplies it."""

from __future__ import annotations

from maskwright_builtin.methods.noise.correlated_noise import CORRELATED_NOISE
from maskwright_builtin.methods.noise.independent_noise import ADDITIVE_NOISE, MULTIPLICATIVE_NOISE

__all__ = ["ADDITIVE_NOISE", "CORRELATED_NOISE", "MULTIPLICATIVE_NOISE"]
