"""Rules of the R package validate."""
