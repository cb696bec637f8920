"""Sources of published tables, in the order of the book."""

from __future__ import annotations

from papers import (
    categorical,
    claims,
    constrained_fuzzy_c_means,
    edit_constraints,
    hybrid_data,
    information_loss,
    partition_bounds,
    synthetic_data,
    thesis,
)

PAPERS = (
    constrained_fuzzy_c_means.PAPER,
    synthetic_data.REGRESSION,
    synthetic_data.DEGREE_PROJECT,
    hybrid_data.PAPER,
    edit_constraints.PAPER,
    thesis.METHODS,
    thesis.SECURITY,
    claims.PAPER,
    information_loss.PAPER,
    partition_bounds.PAPER,
    categorical.PAPER,
)

__all__ = ["PAPERS"]
