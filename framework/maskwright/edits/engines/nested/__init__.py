"""Rules on files with records inside records, asked of real engines in documents of whole groups."""
