"""Microdata in memory: variables, datasets, chunks of columns, number text."""
