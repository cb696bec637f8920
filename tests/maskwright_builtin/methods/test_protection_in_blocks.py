"""In blocks a method changes as much as in the whole file, or it refuses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

BLOCKS = {
    "pram", "ordinal_noise", "data_swapping", "data_shuffling", "muralidhar_sarathy", "ipso", "fuzzy_c_regression",
}  # fmt: skip


OF_CATEGORIES = {"pram", "ordinal_noise"}
WHOLE = {"targeted_swapping", "cart_synthesis"}
"""Never cut into blocks: households are exchanged between areas, trees are grown on all records."""


@pytest.mark.parametrize("method", sorted(BLOCKS))
def test_methods_that_are_weaker_in_blocks_refuse_them(method: str) -> None:
    frame = (
        pd.DataFrame({"a": pd.Categorical(["1", "2"] * 50, ordered=True)})
        if method in OF_CATEGORIES
        else pd.DataFrame(np.random.default_rng(1).normal(size=(100, 2)), columns=["x", "y"])
    )
    variables = ["a"] if method in OF_CATEGORIES else ["x", "y"]
    with pytest.raises(mw.InputError, match=f"{method} protects less in blocks"):
        mw.protect(frame, method, variables=variables, seed=1, block_size=50)


IN_BLOCKS: dict[str, dict[str, Any]] = {
    "additive_noise": {}, "correlated_noise": {}, "multiplicative_noise": {}, "rank_swapping": {},
    "lossy_compression": {}, "resampling": {}, "probability_distribution": {}, "top_and_bottom_coding": {},
    "rounding": {"base": 0.5}, "microaggregation": {"k": 5}, "individual_ranking": {"k": 5},
    "fuzzy_microaggregation": {"k": 5}, "micro_hybrid": {"k": 50},
}  # fmt: skip


def test_every_method_is_either_refused_in_blocks_or_measured() -> None:
    from maskwright.plugins.registry import plugins

    changing = {name for name, method in plugins().methods.items() if not method.removes}
    assert changing == BLOCKS | WHOLE | set(IN_BLOCKS)


@pytest.mark.parametrize("method", sorted(IN_BLOCKS))
def test_methods_change_as_much_in_blocks_as_in_the_whole_file(method: str) -> None:
    """On 10,000 records in blocks of 1,000; three quarters of the change is the least."""
    mixing = np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(10_000, 3)) @ mixing, columns=list("xyz"))
    sizes = []
    for block_size in (None, 1_000):
        masked = mw.protect(frame, method, params=IN_BLOCKS[method], seed=1, block_size=block_size)
        sizes.append(float(np.sqrt(((masked - frame) ** 2).to_numpy().mean())))
    assert sizes[1] > 0.75 * sizes[0]
