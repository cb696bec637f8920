"""Scores: loss and risk in one number."""
