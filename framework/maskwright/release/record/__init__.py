"""The record of a run: models of its parts, each field marked if it may be published."""
