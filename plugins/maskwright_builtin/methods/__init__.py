"""Built-in methods, each imported when it is used."""

from __future__ import annotations

from maskwright import Deferred

METHODS = (
    Deferred("additive_noise", f"{__name__}.noise.independent_noise:ADDITIVE_NOISE"),
    Deferred("cart_synthesis", f"{__name__}.synthetic.cart_synthesis:CART_SYNTHESIS"),
    Deferred("correlated_noise", f"{__name__}.noise.correlated_noise:CORRELATED_NOISE"),
    Deferred("data_shuffling", f"{__name__}.swapping.value_swapping:DATA_SHUFFLING"),
    Deferred("data_swapping", f"{__name__}.swapping.value_swapping:DATA_SWAPPING"),
    Deferred("fuzzy_c_regression", f"{__name__}.synthetic.fuzzy_c_regression:FUZZY_C_REGRESSION"),
    Deferred(
        "fuzzy_microaggregation",
        f"{__name__}.microaggregation.fuzzy_microaggregation:FUZZY_MICROAGGREGATION",
    ),
    Deferred("generalisation", f"{__name__}.generalisation.generalisation:GENERALISATION"),
    Deferred("individual_ranking", f"{__name__}.microaggregation.microaggregation:INDIVIDUAL_RANKING"),
    Deferred("ipso", f"{__name__}.synthetic.regression_synthesis:IPSO"),
    Deferred("local_suppression", f"{__name__}.suppression.local_suppression:LOCAL_SUPPRESSION"),
    Deferred("lossy_compression", f"{__name__}.lossy_compression:LOSSY_COMPRESSION"),
    Deferred("micro_hybrid", f"{__name__}.synthetic.micro_hybrid:MICRO_HYBRID"),
    Deferred("microaggregation", f"{__name__}.microaggregation.microaggregation:MICROAGGREGATION"),
    Deferred("mondrian", f"{__name__}.generalisation.mondrian:MONDRIAN"),
    Deferred("multiplicative_noise", f"{__name__}.noise.independent_noise:MULTIPLICATIVE_NOISE"),
    Deferred("muralidhar_sarathy", f"{__name__}.synthetic.regression_synthesis:MURALIDHAR_SARATHY"),
    Deferred("ordinal_noise", f"{__name__}.post_randomisation.ordinal_noise:ORDINAL_NOISE"),
    Deferred("pram", f"{__name__}.post_randomisation.pram:PRAM"),
    Deferred("probability_distribution", f"{__name__}.distribution.distortion:PROBABILITY_DISTRIBUTION"),
    Deferred("rank_swapping", f"{__name__}.swapping.value_swapping:RANK_SWAPPING"),
    Deferred("recoding", f"{__name__}.recoding:RECODING"),
    Deferred("record_resampling", f"{__name__}.distribution.distortion:RECORD_RESAMPLING"),
    Deferred("record_suppression", f"{__name__}.suppression.local_suppression:RECORD_SUPPRESSION"),
    Deferred("resampling", f"{__name__}.distribution.distortion:RESAMPLING"),
    Deferred("rounding", f"{__name__}.rounding:ROUNDING"),
    Deferred("sampling", f"{__name__}.sampling:SAMPLING"),
    Deferred("targeted_swapping", f"{__name__}.swapping.targeted_swapping:TARGETED_SWAPPING"),
    Deferred("top_and_bottom_coding", f"{__name__}.top_and_bottom_coding:TOP_AND_BOTTOM_CODING"),
)
