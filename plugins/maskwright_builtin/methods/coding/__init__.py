"""Coding: values beyond a limit are given one common value."""

from __future__ import annotations

from maskwright_builtin.methods.coding.top_and_bottom_coding import TOP_AND_BOTTOM_CODING

__all__ = ["TOP_AND_BOTTOM_CODING"]
