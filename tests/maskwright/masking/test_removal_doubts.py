"""Removing that changes means or spreads is a doubt; a random sample is none."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.testing.pipeline_runs import offered


def _people(seed: int, n: int = 600) -> pd.DataFrame:
    """Amounts with few large ones, and many zeros; households share an income."""
    rng = np.random.default_rng(seed)
    home = np.sort(rng.integers(0, n // 3, n))
    return pd.DataFrame({
        "home": home,
        "age": np.round(rng.normal(50, 15, n)),
        "assets": np.round(rng.lognormal(5, 1.5, n)),
        "benefit": np.where(rng.random(n) < 0.9, 0, np.round(rng.lognormal(4, 1, n))),
        "income": np.round(rng.lognormal(7, 0.5, n // 3))[home],
        "region": rng.choice(["a", "b", "c"], n, p=[0.7, 0.25, 0.05]),
        "weight": np.round(rng.lognormal(2, 0.6, n), 2),
    })  # fmt: skip


def _moved(frame: pd.DataFrame, method: str, params: dict[str, Any], **asked: Any) -> dict[str, str]:
    declared = {name: {"role": "other"} for name in frame} | asked.pop("declared", {})
    done = mask_request(masking_request(frame, method, params=params, seed=1, declared=declared, **asked))
    return {doubt.subject: doubt.message for doubt in done.doubts if doubt.kind == "adjustment-distorts"}


@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("fraction", [0.03, 0.3, 0.9, 0.97])
def test_a_random_sample_is_no_doubt(fraction: float) -> None:
    """Of records, of households, and of strata whose shares the weights make up for."""
    for seed in range(5):
        frame = _people(seed)
        params = {"fraction": fraction}
        assert _moved(frame.drop(columns=["weight", "home"]), "sampling", params) == {}
        assert _moved(frame.drop(columns="weight"), "sampling", params, cluster="home") == {}
        weighted = {"declared": {"weight": {"role": "weight"}}}
        assert _moved(frame.drop(columns="home"), "sampling", params | {"strata": ["region"]}, **weighted) == {}


def _without_the_oldest(block: mw.Block, params: object, rng: np.random.Generator) -> mw.Removed:
    age = block.values[:, list(block.names).index("age")]
    return mw.Removed(kept_rows=np.flatnonzero(age < 70))


@pytest.mark.waived("adjustment-distorts")
def test_a_choice_of_records_is() -> None:
    """Without those above 70 the others are younger; their assets have nothing to do with age."""
    chosen = mw.Method(
        name="without_the_oldest", remove=_without_the_oldest, summary="Keeps the young.", scope="all",
        claims=mw.Claims(removes={"records"}), example="method: without_the_oldest\n",
    )  # fmt: skip
    with offered([chosen]):
        moved = _moved(_people(3)[["age", "assets"]], "without_the_oldest", {})
    assert list(moved) == ["age"]
    assert "those that are left out differ from the others" in moved["age"]


@pytest.mark.waived("adjustment-distorts")
def test_suppressing_the_extremes_is() -> None:
    """Ages that few have are far from the mean: what is left spreads less, by as much as numpy says."""
    frame = _people(1)[["age", "region"]]
    request = masking_request(
        frame, "local_suppression", params={"k": 3, "keys": ["age", "region"]}, seed=1,
        declared={name: {"role": "quasi_identifier"} for name in frame},
    )  # fmt: skip
    done = mask_request(request)
    left = done.masked["age"].values[~done.masked["age"].missing]
    (doubt,) = [doubt for doubt in done.doubts if doubt.kind == "adjustment-distorts"]
    moved = (np.std(left) - np.std(frame["age"])) / np.std(frame["age"], ddof=1)
    assert doubt.subject == "age"
    assert doubt.count == len(frame) - len(left)
    assert float(re.findall(r"deviation by ([+-]\d\.\d\d)", doubt.message)[0]) == pytest.approx(moved, abs=0.011)
    assert "Recode the keys" in str(doubt.hint)


def test_a_distortion_that_is_declared_is_released() -> None:
    frame = _people(1)[["age", "region"]]
    declared = {"age": {"role": "quasi_identifier"}, "region": {"role": "quasi_identifier"}}
    asked: dict[str, Any] = {"params": {"k": 3, "keys": ["age", "region"]}, "seed": 1}
    with pytest.raises(mw.OpenDoubts, match="W309 adjustment-distorts: age: removing"):
        mw.protect(frame, "local_suppression", declared=declared, **asked)
    declared["age"]["distortion"] = 0.9  # type: ignore[assignment]
    assert len(mw.protect(frame, "local_suppression", declared=declared, **asked)) == len(frame)
