"""Limits that a step sets hold in what is published, whatever adjusting, rounding and later steps do."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.foundation.progress import Quiet

if TYPE_CHECKING:
    from pathlib import Path

TOTAL = ["wage + pension + other == income", "wage >= 0", "pension >= 0", "other >= 0"]


def incomes(n: int = 800, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "wage": np.round(rng.lognormal(9.8, 0.8, n)).astype(int),
            "pension": np.round(rng.lognormal(8.5, 1.0, n)).astype(int),
            "other": rng.integers(0, 9_000, n),
        }
    )
    return frame.assign(income=frame.sum(axis=1))


def waived(kind: str, **subject: object) -> dict[str, object]:
    return {"doubt": kind, **subject, "because": "a test of something else"}


def coded(frame: pd.DataFrame, edits: list[str], **params: object) -> pd.DataFrame:
    left = waived("step-changed-nothing", variable=[name for name in frame.columns if name != "wage"])
    return mw.protect(
        frame, "top_and_bottom_coding", edits=edits, variables=list(frame.columns), params=params, seed=1, waive=[left]
    )


@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("replace_by", ["limit", "mean"])
def test_adjusting_does_not_undo_top_codes(replace_by: str) -> None:
    """136 of 2000 values were above the limit, up to three times of it."""
    frame = incomes()
    masked = coded(frame, TOTAL, top={"wage": 60_000}, replace_by=replace_by)
    above = frame["wage"] > 60_000
    highest = 60_000 if replace_by == "limit" else round(frame.loc[above, "wage"].mean())
    assert above.sum() > 20
    assert masked["wage"].max() <= highest
    assert (masked.loc[above, "wage"] >= 60_000).all()
    assert (masked[["wage", "pension", "other"]].sum(axis=1) == masked["income"]).all()


def test_a_limit_that_is_found_in_the_data_binds_later_steps(tmp_path: Path) -> None:
    """The top code of a share; noise after it would go beyond. The ledger has the limit, and no value of a record."""
    frame = incomes()[["wage"]]
    frame.to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv}\nprotect:\n"
        "  - {method: top_and_bottom_coding, params: {top_share: 0.1}}\n"
        "  - {method: additive_noise, params: {p: 0.5}}\noutput: {data: out.csv}\nseed: 1\n",
        encoding="utf-8",
    )
    record = mw.run(tmp_path / "p.yaml").record
    limit = float(np.quantile(frame["wage"], 0.9, method="lower"))
    largest = pd.read_csv(tmp_path / "out.csv")["wage"].max()
    assert limit < largest < frame.loc[frame["wage"] > limit, "wage"].min()
    (edit,) = record["edits"]
    assert (edit["name"], edit["kind"], edit["text"]) == (
        "step-1: wage <= limit", "range", "wage <= limit found in the data",
    )  # fmt: skip
    assert (edit["kept_by"], edit["violations"]) == ("adjustment", 0)
    assert f"{limit:.0f}" not in json.dumps(record["edits"])
    assert f"{largest:.0f}" not in json.dumps(record["edits"])


@pytest.mark.parametrize(
    ("params", "name", "published"),
    [
        ("top: 60000", "wage <= limit", "wage <= 60000"),
        ("top: 60000, replace_by: mean", "wage <= mean of the values above the limit", None),
        ("top_share: 0.03", "wage <= limit", None),
        ("bottom_share: 0.03", "wage >= limit", None),
    ],
)
@pytest.mark.parametrize("ending", ["yaml", "sch"])
def test_a_limit_is_published_if_it_was_declared(
    tmp_path: Path, params: str, name: str, published: str | None, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The value of a record, or a mean of few, is kept and not published."""
    incomes()[["wage"]].assign(other=7).to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv, variables: {other: {release: as is}}}\nedits: [other == 7]\nprotect:\n"
        f"  - {{method: top_and_bottom_coding, variables: [wage], params: {{{params}}}}}\n"
        f"output: {{data: out.csv, edits: out.edits.{ending}}}\nseed: 1\n",
        encoding="utf-8",
    )
    assert main(["run", str(tmp_path / "p.yaml"), "--json"]) == 0
    run = json.loads(capsys.readouterr().out)
    assert f"step-1: {name}" in [each["name"] for each in run["edits"]]
    left_out = [each["edit"] for each in run["notices"] if each["kind"] == "edit-not-written"]
    rules = mw.read_edits(tmp_path / f"out.edits.{ending}")
    assert len(rules) == len(run["edits"]) - len(left_out)
    assert ("wage" in (tmp_path / f"out.edits.{ending}").read_text().partition("other")[2]) == (published is not None)
    assert (f"step-1: {name}" in left_out) == (published is None)


