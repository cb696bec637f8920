"""The pipeline file: read with positions, names resolved to plugins, every mistake at once."""
