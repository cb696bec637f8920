"""Every method that perturbs values, on the Census file under its rules."""

from __future__ import annotations

import pytest

import maskwright as mw

PERTURBING = {
    "additive_noise": {"p": 0.2, "correction": "mean_and_variance"},
    "correlated_noise": {"p": 0.2},
    "multiplicative_noise": {"p": 0.2},
    "probability_distribution": {},
    "resampling": {"t": 1},
    "rank_swapping": {"p": 15},
    "data_swapping": {"rate": 0.3, "grouping": "equalities"},
    "data_shuffling": {},
    "rounding": {"base": 1000, "kind": "random"},
    "lossy_compression": {"quality": 55},
    "top_and_bottom_coding": {"top_share": 0.3, "bottom_share": 0.2},
    "microaggregation": {"k": 5, "partition": {"projection": {"onto": "rotated_factor"}}, "group_size": "all"},
    "individual_ranking": {"k": 5, "k_guarantee": "report"},
}


@pytest.mark.parametrize("method", PERTURBING)
@pytest.mark.waived("adjustment-distorts")
def test_no_record_violates_a_rule_of_the_census(method: str, census: mw.Dataset, census_rules: list[str]) -> None:
    # Amounts in thousands are multiples of the base already.
    round_ones = {"doubt": "values-unchanged", "variable": ["PEARNVAL", "WSALVAL", "ERNVAL"], "because": "as expected"}
    masked = mw.protect(
        census, method, edits=census_rules, seed=1, params=PERTURBING[method],
        waive=[round_ones] if method == "rounding" else [],
    )  # fmt: skip
    assert mw.validate(masked, census_rules).ok
    assert (masked.matrix() != census.matrix()).mean() > 0.2
