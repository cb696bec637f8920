"""In blocks a method changes as much as in the whole file, or the same, or it masks the whole file at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw

AT_ONCE = {
    "pram", "ordinal_noise", "data_swapping", "data_shuffling", "muralidhar_sarathy", "ipso", "fuzzy_c_regression",
    "additive_noise", "correlated_noise", "rank_swapping", "lossy_compression", "resampling",
    "probability_distribution", "top_and_bottom_coding", "targeted_swapping", "cart_synthesis", "record_resampling",
}  # fmt: skip
"""Weaker among neighbours, or made from moments, quantiles, ranks or trees of the whole file."""

OF_CATEGORIES = {"pram", "ordinal_noise"}

IN_BLOCKS: dict[str, dict[str, Any]] = {
    "microaggregation": {"k": 5}, "individual_ranking": {"k": 5}, "fuzzy_microaggregation": {"k": 5},
    "micro_hybrid": {"k": 50},
}  # fmt: skip

ANYHOW: dict[str, tuple[str, dict[str, Any]]] = {
    "noise": ("multiplicative_noise", {}),
    "truncated noise": ("multiplicative_noise", {"distribution": "truncated_normal"}),
    "rounding": ("rounding", {"base": 0.5}),
    "random rounding": ("rounding", {"base": 0.5, "kind": "random"}),
    "given limits": ("top_and_bottom_coding", {"top": 0.5, "bottom": -3.0}),
    "given bands": ("recoding", {"recode": {"x": [-1, 0, 1], "y": [0]}}),
}


def test_every_method_masks_at_once_or_is_measured_in_blocks() -> None:
    from maskwright.plugins.registry import plugins

    changing = {name for name, method in plugins().methods.items() if not method.claims.removes}
    anyhow = {name for name, _ in ANYHOW.values()} - {"recoding"}
    assert changing == AT_ONCE | set(IN_BLOCKS) | anyhow


@pytest.mark.parametrize("method", sorted(AT_ONCE - {"targeted_swapping", "cart_synthesis"}))
def test_methods_that_need_the_whole_file_mask_it_at_once(method: str, caplog: pytest.LogCaptureFixture) -> None:
    frame = (
        pd.DataFrame({"a": pd.Categorical(["1", "2"] * 50, ordered=True)})
        if method in OF_CATEGORIES
        else pd.DataFrame(np.random.default_rng(1).normal(size=(100, 2)), columns=["x", "y"])
    )
    variables = ["a"] if method in OF_CATEGORIES else ["x", "y"]
    whole = mw.protect(frame, method, variables=variables, seed=1)
    with caplog.at_level("INFO", "maskwright"):
        assert whole.equals(mw.protect(frame, method, variables=variables, seed=1, block_size=50))
    assert f"step 1: {method} masks all records at once, not in blocks of 50" in caplog.text


def test_removers_take_records_away_from_the_whole_file() -> None:
    """A sample is no block: it is drawn from all records, whatever the others are masked in."""
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(200, 2)), columns=["x", "y"])
    steps = [{"method": "sampling", "params": {"fraction": 0.5}}, {"method": "microaggregation", "params": {"k": 5}}]
    assert len(mw.protect(frame, steps=steps, seed=1, block_size=40)) == 100


def _frame(n: int) -> pd.DataFrame:
    mixing = np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    return pd.DataFrame(np.random.default_rng(0).normal(size=(n, 3)) @ mixing, columns=list("xyz"))


@pytest.mark.parametrize("method", sorted(IN_BLOCKS))
def test_methods_change_as_much_in_blocks_as_in_the_whole_file(method: str) -> None:
    """On 4,000 records in blocks of 1,000; three quarters of the change is the least."""
    frame = _frame(4_000)
    sizes = []
    for block_size in (None, 1_000):
        masked = mw.protect(frame, method, params=IN_BLOCKS[method], seed=1, block_size=block_size)
        sizes.append(float(np.sqrt(((masked - frame) ** 2).to_numpy().mean())))
    assert sizes[1] > 0.75 * sizes[0]


@pytest.mark.parametrize("name", ANYHOW)
@settings(max_examples=5, deadline=None)
@given(block_size=st.integers(2, 400))
def test_record_local_methods_give_the_same_values_in_any_blocks(name: str, block_size: int) -> None:
    """Each record has its own random numbers, also where cells are missing."""
    method, params = ANYHOW[name]
    frame = _frame(400)
    frame.iloc[::7, 1] = np.nan
    frame = frame[["x", "y"]]
    whole = mw.protect(frame, method, params=params, seed=1)
    pd.testing.assert_frame_equal(mw.protect(frame, method, params=params, seed=1, block_size=block_size), whole)


def test_coding_by_a_share_is_of_the_whole_file() -> None:
    asked = {"method": "top_and_bottom_coding", "params": {"top_share": 0.1}, "seed": 1}
    assert mw.protect(_frame(100), block_size=50, **asked).equals(mw.protect(_frame(100), **asked))


def test_draws_by_record_are_uniform_and_independent() -> None:
    """Means and covariances of two columns, and of neighbouring records, are those of independent uniform numbers."""
    values = np.zeros((200_000, 1))
    block = mw.Block(values, np.isnan(values), (mw.Variable("x"),))
    drawn = mw.uniform_by_record(block, np.random.default_rng(5), 2)
    assert 0.0 < drawn.min() < drawn.max() < 1.0
    np.testing.assert_allclose(drawn.mean(axis=0), 0.5, atol=0.003)
    np.testing.assert_allclose(drawn.var(axis=0), 1 / 12, atol=0.001)
    pairs = (drawn[:-1, 0], drawn[1:, 0]), (drawn[:, 0], drawn[:, 1]), (drawn[:, 0], np.arange(len(drawn)))
    assert all(abs(np.corrcoef(one, other)[0, 1]) < 0.01 for one, other in pairs)
    counts = np.histogram(drawn[:, 0], bins=64, range=(0, 1))[0]
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 120
