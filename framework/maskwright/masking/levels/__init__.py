"""Masking data of several levels: what is derived across levels, and what moves together."""
