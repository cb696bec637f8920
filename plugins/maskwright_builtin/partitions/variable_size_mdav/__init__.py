"""Variable-size MDAV."""
