"""A package with a plugin to start from: checked names, and files that are green at once."""
