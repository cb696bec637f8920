"""Rules of the R package validate, in YAML or as R text, read as edits."""
