"""Shades of a coloured table: how strong a difference is, in steps that style sheets colour."""

from __future__ import annotations

STEPS = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Differences of correlations from which a shade begins."""


def shade_of(difference: float | None) -> str:
    """Class of a cell: ``rise-1`` to ``rise-5``, ``fall-1`` to ``fall-5``, or '' for what is hardly a difference."""
    if difference is None:
        return ""
    strength = sum(abs(difference) >= step for step in STEPS)
    return f"{'rise' if difference > 0 else 'fall'}-{strength}" if strength else ""
