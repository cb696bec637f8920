"""Clusters with too few values of a variable publish the average of theirs and the nearest clusters' values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.data.frames import dataset_from_frame
from maskwright.data.record_groups import with_households

RARE = {"doubt": "promise-not-kept", "step": 1, "because": "who has no value is not secret"}


def _mask(frame: pd.DataFrame, *, types: dict[str, dict[str, object]] | None = None, **params: object) -> pd.DataFrame:
    given_types = types or {}
    names = frame.columns.astype(str)
    declared = {name: given_types.get(name, {"type": "continuous", "decimals": 12}) for name in names}
    given_params = {"k": 3, "group_size": "all", "partition": "mdav"} | params
    return mw.protect(frame, "microaggregation", seed=1, params=given_params, declared=declared, waive=[RARE])


def test_a_small_file_is_published_as_its_mean() -> None:
    """Two values, and three: no average of three others but that of all five."""
    frame = pd.DataFrame({"x": [10.0, 20, np.nan, 40, 50, 60], "y": [1.0, 2, 3, 4, 5, 6]})
    masked = _mask(frame, missing="available_cases")
    assert masked.x.dropna().tolist() == [36.0] * 5
    assert np.isnan(masked.x[2])
    assert masked.y.tolist() == [2.0] * 3 + [5.0] * 3


def test_the_notice_counts_the_clusters() -> None:
    frame = pd.DataFrame({"x": [10.0, 20, np.nan, 40, 50, 60], "y": [1.0, 2, 3, 4, 5, 6]})
    done = mask_request(
        masking_request(frame, "microaggregation", seed=1, params={"k": 3, "missing": "available_cases"}, waive=[RARE])
    )
    assert done.notes[0]["clusters_joined_for_missing_cells"] == 1
    assert any(
        "fewer than k = 3 records have a value" in said and "(x: 1 clusters)" in said for said in map(str, done.notices)
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(8, 60),
    share=st.floats(0.05, 0.8),
    policy=st.sampled_from(["own_pattern", "available_cases"]),
    weighted=st.booleans(),
)
def test_means_stay_and_every_value_is_an_average_of_k(
    seed: int, n: int, share: float, policy: str, *, weighted: bool
) -> None:
    """The (weighted) mean of each variable stays; a published value is the mean of its class, of k values or more."""
    rng = np.random.default_rng(seed)
    table = rng.normal(100.0, 20.0, (n, 3)).round(3)
    table[rng.random((n, 3)) < share] = np.nan
    table[:3] = [[1.0, 2.0, 3.0]] * 3
    frame = pd.DataFrame(table, columns=list("xyz")).assign(w=rng.integers(1, 9, n).astype(float))
    types: dict[str, dict[str, object]] = {"w": {"role": "weight"}}
    masked = _mask(frame, types=types, missing=policy, weighted=weighted)
    for name in "xyz":
        there = frame[name].notna()
        assert (masked[name].notna() == there).all()
        weights = frame.w[there] if weighted else np.ones(there.sum())
        assert np.average(masked[name][there], weights=weights) == pytest.approx(
            np.average(frame[name][there], weights=weights), rel=1e-10
        )
        for value, rows in masked[there].groupby(name).groups.items():
            assert len(rows) >= 3
            own = frame.w[rows] if weighted else np.ones(len(rows))
            assert np.average(frame[name][rows], weights=own) == pytest.approx(value, rel=1e-9)


def test_k_counts_the_households_that_have_a_value() -> None:
    """The households with a value in each class of equal values are three at least."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(50, 9, 60).round(1), "y": rng.normal(50, 9, 60).round(1)})
    frame.loc[rng.random(60) < 0.5, "x"] = np.nan
    frame["home"] = households = np.arange(60) // 3
    data = with_households(dataset_from_frame(frame, {}), "home").without(["home"])
    params = {"k": 3, "missing": "available_cases", "partition": "mdav"}
    masked = mask_request(masking_request(data, "microaggregation", seed=1, params=params)).masked["x"]
    there = ~masked.missing
    assert pd.Series(households[there]).groupby(masked.values[there]).nunique().min() >= 3


@pytest.mark.parametrize("method", ["microaggregation", "individual_ranking"])
@pytest.mark.parametrize("policy", ["own_pattern", "available_cases"])
def test_a_variable_with_fewer_than_k_values_is_refused(method: str, policy: str) -> None:
    """Before anything is masked, with the variables, their counts and what to do; a variable without values is not."""
    frame = pd.DataFrame({"x": [10.0, 20] + [np.nan] * 8, "y": np.arange(10.0), "z": [np.nan] * 10})
    with pytest.raises(mw.InputError, match=r"promises k = 3.*\(x: 2\)[\s\S]*role: identifier"):
        mw.protect(frame, method, seed=1, params={"k": 3, "missing": policy}, variables=["x", "y"])
    declared = {"z": {"type": "continuous"}}
    mw.protect(frame[["y", "z"]], method, seed=1, params={"k": 3, "missing": policy}, declared=declared)


def test_what_k_does_not_hold_for_is_said_where_it_is_only_reported() -> None:
    frame = pd.DataFrame({"x": [10.0, 20] + [np.nan] * 8, "y": np.arange(10.0)})
    params = {"k": 3, "missing": "available_cases", "k_guarantee": "report"}
    done = mask_request(masking_request(frame, "microaggregation", seed=1, params=params))
    assert done.masked["x"].values[:2].tolist() == [15.0, 15.0]
    assert any(
        "have a value of x where they are masked together: k does not hold" in str(said) for said in done.notices
    )
