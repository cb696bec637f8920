"""Swapping: values change places between records, and none is made up."""

from __future__ import annotations

from maskwright_builtin.methods.swapping.targeted_swapping import TARGETED_SWAPPING
from maskwright_builtin.methods.swapping.value_swapping import DATA_SHUFFLING, DATA_SWAPPING, RANK_SWAPPING

__all__ = ["DATA_SHUFFLING", "DATA_SWAPPING", "RANK_SWAPPING", "TARGETED_SWAPPING"]
