"""Sources of published tables, in the order of the book."""

from __future__ import annotations

from dataclasses import replace

from papers import (
    categorical,
    claims,
    constrained_fuzzy_c_means,
    edit_constraints,
    edits_known,
    hybrid_data,
    information_loss,
    partition_bounds,
    synthetic_data,
    thesis,
)

PAPERS = (
    replace(constrained_fuzzy_c_means.PAPER, tables=(*constrained_fuzzy_c_means.PAPER.tables, edits_known.CLUSTERS)),
    replace(synthetic_data.REGRESSION, tables=(*synthetic_data.REGRESSION.tables, edits_known.REGRESSION)),
    synthetic_data.DEGREE_PROJECT,
    replace(hybrid_data.PAPER, tables=(*hybrid_data.PAPER.tables, edits_known.HYBRID)),
    replace(edit_constraints.PAPER, tables=(*edit_constraints.PAPER.tables, edits_known.CONSTRAINTS)),
    replace(thesis.METHODS, tables=(*thesis.METHODS.tables, edits_known.THESIS)),
    thesis.SECURITY,
    claims.PAPER,
    information_loss.PAPER,
    partition_bounds.PAPER,
    categorical.PAPER,
)

__all__ = ["PAPERS"]
