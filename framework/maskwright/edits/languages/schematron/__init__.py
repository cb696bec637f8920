"""Schematron rule files, read as edits."""
