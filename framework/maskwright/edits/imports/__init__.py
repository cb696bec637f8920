"""Rules that offices have in other languages, read as rules of the YAML language."""
