"""What a step promises holds in what is published, or the run says by name that it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request

if TYPE_CHECKING:
    from pathlib import Path


def pipeline(folder: Path, frame: pd.DataFrame, steps: str, more: str = "") -> Path:
    frame.to_csv(folder / "in.csv", index=False)
    path = folder / "p.yaml"
    path.write_text(
        f"maskwright: 1\ndata: {{source: in.csv}}\n{more}protect:\n{steps}output: {{data: out.csv}}\nseed: 1\n",
        encoding="utf-8",
    )
    return path


CLUSTERS = "  - {method: microaggregation, params: {k: 5%s}}\n"


def pairs(n: int = 200) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(1).normal(size=(n, 2)), columns=["x", "y"])


def test_noise_after_clusters_is_a_doubt_before_the_run(tmp_path: Path) -> None:
    """Smallest class 1 where 5 is promised."""
    path = pipeline(tmp_path, pairs(), CLUSTERS % "" + "  - {method: additive_noise}\n")
    with pytest.raises(mw.OpenDoubts, match=r"W203 .* step 1: microaggregation promises k = 5, and step 2 .* x"):
        mw.run(path)


def test_who_asks_for_a_report_of_k_may_add_noise(tmp_path: Path) -> None:
    path = pipeline(tmp_path, pairs(), CLUSTERS % ", k_guarantee: report" + "  - {method: additive_noise}\n")
    assert mw.run(path).record["k"]["groups"][0]["smallest"] == 1


@pytest.mark.parametrize("method", ["top_and_bottom_coding", "rounding, params: {base: 0.5}"])
def test_steps_that_keep_equal_records_equal_keep_k(tmp_path: Path, method: str) -> None:
    path = pipeline(tmp_path, pairs(), CLUSTERS % "" + f"  - {{method: {method}}}\n")
    assert mw.run(path).record["k"]["groups"][0]["smallest"] >= 5


def test_structural_zeros_that_become_numbers_are_a_doubt() -> None:
    """The only record with a zero joins the others."""
    wage = np.arange(40.0) * 7 % 40
    frame = pd.DataFrame({"farm": wage, "wage": wage})
    with pytest.raises(mw.OpenDoubts, match=r"W310 .* a structural zero of farm became another value"):
        mw.protect(frame, "microaggregation", params={"k": 4, "structural_zeros": ["farm"]}, seed=1)


def test_a_variable_that_a_step_leaves_as_it_was_is_a_doubt() -> None:
    """A limit beyond all values, and a recoding without a rule for a text; dates become years."""
    with pytest.raises(mw.OpenDoubts, match=r"W301 step-changed-nothing: x: .* left it as it was"):
        mw.protect(pd.DataFrame({"x": np.arange(50) * 7 % 50}), "top_and_bottom_coding", params={"top": 1000}, seed=1)
    years = [40 + 7 * place % 40 for place in range(40)]
    dates = pd.DataFrame({"born": [f"19{year}-02-03" for year in years]})
    texts, declared = dates + " or so", {"born": {"role": "confidential"}}
    with pytest.raises(mw.OpenDoubts, match="W301 step-changed-nothing: born"):
        mw.protect(texts, "recoding", variables=["born"], seed=1, declared=declared)
    masked = mw.protect(dates, "recoding", variables=["born"], seed=1, declared=declared)
    assert masked["born"].tolist() == [f"19{year}" for year in years]


def test_a_variable_that_is_nearly_unchanged_is_a_doubt() -> None:
    """Rounding to whole numbers takes nearly all of the noise back."""
    frame = pd.DataFrame({"x": 1 + np.arange(5000) * 1999 % 5000})
    with pytest.raises(mw.OpenDoubts, match=r"nearly as it was: .* of 5000 values are the same"):
        mw.protect(frame, "additive_noise", params={"sd": 0.15}, seed=1)


def test_values_that_their_whole_cluster_has_are_no_doubt() -> None:
    """So many records publish them as are promised."""
    frame = pd.DataFrame({"x": np.random.default_rng(1).permutation(np.repeat(np.arange(1, 41), 12))})
    declared = {"x": {"unchanged": 100}}
    masked = mw.protect(frame, "individual_ranking", params={"k": 3}, seed=1, declared=declared)
    assert (masked["x"] == frame["x"]).all()


def test_recoding_that_changes_something_is_none() -> None:
    frame = pd.DataFrame({"region": list("ABCD") * 20})
    declared = {"region": {"type": "nominal", "role": "confidential"}}
    recode = {"region": {"north": ["A", "B"]}}
    masked = mw.protect(frame, "recoding", params={"recode": recode}, seed=1, declared=declared)
    assert set(masked["region"]) == {"north", "C", "D"}


def test_too_few_records_for_a_regression_are_refused() -> None:
    """Eight records and eleven independents: the original file came back, byte for byte."""
    frame = pd.DataFrame(np.random.default_rng(3).normal(size=(8, 12))).add_prefix("x")
    others = [f"x{number}" for number in range(1, 12)]
    with pytest.raises(mw.InputError, match="the independent variables determine x0"):
        mw.protect(
            frame, "micro_hybrid", variables=["x0"], params={"independent": others}, seed=1,
            declared={name: {"release": "as is"} for name in others},
        )  # fmt: skip


def test_originals_that_come_back_inside_clusters_are_a_doubt() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "y": rng.normal(size=400), "z": np.where(rng.random(400) < 0.8, 0, x)})
    with pytest.raises(mw.OpenDoubts, match="W305 method-warned: step 1: micro_hybrid on x, y: in some clusters"):
        mw.protect(
            frame, "micro_hybrid", variables=["x", "y"], params={"independent": ["z"], "k": 8}, seed=1,
            declared={"z": {"release": "as is"}},
        )  # fmt: skip


def test_what_a_regression_gives_back_is_a_doubt() -> None:
    """Its warning stood in the record only."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=300)
    frame = pd.DataFrame({"x": 3 * z + rng.normal(size=300) * 1e-3, "z": z})
    with pytest.raises(mw.OpenDoubts, match=r"W305 .* a dependent variable comes out nearly as it was"):
        mw.protect(
            frame, "fuzzy_c_regression", variables=["x"], params={"independent": ["z"], "c": 1}, seed=1,
            declared={"z": {"release": "as is"}},
            waive=[{"doubt": "follows-from-published", "variable": "x", "because": "the warning is what is tested"}],
        )  # fmt: skip


