"""Rules that hold in a file, as suggestions that a person accepts or rejects."""
