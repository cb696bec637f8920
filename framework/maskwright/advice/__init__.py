"""Advice on which variables to mask together."""
