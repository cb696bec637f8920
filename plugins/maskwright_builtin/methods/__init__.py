"""Built-in methods."""

from __future__ import annotations

from maskwright_builtin.methods.fuzzy_microaggregation import FUZZY_MICROAGGREGATION
from maskwright_builtin.methods.microaggregation import MICROAGGREGATION

METHODS = (FUZZY_MICROAGGREGATION, MICROAGGREGATION)
