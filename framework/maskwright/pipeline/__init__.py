"""The pipeline file: YAML with positions, its model, names resolved to plugins."""
