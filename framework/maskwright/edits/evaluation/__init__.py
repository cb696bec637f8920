"""Verdicts: every edit on every record, in exact or in binary arithmetic."""
