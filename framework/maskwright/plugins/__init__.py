"""What a plugin is: the records of each kind, the hooks, the registry."""
