"""XML microdata."""
