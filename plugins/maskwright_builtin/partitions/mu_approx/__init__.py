"""µ-Approx: a forest of nearest records, cut into clusters."""
