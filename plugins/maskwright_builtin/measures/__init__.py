"""Built-in measures."""

from __future__ import annotations

from maskwright_builtin.measures.distance_record_linkage import DISTANCE_RECORD_LINKAGE
from maskwright_builtin.measures.interval_disclosure import INTERVAL_DISCLOSURE
from maskwright_builtin.measures.mahalanobis_record_linkage import MAHALANOBIS_RECORD_LINKAGE
from maskwright_builtin.measures.probabilistic_information_loss import PROBABILISTIC_INFORMATION_LOSS
from maskwright_builtin.measures.probabilistic_record_linkage import PROBABILISTIC_RECORD_LINKAGE
from maskwright_builtin.measures.score import SCORE
from maskwright_builtin.measures.squared_error import SQUARED_ERROR

MEASURES = (
    DISTANCE_RECORD_LINKAGE,
    INTERVAL_DISCLOSURE,
    MAHALANOBIS_RECORD_LINKAGE,
    PROBABILISTIC_INFORMATION_LOSS,
    PROBABILISTIC_RECORD_LINKAGE,
    SCORE,
    SQUARED_ERROR,
)
