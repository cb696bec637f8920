"""Kinds of constraints that come with Maskwright."""

from __future__ import annotations

from maskwright_builtin.constraints.at_most_nonzero import AT_MOST_NONZERO

CONSTRAINTS = (AT_MOST_NONZERO,)
