"""Reasoning about edits: whether they can hold together, with some values fixed or none; exact."""
