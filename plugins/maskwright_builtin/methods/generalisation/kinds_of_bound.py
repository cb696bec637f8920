"""Kinds of bound on the values of a sensitive variable in a class."""

from __future__ import annotations

DISTINCT, ENTROPY, RECURSIVE, EQUAL, ORDERED = 0, 1, 2, 3, 4
