"""Microdata in memory: variables, datasets, chunks of records, number text."""