@pytest.mark.waived("adjustment-distorts")
def test_moments_are_claimed_before_adjustment_and_measured_after() -> None:
    """An edit that reads a variable outside the step moves means that the method kept to 1e-7."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    frame["cap"] = frame["a"] + 0.2
    steps = masking_request(
        frame, "ipso", variables=["a", "b"], edits=["a <= cap", "b >= -3"], seed=1,
        params={"restore_moments": True, "independent": ["c"]},
        declared={"c": {"release": "as is"}, "cap": {"release": "as is"}},
        waive=[{"doubt": "follows-from-published", "variable": "a", "because": "the moments are what is tested"}],
    )  # fmt: skip
    result = mask_request(steps)
    (notes,) = result.notes
    assert "largest_moment_shift" not in notes
    assert result.distortion is not None
    published = float(np.abs(result.masked.matrix(["a"]).mean() - frame["a"].mean()) / frame["a"].std())
    (shift,) = [each for each in result.distortion.shifts if each.variable == "a"]
    assert abs(shift.mean + shift.method_mean) == pytest.approx(published, rel=0.3)


def test_a_sample_has_the_values_of_the_file_where_a_missing_cell_leaves_an_edit_open() -> None:
    """Nobody knows whether those without a trade may have a wage: the edit is unknown, and nothing moves for it."""
    rng = np.random.default_rng(1)
    n = 120
    trade = rng.choice(["none", "shop", "law"], n).astype(object)
    wage = np.where(trade == "none", 0, rng.integers(10, 99, n))
    trade[rng.random(n) < 0.2] = None
    frame = pd.DataFrame({"number": range(n), "trade": trade, "wage": wage})
    declared = {
        "number": {"release": "as is"}, "trade": {"role": "other", "type": "nominal"},
        "wage": {"role": "other", "type": "integer"},
    }  # fmt: skip
    done = mask_request(masking_request(
        frame, "sampling", edits=["if trade == 'none' then wage == 0"], params={"fraction": 0.9}, seed=1,
        declared=declared,
    ), is_released=False)  # fmt: skip
    masked = done.masked.to_pandas()
    assert (masked["wage"].to_numpy() == wage[masked["number"].astype(int)]).all()


def test_a_class_of_bands_that_a_later_step_makes_too_small_is_a_doubt() -> None:
    """Suppressing `trade` takes bands of ages with it, lest the rule gives it away: k of the bands is lost."""
    rng = np.random.default_rng(3)
    n = 120
    age = rng.integers(0, 90, n)
    frame = pd.DataFrame({
        "age": age, "trade": np.where(age < 16, "none", rng.choice(["farm", "shop", "law"], n)),
        "home": rng.choice(list("abcdefghijkl"), n),
    })  # fmt: skip
    steps = [
        {"method": "mondrian", "variables": ["age"], "params": {"k": 5, "release_edits": {"weaken": ["age"]}}},
        {"method": "local_suppression", "variables": ["trade", "home"], "params": {"k": 4, "importance": {"home": 5}}},
    ]
    declared = {name: {"role": "quasi_identifier"} for name in frame}
    done = mask_request(masking_request(
        frame, steps=steps, edits=["if age < 16 then trade == 'none'"], declared=declared, seed=1,
    ), is_released=False)  # fmt: skip
    sizes = done.masked.to_pandas()["age"].astype(object).fillna("-").value_counts()
    assert sizes.min() < 5
    with pytest.raises(mw.OpenDoubts, match="k = 5 is promised of age"):
        mw.protect(frame, steps=steps, edits=["if age < 16 then trade == 'none'"], declared=declared, seed=1)
