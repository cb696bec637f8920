"""The kind of an edit, by algebra: conditions as parts, parts as conditions."""
