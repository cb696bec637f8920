"""Constrained fuzzy c-means and entropy-based fuzzy c-means, and groups drawn from their memberships."""

from __future__ import annotations

from maskwright_builtin.methods.microaggregation.fuzzy_clustering.clustering import (
    FuzzyClusters,
    clustering_iterations,
    fuzzy_c_means,
    means_of_present,
)
from maskwright_builtin.methods.microaggregation.fuzzy_clustering.drawing import draw_centroids, enlarge_groups

__all__ = [
    "FuzzyClusters",
    "clustering_iterations",
    "draw_centroids",
    "enlarge_groups",
    "fuzzy_c_means",
    "means_of_present",
]
