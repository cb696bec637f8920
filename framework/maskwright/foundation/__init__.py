"""What every room stands on: errors, progress, randomness, YAML with places. Knows no microdata, edit or plugin."""
