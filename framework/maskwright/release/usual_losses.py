"""Losses that are measured of masked variables where nobody asked for one of their kind."""

from __future__ import annotations

USUAL_OF_NUMBERS = ("pil", "sse")
"""Names of the measures, of numbers."""

USUAL_OF_CATEGORIES = ("contingency_tables", "entropy_based_loss")
"""Of categories: the tables that users make, and the detail that recoding and suppression take away."""
