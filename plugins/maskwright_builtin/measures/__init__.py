"""Built-in measures."""

from __future__ import annotations

from maskwright_builtin.measures.discrepancy import DISCREPANCY
from maskwright_builtin.measures.distance_record_linkage import DISTANCE_RECORD_LINKAGE
from maskwright_builtin.measures.distributions import HELLINGER, KOLMOGOROV_SMIRNOV
from maskwright_builtin.measures.edit_knowledge_disclosure import EDIT_KNOWLEDGE_DISCLOSURE
from maskwright_builtin.measures.higher_moments import HIGHER_MOMENTS
from maskwright_builtin.measures.il1s import IL1S
from maskwright_builtin.measures.interval_disclosure import INTERVAL_DISCLOSURE
from maskwright_builtin.measures.k_anonymity import K_ANONYMITY
from maskwright_builtin.measures.l_diversity import L_DIVERSITY
from maskwright_builtin.measures.mahalanobis_record_linkage import MAHALANOBIS_RECORD_LINKAGE
from maskwright_builtin.measures.microaggregation_gap import MICROAGGREGATION_GAP
from maskwright_builtin.measures.order_statistics_attack import ORDER_STATISTICS_ATTACK
from maskwright_builtin.measures.probabilistic_information_loss import PROBABILISTIC_INFORMATION_LOSS
from maskwright_builtin.measures.probabilistic_record_linkage import PROBABILISTIC_RECORD_LINKAGE
from maskwright_builtin.measures.propensity import PROPENSITY
from maskwright_builtin.measures.regression_overlap import REGRESSION_OVERLAP
from maskwright_builtin.measures.score import SCORE
from maskwright_builtin.measures.squared_error import SQUARED_ERROR
from maskwright_builtin.measures.structural_zeros import STRUCTURAL_ZEROS
from maskwright_builtin.measures.subdomains import SUBDOMAINS
from maskwright_builtin.measures.t_closeness import T_CLOSENESS
from maskwright_builtin.measures.thesis_information_loss import THESIS_INFORMATION_LOSS
from maskwright_builtin.measures.thesis_score import THESIS_SCORE
from maskwright_builtin.measures.uniqueness import UNIQUENESS
from maskwright_builtin.measures.weighted_score import WEIGHTED_SCORE

MEASURES = (
    EDIT_KNOWLEDGE_DISCLOSURE,
    K_ANONYMITY,
    L_DIVERSITY,
    T_CLOSENESS,
    UNIQUENESS,
    DISCREPANCY,
    DISTANCE_RECORD_LINKAGE,
    HELLINGER,
    HIGHER_MOMENTS,
    IL1S,
    INTERVAL_DISCLOSURE,
    KOLMOGOROV_SMIRNOV,
    MAHALANOBIS_RECORD_LINKAGE,
    ORDER_STATISTICS_ATTACK,
    MICROAGGREGATION_GAP,
    PROBABILISTIC_INFORMATION_LOSS,
    PROBABILISTIC_RECORD_LINKAGE,
    PROPENSITY,
    REGRESSION_OVERLAP,
    SCORE,
    SQUARED_ERROR,
    STRUCTURAL_ZEROS,
    SUBDOMAINS,
    THESIS_INFORMATION_LOSS,
    THESIS_SCORE,
    WEIGHTED_SCORE,
)
