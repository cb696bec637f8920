"""The languages edits are written in: read, and converted into each other."""
