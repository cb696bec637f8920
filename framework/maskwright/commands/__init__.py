"""One verb a file, for paths and data frames alike."""
