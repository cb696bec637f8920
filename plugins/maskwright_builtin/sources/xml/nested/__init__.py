"""XML microdata in which records are inside the records of another level: persons in households."""
