"""Refinement: a partition improved at the same k."""
