"""Distinct combinations of values, with how many records have each and what they weigh."""
