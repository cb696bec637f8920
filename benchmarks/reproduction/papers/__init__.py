"""Sources of published tables, in the order of the book."""

from __future__ import annotations

from papers import constrained_fuzzy_c_means, synthetic_data, thesis

PAPERS = (
    constrained_fuzzy_c_means.PAPER,
    synthetic_data.REGRESSION,
    synthetic_data.DEGREE_PROJECT,
    thesis.METHODS,
    thesis.SECURITY,
)

__all__ = ["PAPERS"]
