"""Profiling of a file before anything is declared: what each variable probably is, without values."""
