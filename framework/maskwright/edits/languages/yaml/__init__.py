"""Files of edits in the YAML language: their sections, aliases and further files."""
