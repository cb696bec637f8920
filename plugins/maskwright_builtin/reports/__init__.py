"""Built-in reports."""
