"""k distinct households in every group, also in strata, among missing cells, and where there are too few."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.data.frames import dataset_from_frame
from maskwright.data.record_groups import with_households
from maskwright_builtin.methods.microaggregation.microaggregation import households_in, with_enough_households


@settings(max_examples=60)
@given(n=st.integers(6, 80), homes=st.integers(4, 30), k=st.integers(2, 4), seed=st.integers(0, 10**6))
def test_groups_are_joined_until_they_hold_k_households(n: int, homes: int, k: int, seed: int) -> None:
    """Whole groups are joined, nothing is cut."""
    rng = np.random.default_rng(seed)
    households = np.concatenate([np.arange(k), rng.integers(0, homes, n - k)])
    labels = np.unique(rng.integers(0, n // 3 + 1, n), return_inverse=True)[1].astype(np.int64)
    joined = with_enough_households(labels, households, rng.normal(size=(n, 2)), k)
    assert households_in(joined, households).min() >= k
    assert len(set(zip(labels.tolist(), joined.tolist(), strict=True))) == labels.max() + 1
    assert sorted(set(joined.tolist())) == list(range(joined.max() + 1))


def _homes(seed: int, missing: float) -> tuple[mw.Dataset, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"home": np.repeat(np.arange(30), 4), "x": rng.integers(0, 50, 120).astype(float)})
    frame["y"] = frame["home"] * 3.0
    frame["z"] = frame["x"] + frame["y"]
    frame.loc[rng.random(120) < missing, "x"] = np.nan
    home = frame["home"].to_numpy()
    return with_households(dataset_from_frame(frame, {}), "home").without(["home"]), home


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("k", [3, 6])
def test_masked_values_are_shared_by_k_households(k: int, missing: float) -> None:
    """With a sum and a condition, whose strata hold k households each too."""
    data, home = _homes(8, missing)
    edits = ["x + y == z", "if y < 30 then x >= 0"]
    request = masking_request(data, "microaggregation", edits=edits, params={"k": k, "partition": "mdav"}, seed=1)
    done = mask_request(request, is_released=False)
    rows = pd.DataFrame(done.masked.matrix(["x", "y", "z"])).fillna(-1).apply(tuple, axis=1)
    shared = pd.Series(home).groupby(rows).nunique()
    assert done.k["groups"][0]["smallest"] == shared.min()
    if not missing:
        assert shared.min() >= k


def test_too_few_households_are_refused() -> None:
    """However many records they have."""
    data, _ = _homes(1, 0.0)
    with pytest.raises(mw.InputError, match="k = 31 is larger than the number of households, 30"):
        mw.protect(data, "microaggregation", params={"k": 31}, seed=1)
