"""Edits: their model, the languages they are written in, their verdicts, and what they imply."""
