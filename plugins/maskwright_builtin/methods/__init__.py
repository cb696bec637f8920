"""Built-in methods."""

from __future__ import annotations

from maskwright_builtin.methods.fuzzy_microaggregation import FUZZY_MICROAGGREGATION
from maskwright_builtin.methods.individual_ranking import INDIVIDUAL_RANKING
from maskwright_builtin.methods.microaggregation import MICROAGGREGATION
from maskwright_builtin.methods.synthetic import FUZZY_C_REGRESSION, IPSO, MICRO_HYBRID, MURALIDHAR_SARATHY

METHODS = (
    FUZZY_C_REGRESSION,
    FUZZY_MICROAGGREGATION,
    INDIVIDUAL_RANKING,
    IPSO,
    MICRO_HYBRID,
    MICROAGGREGATION,
    MURALIDHAR_SARATHY,
)
