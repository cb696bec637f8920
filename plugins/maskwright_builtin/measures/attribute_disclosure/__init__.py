"""Measures of attribute disclosure: how closely an intruder can guess a value."""
