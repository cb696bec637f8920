"""Hierarchies of variables: coarser and coarser categories, from the values of a file up to one that holds them all."""
