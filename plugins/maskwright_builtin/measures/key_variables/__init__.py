"""Measures on declared key variables: who is unique, and what a class of equal records discloses."""
