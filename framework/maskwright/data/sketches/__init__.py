"""What many tasks count of their share of a file and one adds up, the same for any cut into shares."""
