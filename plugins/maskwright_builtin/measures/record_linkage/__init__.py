"""Measures of record linkage: how many records an intruder finds again."""
