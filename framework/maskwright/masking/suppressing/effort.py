"""How long it is reasoned about suppressed cells; apart, since a plan that only states it reasons about none."""

from __future__ import annotations

MOST_EFFORT = 100_000
"""Conditions looked at for one record before no more is reasoned about it; what is left is open then."""
