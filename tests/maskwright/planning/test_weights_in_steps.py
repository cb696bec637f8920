"""A weight is published as it is: a step that names it is refused, and a sample divides it unnamed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

DECLARED = {"weight": {"role": "weight"}, "age": {"role": "quasi_identifier"}}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame({"age": rng.integers(16, 90, 60), "weight": rng.integers(100, 900, 60) * 1.0})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("microaggregation", {"k": 3}),
        ("rank_swapping", {"p": 10}),
        ("recoding", {"recode": {"weight": [300, 600]}}),
        ("local_suppression", {"k": 3, "keys": ["age", "weight"]}),
        ("sampling", {"fraction": 0.5}),
    ],
)
def test_a_step_that_masks_a_weight_is_refused(method: str, params: dict[str, Any]) -> None:
    with pytest.raises(mw.InputError) as refused:
        mw.protect(people(), method, variables=["age", "weight"], params=params, declared=DECLARED, seed=1)
    assert "'weight' is a weight: it is published as it is, so it cannot be masked" in str(refused.value)
    assert "weight: {role: confidential}" in str(refused.value)


def test_what_is_declared_otherwise_is_masked() -> None:
    declared = {**DECLARED, "weight": {"role": "confidential"}}
    masked = mw.protect(people(), "microaggregation", params={"k": 3}, declared=declared, seed=1)
    assert masked["weight"].value_counts().min() >= 3


def test_a_sample_divides_the_weights_that_nobody_names() -> None:
    drawn = mw.protect(
        people(), "sampling", variables=["age"], params={"fraction": 0.5}, declared=DECLARED, seed=1,
        waive=[{"doubt": "not-masked", "variable": "age", "because": "only the draw is looked at"}],
    )  # fmt: skip
    assert len(drawn) == 30
    assert set(drawn["weight"] / 2) <= set(people()["weight"])
