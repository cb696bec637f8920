"""Data of several levels: households and their persons, firms and their establishments."""
