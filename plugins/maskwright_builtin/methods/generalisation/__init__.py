"""Generalisation along hierarchies, of all records alike, and of each class by itself."""

from __future__ import annotations

from maskwright_builtin.methods.generalisation.generalisation import GENERALISATION
from maskwright_builtin.methods.generalisation.mondrian import MONDRIAN

__all__ = ["GENERALISATION", "MONDRIAN"]
