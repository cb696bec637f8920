"""Built-in methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_builtin.methods.distribution import PROBABILITY_DISTRIBUTION, RESAMPLING
from maskwright_builtin.methods.generalisation import GENERALISATION, MONDRIAN
from maskwright_builtin.methods.lossy_compression import LOSSY_COMPRESSION
from maskwright_builtin.methods.microaggregation.fuzzy_microaggregation import FUZZY_MICROAGGREGATION
from maskwright_builtin.methods.microaggregation.microaggregation import INDIVIDUAL_RANKING, MICROAGGREGATION
from maskwright_builtin.methods.noise import ADDITIVE_NOISE, CORRELATED_NOISE, MULTIPLICATIVE_NOISE
from maskwright_builtin.methods.post_randomisation import ORDINAL_NOISE, PRAM
from maskwright_builtin.methods.recoding import RECODING
from maskwright_builtin.methods.rounding import ROUNDING
from maskwright_builtin.methods.sampling import SAMPLING
from maskwright_builtin.methods.suppression import LOCAL_SUPPRESSION, RECORD_SUPPRESSION
from maskwright_builtin.methods.swapping import DATA_SHUFFLING, DATA_SWAPPING, RANK_SWAPPING, TARGETED_SWAPPING
from maskwright_builtin.methods.synthetic import (
    CART_SYNTHESIS,
    FUZZY_C_REGRESSION,
    IPSO,
    MICRO_HYBRID,
    MURALIDHAR_SARATHY,
)
from maskwright_builtin.methods.top_and_bottom_coding import TOP_AND_BOTTOM_CODING

if TYPE_CHECKING:
    from maskwright import Method, Remover

METHODS: tuple[Method | Remover, ...] = (
    ADDITIVE_NOISE,
    CART_SYNTHESIS,
    CORRELATED_NOISE,
    DATA_SHUFFLING,
    DATA_SWAPPING,
    FUZZY_C_REGRESSION,
    FUZZY_MICROAGGREGATION,
    GENERALISATION,
    INDIVIDUAL_RANKING,
    IPSO,
    LOCAL_SUPPRESSION,
    LOSSY_COMPRESSION,
    MICRO_HYBRID,
    MICROAGGREGATION,
    MONDRIAN,
    MULTIPLICATIVE_NOISE,
    MURALIDHAR_SARATHY,
    ORDINAL_NOISE,
    PRAM,
    PROBABILITY_DISTRIBUTION,
    RANK_SWAPPING,
    RECODING,
    RECORD_SUPPRESSION,
    RESAMPLING,
    ROUNDING,
    SAMPLING,
    TARGETED_SWAPPING,
    TOP_AND_BOTTOM_CODING,
)
