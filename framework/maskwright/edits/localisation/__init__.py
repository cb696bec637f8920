"""Error localisation: which fields of a record are the fewest to change so that all edits can hold."""
