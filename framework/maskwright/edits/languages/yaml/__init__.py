"""The YAML language of edits."""
