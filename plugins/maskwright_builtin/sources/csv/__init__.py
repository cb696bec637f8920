"""CSV microdata."""
