"""Spikes that a step loses are said: a doubt where it draws records, a notice where it changes values."""

from __future__ import annotations

import os
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.data.dataset import Column, Dataset
from maskwright.foundation.progress import Quiet
from maskwright.masking.spikes import SpikeCounts, frequent_values, lost_spikes
from maskwright.testing.pipeline_runs import offered


def turnover(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame({"turnover": np.where(rng.random(n) < 0.35, 0, np.round(rng.lognormal(6, 1, n)))})


def _drawn(share: float, gained: float = 0.0, *, draws_records: bool = True) -> mw.Method:
    """Of zeros `share` are lost; of other values `gained` become 0."""

    def protect(block: mw.Block, params: object, rng: np.random.Generator) -> mw.Masked:
        values = rng.permuted(block.values, axis=0)
        lost = (values == 0) & (rng.random(values.shape) < share)
        zero = (values != 0) & (rng.random(values.shape) < gained)
        return mw.Masked(np.where(lost, rng.integers(1, 1000, values.shape), np.where(zero, 0, values)), block.missing)

    return mw.Method(
        name="drawn", protect=protect, summary="Draws records.", example="method: drawn\n",
        claims=mw.Claims(cut="none", within_strata=False, draws_records=draws_records, changes_few=True),
    )  # fmt: skip


def test_drawn_records_that_lost_a_spike_are_not_released() -> None:
    with offered([_drawn(0.4)]), pytest.raises(mw.OpenDoubts, match=r"W308 spike-lost: turnover: 3\d\.\d % .* are 0"):
        mw.protect(turnover(), "drawn", seed=1)
    with offered([_drawn(0.1)]):
        mw.protect(turnover(), "drawn", seed=1)


GREW = r"(\d+\.\d) % of the values of turnover are 0; the share grew to (\d+\.\d) % masked"


@pytest.mark.parametrize(("zeros", "gained", "grown"), [
    (0.35, 0.4, 0.61), (0.35, 0.05, None), (0.0, 0.3, 0.3), (0.0, 0.05, None), (0.8, 0.6, 0.92), (0.8, 0.1, None),
])  # fmt: skip
def test_drawn_records_with_a_spike_that_grew_are_not_released(
    zeros: float, gained: float, grown: float | None
) -> None:
    """A spike, or zeros that there were none of; also where most values are the spike and the others are lost to it."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"turnover": np.where(rng.random(1000) < zeros, 0, np.round(rng.lognormal(6, 1, 1000)) + 1)})
    with offered([_drawn(0.0, gained)]):
        if grown is None:
            assert isinstance(mw.protect(frame, "drawn", seed=1), pd.DataFrame)
            return
        with pytest.raises(mw.OpenDoubts, match="W308 spike-lost: turnover: " + GREW) as caught:
            mw.protect(frame, "drawn", seed=1)
    before, after = (float(share) for share in re.findall(GREW, str(caught.value))[0])
    assert before == pytest.approx(100 * (frame["turnover"] == 0).mean(), abs=0.05)
    assert after == pytest.approx(100 * grown, abs=5)


def test_a_spike_that_grew_in_changed_values_is_a_notice() -> None:
    seen = _Notices()
    with offered([_drawn(0.0, 0.4, draws_records=False)]):
        mw.protect(turnover(), "drawn", seed=1, reporter=seen)
    (line,) = [text for text in seen.seen if "are 0" in text]
    assert re.search(GREW, line)
    assert "structural_zeros" not in line


def test_spikes_of_parts_add_up() -> None:
    """Zeros that grew in the file, of which each part has too few to tell."""
    old, new = np.r_[np.zeros(3), np.arange(1.0, 38.0)], np.r_[np.zeros(14), np.arange(1.0, 27.0)]
    variable = mw.Variable("x")
    before, after = (Column(variable, values, np.zeros(40, dtype=bool)) for values in (old, new))
    part = SpikeCounts.of(before, after, frequent_values(old))
    assert part.lost("x") == []
    (grown,) = (part + part + part).lost("x")
    assert (grown.before, grown.after, grown.records, grown.is_zero, grown.grew) == (9 / 120, 42 / 120, 42, True, True)


def test_drawn_factors_keep_their_spikes_and_the_total_follows() -> None:
    """Values drawn each by itself break the product nearly everywhere: it is the total that gives way."""
    rng = np.random.default_rng(2)
    staff, wages = rng.choice([1, 2, 5, 9], 400).astype(float), np.round(rng.lognormal(7, 0.4, 400), 2)
    frame = pd.DataFrame({"wages": wages, "staff": staff, "bill": np.round(wages * staff, 1)})
    rule = "abs(wages * staff - bill) <= 0.1"
    # Of values that are drawn without regard to each other, the product cannot spread as the original's does.
    with offered([_drawn(0.0)]):
        masked = mw.protect(frame, "drawn", edits=[rule], seed=1, declared={"bill": {"distortion": 0.5}})
    assert mw.validate(masked, [rule]).ok
    for name in ("wages", "staff"):
        assert sorted(masked[name].values) == sorted(frame[name])


class _Notices(Quiet):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def notice(self, text: str) -> None:
        self.seen.append(text)


@pytest.mark.parametrize(("method", "params"), [
    ("additive_noise", {}), ("microaggregation", {"k": 10}), ("fuzzy_microaggregation", {"k": 10}),
])  # fmt: skip
def test_a_spike_that_noise_or_averaging_loses_is_a_doubt_and_its_way_out_works(
    method: str, params: dict[str, int]
) -> None:
    rng = np.random.default_rng(5)
    frame = turnover().assign(wages=np.round(rng.lognormal(7, 1, 500)), age=rng.integers(16, 95, 500))
    with pytest.raises(mw.OpenDoubts, match=r"W308 spike-lost: turnover(?s:.)*`structural_zeros: \[turnover\]`"):
        mw.protect(frame, method, params=params, seed=1)
    masked = mw.protect(frame, method, params=params | {"structural_zeros": ["turnover"]}, seed=1)
    assert ((masked["turnover"] == 0) == (frame["turnover"] == 0)).all()


def test_the_way_out_of_another_spike_works() -> None:
    rng = np.random.default_rng(6)
    hours = np.where(rng.random(500) < 0.4, 40, rng.integers(5, 61, 500))
    frame = pd.DataFrame(
        {"hours": hours, "wages": np.round(rng.lognormal(7, 1, 500)), "age": rng.integers(16, 95, 500)}
    )
    with pytest.raises(mw.OpenDoubts, match=r"W308 spike-lost: hours(?s:.)*`rank_swapping`"):
        mw.protect(frame, "microaggregation", params={"k": 20}, seed=1)
    assert sorted(mw.protect(frame, "rank_swapping", seed=1)["hours"]) == sorted(hours)


@pytest.mark.parametrize(("name", "method", "params"), [
    ("children", "microaggregation", {"k": 5}), ("children", "additive_noise", {"p": 0.3}),
    ("pay", "rounding", {"base": 50}), ("pay", "top_and_bottom_coding", {"top": 90}),
])  # fmt: skip
def test_counts_that_averages_shift_and_spikes_that_are_meant_to_go_are_no_doubt(
    name: str, method: str, params: dict[str, float]
) -> None:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({
        "children": rng.choice([0, 1, 2, 3, 4], 600, p=[0.42, 0.25, 0.23, 0.08, 0.02]),
        "pay": np.where(rng.random(600) < 0.3, 123, rng.integers(60, 300, 600)),
        "age": rng.integers(16, 95, 600),
    })  # fmt: skip
    frame = frame[[name, "age"]]
    declared = {name: {"distortion": 5, "unchanged": 100}}
    masked = mw.protect(frame, method, params=params, seed=1, declared=declared)
    assert (masked[name] != frame[name]).any()


@settings(max_examples=60 if os.environ.get("SLOW") else 25, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=120), st.integers(0, 5))
def test_every_frequent_value_is_looked_at(before: list[int], seed: int) -> None:
    """Against a count of every value; all masked values are others."""
    values = np.random.default_rng(seed).permutation(np.array(before, dtype=np.float64))
    both = [
        Dataset((Column(mw.Variable("x"), column, np.zeros(len(column), dtype=bool)),))
        for column in (values, values + 9)
    ]
    counts = pd.Series(values).value_counts()
    spikes = counts[(counts >= 0.1 * len(values)) & (counts >= 20)]
    chance = 4 * np.sqrt(spikes / len(values) * (1 - spikes / len(values)) / len(values))
    expected = spikes[spikes / len(values) > chance].max()
    found = [each.records for each in lost_spikes(both[0], both[1], ["x"])]
    assert found == ([] if np.isnan(expected) else [expected])


def test_the_way_out_of_a_heap_that_is_part_of_a_total_keeps_it() -> None:
    """Swapping keeps every value, and adjusting moves the others where the advice is followed whole."""
    rng = np.random.default_rng(1)
    hours = np.where(rng.random(400) < 0.4, 40, rng.integers(5, 60, 400)).astype(float)
    data = pd.DataFrame({"hours": hours, "overtime": rng.poisson(4, 400).astype(float)})
    data["all"] = data["hours"] + data["overtime"]
    edits = ["hours + overtime == all", "hours >= 0", "overtime >= 0"]
    declared: dict[str, dict[str, int]] = {name: {"unchanged": 100} for name in data}
    with pytest.raises(mw.OpenDoubts, match="W308") as caught:
        mw.protect(data, "additive_noise", edits=edits, params={"p": 0.1}, seed=1, declared=declared)
    assert "with `adjustment_weights: {hours: 100}` in its params" in str(caught.value)
    assert "with the decimals of hours declared" in str(caught.value)
    declared = {name: {"unchanged": 100, "decimals": 0} for name in data}
    params = {"p": 5, "adjustment_weights": {"hours": 100}}
    masked = mw.protect(data, "rank_swapping", edits=edits, params=params, seed=1, declared=declared)
    assert (masked["hours"] == 40).mean() == pytest.approx((data["hours"] == 40).mean(), abs=0.005)
    assert mw.validate(masked, edits).ok
