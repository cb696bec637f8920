"""Edits from one language into the other, without loss of meaning; what cannot be written there is refused by name."""
