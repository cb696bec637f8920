"""Built-in methods."""

from __future__ import annotations

from maskwright_builtin.methods.microaggregation import MICROAGGREGATION

METHODS = (MICROAGGREGATION,)
