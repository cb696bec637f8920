"""Codebooks: what an office says of the variables of a file, in a table (CSV) or in DDI Codebook 2.5 (XML)."""
