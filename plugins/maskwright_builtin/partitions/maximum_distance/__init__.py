"""Maximum distance: clusters around the two records farthest from each other."""
