"""How many records, and people of the population, share a combination of key variables."""
