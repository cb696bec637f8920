"""What a household has in common and a step would make differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.plan import plan_pipeline
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request


def persons(homes: int = 120) -> pd.DataFrame:
    """Persons with an income of their own and one of their household."""
    rng = np.random.default_rng(4)
    home = np.repeat(np.arange(homes), rng.integers(1, 5, homes))
    frame = pd.DataFrame({"home": home, "together": rng.integers(100, 9000, homes)[home]})
    return frame.assign(own=rng.integers(0, 5000, len(frame)))


@pytest.mark.parametrize("method", ["microaggregation", "additive_noise"])
def test_a_variable_of_the_household_is_not_masked_member_by_member(method: str) -> None:
    """Told before anything is masked; single persons do not count."""
    frame = persons()
    several = int((frame.groupby("home").size() > 1).sum())
    with pytest.raises(mw.OpenDoubts) as refused:
        mw.protect(frame, method, cluster="home", seed=1)
    said = f"W204 constant-within-households: together: it is the same for all members of {several} of the {several}"
    assert said in str(refused.value)
    assert "own" not in str(refused.value).replace("known", "")


def test_the_plan_tells_and_a_waiver_lets_it_pass(tmp_path) -> None:
    """As `plan --json` prints it."""
    persons().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "pipeline.yaml").write_text(
        "maskwright: 1\ndata: {source: data.csv, cluster: home}\n"
        "protect: [{method: microaggregation, params: {k: 3}}]\noutput: {data: masked.csv}\n",
        encoding="utf-8",
    )
    (told,) = plan_pipeline(tmp_path / "pipeline.yaml")["doubts"]
    assert (told["doubt"], told["subject"]) == ("constant-within-households", "together")
    waiver = {"doubt": "constant-within-households", "variable": "together", "because": "rows are shuffled later"}
    assert len(mw.protect(persons(), "microaggregation", cluster="home", seed=1, waive=[waiver])) == len(persons())


def test_what_leaves_equal_values_equal_is_no_doubt() -> None:
    """Rounding to the nearest is; rounding at random is not, which the run finds out."""
    frame = persons()
    near = mask_request(masking_request(frame, "rounding", params={"base": 10}, cluster="home", seed=1))
    assert not near.doubts
    with pytest.raises(mw.OpenDoubts, match=r"W204 .* together: its masked values differ between members"):
        mw.protect(frame, "rounding", params={"base": 1000, "kind": "random"}, cluster="home", seed=1)


def test_households_whose_number_is_dropped_are_found_by_what_they_have_in_common() -> None:
    with pytest.raises(mw.OpenDoubts, match="W204 constant-within-households: together"):
        mw.protect(persons(), "microaggregation", cluster="home", declared={"home": {"role": "identifier"}}, seed=1)


def test_what_differs_within_households_is_no_doubt() -> None:
    frame = persons()
    masked = mw.protect(frame.assign(together=frame["own"] // 3), "microaggregation", cluster="home", seed=1)
    assert len(masked) == len(frame)
