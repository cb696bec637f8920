"""A certified lower bound of the loss of any partition into clusters of at least k."""
