"""Built-in measures, each imported when it is used."""

from __future__ import annotations

from maskwright import Deferred

MEASURES = (
    Deferred(
        "attribute_inference",
        f"{__name__}.attribute_disclosure.attribute_inference:ATTRIBUTE_INFERENCE",
    ),
    Deferred(
        "contingency_table_loss",
        f"{__name__}.information_loss.categorical.contingency_tables:CONTINGENCY_TABLE_LOSS",
    ),
    Deferred(
        "contingency_tables",
        f"{__name__}.information_loss.categorical.contingency_tables:CONTINGENCY_TABLES",
    ),
    Deferred("cramers_v", f"{__name__}.information_loss.categorical.category_losses:CRAMERS_V"),
    Deferred("discrepancy", f"{__name__}.information_loss.discrepancy:DISCREPANCY"),
    Deferred(
        "distance_based_loss",
        f"{__name__}.information_loss.categorical.category_losses:DISTANCE_BASED_LOSS",
    ),
    Deferred(
        "distance_record_linkage",
        f"{__name__}.record_linkage.distance_record_linkage:DISTANCE_RECORD_LINKAGE",
    ),
    Deferred("dominance", f"{__name__}.attribute_disclosure.dominance:DOMINANCE"),
    Deferred(
        "edit_knowledge_disclosure",
        f"{__name__}.attribute_disclosure.edit_knowledge_disclosure:EDIT_KNOWLEDGE_DISCLOSURE",
    ),
    Deferred(
        "entropy_based_loss",
        f"{__name__}.information_loss.categorical.category_losses:ENTROPY_BASED_LOSS",
    ),
    Deferred("hellinger", f"{__name__}.information_loss.distributions:HELLINGER"),
    Deferred("higher_moments", f"{__name__}.information_loss.additive_losses:HIGHER_MOMENTS"),
    Deferred("household_linkage", f"{__name__}.groups.household_linkage:HOUSEHOLD_LINKAGE"),
    Deferred("household_risk", f"{__name__}.groups.household_risk:HOUSEHOLD_RISK"),
    Deferred("household_uniqueness", f"{__name__}.groups.household_risk:HOUSEHOLD_UNIQUENESS"),
    Deferred("il1s", f"{__name__}.information_loss.additive_losses:IL1S"),
    Deferred("individual_risk", f"{__name__}.key_variables.individual_risk:INDIVIDUAL_RISK"),
    Deferred(
        "interval_disclosure",
        f"{__name__}.attribute_disclosure.interval_disclosure:INTERVAL_DISCLOSURE",
    ),
    Deferred("k_anonymity", f"{__name__}.key_variables.k_anonymity:K_ANONYMITY"),
    Deferred("k_map", f"{__name__}.key_variables.k_anonymity:K_MAP"),
    Deferred("kolmogorov_smirnov", f"{__name__}.information_loss.distributions:KOLMOGOROV_SMIRNOV"),
    Deferred("l_diversity", f"{__name__}.key_variables.l_diversity_t_closeness:L_DIVERSITY"),
    Deferred(
        "mahalanobis_record_linkage",
        f"{__name__}.record_linkage.distance_record_linkage:MAHALANOBIS_RECORD_LINKAGE",
    ),
    Deferred("mg", f"{__name__}.scores:THESIS_SCORE"),
    Deferred("microaggregation_gap", f"{__name__}.information_loss.microaggregation_gap:MICROAGGREGATION_GAP"),
    Deferred(
        "microaggregation_record_linkage",
        f"{__name__}.record_linkage.transparency_linkage:MICROAGGREGATION_RECORD_LINKAGE",
    ),
    Deferred(
        "mixed_probabilistic_record_linkage",
        f"{__name__}.record_linkage.mixed.mixed_probabilistic_record_linkage:MIXED_PROBABILISTIC_RECORD_LINKAGE",
    ),
    Deferred(
        "mixed_record_linkage",
        f"{__name__}.record_linkage.mixed.mixed_record_linkage:MIXED_RECORD_LINKAGE",
    ),
    Deferred(
        "order_statistics_attack",
        f"{__name__}.attribute_disclosure.order_statistics_attack:ORDER_STATISTICS_ATTACK",
    ),
    Deferred("pi", f"{__name__}.information_loss.thesis_information_loss:THESIS_INFORMATION_LOSS"),
    Deferred(
        "pil",
        f"{__name__}.information_loss.probabilistic_information_loss:PROBABILISTIC_INFORMATION_LOSS",
    ),
    Deferred("population_uniques", f"{__name__}.key_variables.population_uniques:POPULATION_UNIQUES"),
    Deferred(
        "probabilistic_record_linkage",
        f"{__name__}.record_linkage.probabilistic_record_linkage:PROBABILISTIC_RECORD_LINKAGE",
    ),
    Deferred("propensity", f"{__name__}.information_loss.propensity:PROPENSITY"),
    Deferred(
        "rank_swapping_record_linkage",
        f"{__name__}.record_linkage.transparency_linkage:RANK_SWAPPING_RECORD_LINKAGE",
    ),
    Deferred("regression_overlap", f"{__name__}.information_loss.regression_overlap:REGRESSION_OVERLAP"),
    Deferred("score", f"{__name__}.scores:SCORE"),
    Deferred("spikes", f"{__name__}.information_loss.spikes:SPIKES"),
    Deferred("sse", f"{__name__}.information_loss.additive_losses:SQUARED_ERROR"),
    Deferred("structural_zeros", f"{__name__}.information_loss.additive_losses:STRUCTURAL_ZEROS"),
    Deferred("subdomains", f"{__name__}.information_loss.subdomains:SUBDOMAINS"),
    Deferred("suda", f"{__name__}.key_variables.suda:SUDA"),
    Deferred("t_closeness", f"{__name__}.key_variables.l_diversity_t_closeness:T_CLOSENESS"),
    Deferred("uniqueness", f"{__name__}.key_variables.k_anonymity:UNIQUENESS"),
    Deferred("weighted_score", f"{__name__}.weighted_score:WEIGHTED_SCORE"),
)
