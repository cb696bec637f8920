"""From a plan to masked values: protect, adjust, round, suppress."""
