"""Built-in partitions."""
