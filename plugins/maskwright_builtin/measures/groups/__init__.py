"""Risk of whole groups: households with all their members."""
