"""Excel microdata."""
