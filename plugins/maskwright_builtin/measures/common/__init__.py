"""What several measures share: pairing, standardising, weighting, uncertainty."""
