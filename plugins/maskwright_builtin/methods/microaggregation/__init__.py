"""Microaggregation: records replaced by the representative of a cluster, hard or fuzzy."""
