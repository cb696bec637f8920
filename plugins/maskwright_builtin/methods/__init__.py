"""Built-in methods."""
