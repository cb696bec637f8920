"""Microaggregation along one axis."""
