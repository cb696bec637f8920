"""Built-in measures."""

from __future__ import annotations

from maskwright_builtin.measures.attribute_disclosure.edit_knowledge_disclosure import EDIT_KNOWLEDGE_DISCLOSURE
from maskwright_builtin.measures.attribute_disclosure.interval_disclosure import INTERVAL_DISCLOSURE
from maskwright_builtin.measures.attribute_disclosure.order_statistics_attack import ORDER_STATISTICS_ATTACK
from maskwright_builtin.measures.groups.household_linkage import HOUSEHOLD_LINKAGE
from maskwright_builtin.measures.groups.household_risk import HOUSEHOLD_RISK, HOUSEHOLD_UNIQUENESS
from maskwright_builtin.measures.information_loss.additive_losses import (
    HIGHER_MOMENTS,
    IL1S,
    SQUARED_ERROR,
    STRUCTURAL_ZEROS,
)
from maskwright_builtin.measures.information_loss.categorical.category_losses import (
    CRAMERS_V,
    DISTANCE_BASED_LOSS,
    ENTROPY_BASED_LOSS,
)
from maskwright_builtin.measures.information_loss.categorical.contingency_tables import (
    CONTINGENCY_TABLE_LOSS,
    CONTINGENCY_TABLES,
)
from maskwright_builtin.measures.information_loss.discrepancy import DISCREPANCY
from maskwright_builtin.measures.information_loss.distributions import HELLINGER, KOLMOGOROV_SMIRNOV
from maskwright_builtin.measures.information_loss.microaggregation_gap import MICROAGGREGATION_GAP
from maskwright_builtin.measures.information_loss.probabilistic_information_loss import PROBABILISTIC_INFORMATION_LOSS
from maskwright_builtin.measures.information_loss.propensity import PROPENSITY
from maskwright_builtin.measures.information_loss.regression_overlap import REGRESSION_OVERLAP
from maskwright_builtin.measures.information_loss.subdomains import SUBDOMAINS
from maskwright_builtin.measures.information_loss.thesis_information_loss import THESIS_INFORMATION_LOSS
from maskwright_builtin.measures.key_variables.individual_risk import INDIVIDUAL_RISK
from maskwright_builtin.measures.key_variables.k_anonymity import K_ANONYMITY, K_MAP, UNIQUENESS
from maskwright_builtin.measures.key_variables.l_diversity_t_closeness import L_DIVERSITY, T_CLOSENESS
from maskwright_builtin.measures.key_variables.population_uniques import POPULATION_UNIQUES
from maskwright_builtin.measures.key_variables.suda import SUDA
from maskwright_builtin.measures.record_linkage.distance_record_linkage import (
    DISTANCE_RECORD_LINKAGE,
    MAHALANOBIS_RECORD_LINKAGE,
)
from maskwright_builtin.measures.record_linkage.mixed.mixed_probabilistic_record_linkage import (
    MIXED_PROBABILISTIC_RECORD_LINKAGE,
)
from maskwright_builtin.measures.record_linkage.mixed.mixed_record_linkage import MIXED_RECORD_LINKAGE
from maskwright_builtin.measures.record_linkage.probabilistic_record_linkage import PROBABILISTIC_RECORD_LINKAGE
from maskwright_builtin.measures.scores import SCORE, THESIS_SCORE
from maskwright_builtin.measures.weighted_score import WEIGHTED_SCORE

MEASURES = (
    EDIT_KNOWLEDGE_DISCLOSURE,
    INDIVIDUAL_RISK,
    K_ANONYMITY,
    K_MAP,
    L_DIVERSITY,
    POPULATION_UNIQUES,
    SUDA,
    T_CLOSENESS,
    UNIQUENESS,
    CONTINGENCY_TABLES,
    CONTINGENCY_TABLE_LOSS,
    CRAMERS_V,
    DISCREPANCY,
    DISTANCE_BASED_LOSS,
    DISTANCE_RECORD_LINKAGE,
    ENTROPY_BASED_LOSS,
    HELLINGER,
    HIGHER_MOMENTS,
    HOUSEHOLD_LINKAGE,
    HOUSEHOLD_RISK,
    HOUSEHOLD_UNIQUENESS,
    IL1S,
    INTERVAL_DISCLOSURE,
    KOLMOGOROV_SMIRNOV,
    MAHALANOBIS_RECORD_LINKAGE,
    ORDER_STATISTICS_ATTACK,
    MICROAGGREGATION_GAP,
    MIXED_PROBABILISTIC_RECORD_LINKAGE,
    MIXED_RECORD_LINKAGE,
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