def test_a_declared_limit_stands_in_the_plan() -> None:
    plan = mask_request(masking_request(incomes()[["wage"]], "top_and_bottom_coding", params={"top": 60_000}, seed=1))
    assert "step-1: wage <= limit" in [edit.name for edit in plan.edits]
    assert plan.edits["step-1: wage <= limit"].text == "wage <= 60000"


def test_edits_that_contradict_a_limit_are_named_by_the_plan() -> None:
    with pytest.raises(mw.EditError, match="step-1: wage <= limit"):
        coded(incomes(), [*TOTAL, "wage >= 70000"], top={"wage": 60_000})


def test_records_that_cannot_meet_edit_and_limit_are_refused_with_both_names() -> None:
    """The total is published as it is, and the parts are coded so low that they do not reach it."""
    frame = pd.DataFrame({"a": np.arange(10, 60), "b": np.arange(10, 60)}).assign(t=lambda each: each["a"] + each["b"])
    with pytest.raises(mw.EditViolation, match=r"edit-1|limit"):
        mw.protect(
            frame, "top_and_bottom_coding", edits=["a + b == t"], variables=["a", "b"], params={"top": 40}, seed=1,
            declared={"t": {"release": "as is"}}, waive=[waived("follows-from-published", variable=["a", "b"])],
        )  # fmt: skip


def test_a_limit_off_the_grid_is_not_exceeded_by_rounding() -> None:
    masked = mw.protect(
        pd.DataFrame({"x": np.arange(100) * 7 % 100}), "top_and_bottom_coding", params={"top": 61.5}, seed=1,
    )  # fmt: skip
    assert masked["x"].max() == 61


def test_limits_of_ordinal_variables_bind_later_steps() -> None:
    """Positions in the order of the categories."""
    frame = pd.DataFrame({"size": np.random.default_rng(1).choice(list("abcde"), 400)})
    declared = {"size": {"type": "ordinal", "role": "confidential", "categories": list("abcde")}}
    result = mask_request(
        masking_request(
            frame, "top_and_bottom_coding", variables=["size"], params={"top": 2}, declared=declared, seed=1
        )
    )
    assert "step-1: size within limits" in [edit.name for edit in result.edits]
    assert set(result.masked["size"].values.tolist()) == {0, 1, 2}


