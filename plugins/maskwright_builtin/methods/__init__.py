"""Built-in methods."""

from __future__ import annotations

from maskwright_builtin.methods.fuzzy_microaggregation import FUZZY_MICROAGGREGATION
from maskwright_builtin.methods.individual_ranking import INDIVIDUAL_RANKING
from maskwright_builtin.methods.microaggregation import MICROAGGREGATION

METHODS = (FUZZY_MICROAGGREGATION, MICROAGGREGATION, INDIVIDUAL_RANKING)
