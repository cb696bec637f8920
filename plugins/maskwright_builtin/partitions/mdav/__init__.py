"""MDAV, exact."""
