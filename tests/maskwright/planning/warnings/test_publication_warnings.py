"""What a careful person would ask before publishing: said once, with names and counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.plan import plan_pipeline


class Heard:
    """Reporter that keeps the notices."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def stage(self, title: str) -> mw.Progress:
        """No bars."""
        return lambda share: None

    def notice(self, text: str) -> None:
        """Keep it."""
        self.notices.append(text)


def _notices(frame: pd.DataFrame, edits: list[str], **params: object) -> str:
    heard = Heard()
    declared = {name: {"role": "other"} for name in frame if name == "firm"}
    mw.protect(
        frame, "microaggregation", edits=edits, seed=1, params={"k": 3, **params}, reporter=heard, declared=declared
    )
    return " | ".join(heard.notices)


RARE = {"doubt": "promise-not-kept", "step": 1, "because": "who has no value is not secret"}


def _frame(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.integers(0, 50, n), "b": rng.integers(0, 50, n)})


def test_text_that_looks_like_names_is_questioned() -> None:
    """A text column with many values is published as it is."""
    frame = _frame().assign(firm=[f"firm {number}" for number in range(60)])
    said = _notices(frame, [])
    assert "firm is published as it is and has 60 different texts" in said
    assert "60 records are unique on the variables that are published unmasked" in said


def test_a_record_is_not_unique_on_no_variable() -> None:
    """One record, of which every variable is masked."""
    heard = Heard()
    mw.protect(_frame(1), "rounding", seed=1, params={"base": 10}, reporter=heard)
    assert "are unique on" not in " | ".join(heard.notices)


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
def test_values_beyond_the_range_are_told() -> None:
    """Adjustment knows declared bounds only."""
    frame = pd.DataFrame({"a": [0, 0, 0, 50, 50, 50], "b": [100, 100, 100, 0, 0, 0], "t": [10, 10, 10, 50, 50, 50]})
    assert "masked values below 0, where the original has none: a (3)" in _notices(frame, ["a + b = t"])
    assert "outside the range" not in _notices(frame, ["a + b = t", "a >= 0"])


def test_missing_cells_keep_k_and_means_when_enough_records_share_them() -> None:
    """Records with the same cells missing are masked together; every other cell keeps its value."""
    frame = _frame(200).astype(float)
    frame["t"] = frame["a"] + frame["b"]
    frame.loc[:19, "a"] = np.nan
    masked = mw.protect(
        frame, "microaggregation", edits=["a + b = t"], seed=1, params={"k": 5},
        declared={name: {"decimals": 0} for name in "abt"},
    )  # fmt: skip
    assert (masked.isna() == frame.isna()).all().all()
    assert masked.groupby(["a", "b", "t"], dropna=False).size().min() >= 5
    assert abs(masked.mean() - frame.mean()).max() <= 1.0


def test_a_rare_pattern_of_missing_cells_is_told() -> None:
    """Fewer than k records share it: which cells are missing tells them apart."""
    frame = _frame().astype(float)
    frame.loc[0, "a"] = np.nan
    told = "1 record has cells missing in a way that fewer than k = 3 records share"
    with pytest.raises(mw.OpenDoubts, match="W304 promise-not-kept: step 1: k = 3 cannot hold") as refused:
        mw.protect(frame, "microaggregation", params={"k": 3}, groups=[["a", "b"]])
    assert told in str(refused.value)
    heard = mw.protect(frame, "microaggregation", params={"k": 3}, waive=[RARE])
    assert heard["a"].isna().sum() == 1
    assert told in _notices(frame, [], k_guarantee="report")


def test_an_edit_that_computes_with_text_is_explained() -> None:
    """Thousands separators make a column text; the message says so instead of speaking of k."""
    frame = _frame().assign(c=[f"{number},000" for number in range(60)])
    with pytest.raises(mw.EditError, match="computes with c, which was read as text"):
        mw.protect(frame, "microaggregation", edits=["a + b = c"], params={"k": 3})


def test_representations_hold_no_values() -> None:
    """A notebook shows what an object is, not what it holds."""
    frame = pd.DataFrame({"income": [4711, 4712, 4713], "town": ["Ebro", "Ter", "Ter"]})
    heard = mw.protect(frame, "microaggregation", seed=1, params={"k": 3}, declared={"town": {"role": "other"}})
    assert len(heard) == 3
    from maskwright.data.frames import dataset_from_frame

    data = dataset_from_frame(frame)
    for text in (repr(data), repr(data["income"]), repr(data["town"])):
        assert "4711" not in text
        assert "Ebro" not in text
    pd.testing.assert_series_equal(data.to_pandas()["income"], frame["income"], check_dtype=False)


def test_no_masked_value_rests_on_fewer_than_k_records() -> None:
    """The mean of one value and missing cells is that value: it must not be published."""
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 5.0], "b": [1.0, 1.1, 7.0, 8.0]})
    for policy in ("own_pattern", "available_cases"):
        params = {"k": 2, "group_size": "all", "missing": policy}
        masked = mw.protect(frame, "microaggregation", seed=1, params=params, waive=[RARE])
        assert masked.loc[0, "a"] != 1.0
        assert bool(masked["a"].isna().loc[1])


@pytest.mark.parametrize("rule", ["c > 5", "c in {1, 2}", "if c == 5 then x >= 0"])
def test_text_that_a_rule_compares_with_numbers_is_refused(rule) -> None:
    """The rule would be unknown in every record, and look as if it held."""
    data = pd.DataFrame({"c": ["north", "south", "east", "west"] * 5, "x": np.arange(20.0)})
    with pytest.raises(mw.EditError, match="computes with c, which was read as text"):
        mw.protect(data, "microaggregation", edits=mw.EditSet.parse([rule]), seed=1)


def test_text_that_a_rule_compares_with_texts_is_fine() -> None:
    data = pd.DataFrame({"c": ["north", "south", "east", "west"] * 5, "x": np.arange(20.0) * 7 % 20})
    edits = mw.EditSet.parse(['c in {"north", "south", "east", "west"}', 'if c == "north" then x >= 0'])
    masked = mw.protect(data, "microaggregation", edits=edits, seed=1, declared={"c": {"role": "other"}})
    assert mw.validate(masked, edits).ok


@pytest.mark.parametrize(("severity", "told"), [("error", True), ("warning", False)])
def test_an_edit_that_nothing_will_mend_is_told_before_the_run(tmp_path, severity, told) -> None:
    """The original violates it on variables that no step masks."""
    _frame().assign(c=1, d=[1] * 58 + [2, 2]).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "pipeline.yaml").write_text(
        f"""
maskwright: 1
data: {{source: data.csv, variables: {{c: {{role: other}}, d: {{role: other}}}}}}
edits: [{{rule: c == d, name: same, severity: {severity}}}]
protect: [{{method: microaggregation, variables: [a, b], params: {{k: 3}}}}]
output: {{data: masked.csv}}
""",
        encoding="utf-8",
    )
    said = [
        each
        for each in [each["message"] for each in plan_pipeline(tmp_path / "pipeline.yaml")["notices"]]
        if "nothing can be released" in each
    ]
    assert len(said) == told
    if told:
        assert said[0].startswith("2 original records violate edit 'same', and no step masks its variables (c, d)")
        with pytest.raises(mw.EditViolation):
            mw.run(tmp_path / "pipeline.yaml")
    else:
        assert mw.run(tmp_path / "pipeline.yaml").ok
