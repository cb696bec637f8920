"""Additive noise and the shift of means: an example of a plugin package for Maskwright."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright import Measure, Method, hookimpl
from maskwright_example.mean_shift import EXAMPLE_MEAN_SHIFT
from maskwright_example.noise import EXAMPLE_NOISE

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTRACT = 2
"""The contract with Maskwright that this package is written for."""


@hookimpl
def register_methods() -> Sequence[Method]:
    """Offer the method."""
    return [EXAMPLE_NOISE]


@hookimpl
def register_measures() -> Sequence[Measure]:
    """Offer the measure."""
    return [EXAMPLE_MEAN_SHIFT]
