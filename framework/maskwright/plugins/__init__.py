"""What a plugin is: a frozen record of each kind, markers of parameters, the hooks, the registry."""
