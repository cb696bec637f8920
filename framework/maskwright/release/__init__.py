"""What is read back, checked, measured and published."""