@pytest.mark.waived("adjustment-distorts")
@settings(max_examples=25 if os.environ.get("SLOW") else 10, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    top=st.floats(0.3, 0.95),
    rule=st.sampled_from(["wage + pension == total", "wage <= pension * 3", "wage + pension <= total", "wage >= 10"]),
    replace_by=st.sampled_from(["limit", "mean"]),
)
def test_limits_hold_after_adjustment(seed: int, top: float, rule: str, replace_by: str) -> None:
    """Whatever the data, the limit and the edit are."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"wage": rng.integers(10, 500, 60), "pension": rng.integers(200, 400, 60)})
    frame["total"] = frame.sum(axis=1)
    limit = int(frame["wage"].quantile(top))
    beyond = frame.loc[frame["wage"] > limit, "wage"]
    highest = limit if replace_by == "limit" or len(beyond) < 3 else round(beyond.mean())
    masked = coded(frame, [rule], top={"wage": limit}, replace_by=replace_by)
    assert masked["wage"].max() <= highest
    assert mw.validate(masked, [rule]).ok


def test_a_plugin_states_limits_of_its_own() -> None:
    """`Masked.limits` of a method that nobody here knows."""

    def halve(block: mw.Block, params: mw.NoParams, rng: np.random.Generator) -> mw.Masked:
        values = block.values / 2.0
        limits = tuple(mw.Limit(name, high=float(values[:, place].max())) for place, name in enumerate(block.names))
        return mw.Masked(values, block.missing.copy(), limits=limits, doubts=("it is only half",))

    method = mw.Method(name="halving", protect=halve, scope="variable", claims=mw.Claims(deterministic=True))
    from maskwright.plugins.contract import contract_error

    assert contract_error("method", method) is None
    wrong = mw.Method(name="halving", protect=halve, claims=mw.Claims(limits=lambda params: ()))
    assert "limits" in (contract_error("method", wrong) or "")


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
def test_multiples_below_a_bound_are_found() -> None:
    data = pd.DataFrame({"x": 10 + np.arange(50) * 7 % 50})
    masked = mw.protect(data, "rounding", edits=["x <= 44"], params={"base": 10}, seed=1)
    assert set(masked["x"]) == {10, 20, 30, 40}


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
def test_multiples_that_edits_undo_are_a_doubt() -> None:
    with pytest.raises(mw.OpenDoubts, match=r"W311 multiples-not-kept: x: .* of x are no multiples"):
        mw.protect(
            pd.DataFrame({"x": 10 + np.arange(50) * 7 % 50}), "rounding", edits=["x in [41, 44]"], params={"base": 10},
            seed=1,
        )  # fmt: skip


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
def test_coded_values_that_edits_bring_back_are_counted() -> None:
    """One of them became 25: the part of a total that is published as it is."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"wage": rng.integers(100, 1000, 200)})
    frame["cap"] = frame["wage"].where(frame.index > 0, 999).astype(int)
    frame.loc[:4, ["wage", "cap"]] = [[950, 950], [960, 960], [970, 970], [980, 980], [990, 990]]
    heard: list[str] = []

    class Heard(Quiet):
        def notice(self, text: str) -> None:
            heard.append(text)

    masked = mw.protect(
        frame, "top_and_bottom_coding", edits=["wage <= cap - 400"], variables=["wage"], seed=1, reporter=Heard(),
        params={"top": {"wage": 940}, "replace_by": "mean"}, declared={"cap": {"release": "as is"}},
        waive=[waived("follows-from-published", variable="wage")],
    )  # fmt: skip
    assert (masked["wage"] <= frame["cap"] - 400).all()
    assert any("now lie below values that it did not code" in said for said in heard)


@pytest.mark.waived("adjustment-distorts")
def test_coding_last_is_advised_only_where_no_edit_undoes_it() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"wage": rng.integers(100, 1000, 200), "staff": rng.integers(1, 90, 200)})
    frame["total"] = frame["wage"] + frame["staff"]
    steps = [
        {"method": "top_and_bottom_coding", "variables": ["wage"], "params": {"top": 800}},
        {"method": "additive_noise"},
    ]
    for edits, advised in ([[], True], [["wage + staff == total"], False]):
        heard: list[str] = []

        class Heard(Quiet):
            def notice(self, text: str, heard: list[str] = heard) -> None:
                heard.append(text)

        mw.protect(frame, steps=steps, edits=edits, seed=1, reporter=Heard())
        (left,) = [said for said in heard if "that it did not code" in said]
        assert ("make the coding the last step" in left) is advised


def test_what_a_limit_of_a_step_distorts_is_no_rule_to_check() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"staff": np.rint(rng.lognormal(3, 1, 600)) + 1})
    frame["wages"] = np.rint(frame["staff"] * rng.lognormal(10, 0.3, 600))
    frame["head"] = (frame["wages"] / frame["staff"]).round(1)
    steps = [
        {"method": "microaggregation", "params": {"k": 5}},
        {"method": "top_and_bottom_coding", "variables": ["wages"], "params": {"top": 700_000}},
    ]
    with pytest.raises(mw.OpenDoubts, match="W309") as caught:
        mw.protect(frame, steps=steps, edits=["abs(wages / staff - head) <= 0.1"], seed=1)
    assert "the limit of step 2 on wages (" in str(caught.value)
    assert "step-2: " not in str(caught.value)
    assert "together" not in str(caught.value)
    assert "Let step 2 limit wages less" in str(caught.value)
    steps[1]["params"] = {"top": 2_000_000}
    masked = mw.protect(frame, steps=steps, edits=["abs(wages / staff - head) <= 0.1"], seed=1)
    assert masked["wages"].max() <= 2_000_000
