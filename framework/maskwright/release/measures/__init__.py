"""Measures of a release: which variables they look at, their figures, and the ones that are usual."""
