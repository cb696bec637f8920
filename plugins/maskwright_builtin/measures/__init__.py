"""Built-in measures."""
