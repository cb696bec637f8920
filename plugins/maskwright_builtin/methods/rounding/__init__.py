"""Rounding to multiples of a base, edits considered."""

from __future__ import annotations

from maskwright_builtin.methods.rounding.rounding import ROUNDING

__all__ = ["ROUNDING"]
