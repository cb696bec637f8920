"""Records paired by a key, weights and households: what measures are told of two files."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.frames import dataset_from_frame
from maskwright.data.record_groups import paired, shared_codes, with_households
from maskwright.foundation.progress import Quiet
from maskwright.pipeline.resolved import MeasureRequest
from maskwright.release.measures.measuring import compute_measures, record_weights

if TYPE_CHECKING:
    from pathlib import Path


def _frame(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"id": [f"p{number}" for number in rng.permutation(n)], "house": np.arange(n) // 3, "w": rng.integers(1, 9, n),
         "x": rng.normal(100, 20, n), "y": rng.normal(5, 1, n)}
    )  # fmt: skip


def _noisy(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(x=frame["x"] + np.random.default_rng(1).normal(size=len(frame)))


def test_reordered_records_are_paired_by_a_key() -> None:
    """In another order and with the key, every measure is what it was in order."""
    frame = _frame()
    masked = _noisy(frame)
    shuffled = masked.sample(frac=1.0, random_state=3)
    names, of = ["sse", "pil", "distance_record_linkage", "interval_disclosure"], ["x", "y"]
    expected = mw.measure(frame, masked, names, variables=of)
    found = mw.measure(frame, shuffled, names, key="id", variables=of)
    for name in names:
        assert found[name].value == pytest.approx(expected[name].value)
    assert mw.measure(frame, shuffled, ["sse"], variables=of)["sse"].value > 10 * expected["sse"].value


def test_a_sample_is_paired_by_a_key_and_not_without() -> None:
    """Different numbers of records: a sentence that names the way out."""
    frame = _frame()
    masked = _noisy(frame).iloc[::2]
    with pytest.raises(mw.InputError, match=r"60 records and the masked file 30, and no --key") as refused:
        mw.measure(frame, masked, ["sse", "pil", "interval_disclosure"])
    assert [problem.measure for problem in refused.value.problems] == ["sse", "interval_disclosure"]
    assert mw.measure(frame, masked, ["sse"], key="id")["sse"].value > 0


def test_files_of_different_length_are_compared_as_files() -> None:
    """Measures that need no pairs; of the defaults, those that do have no value, and say why."""
    frame = _frame()
    masked = _noisy(frame).iloc[::2]
    of = ["x", "y"]
    found = mw.measure(frame, masked, variables=of)
    assert found["pil"].value == mw.measure(frame, masked, ["pil"], key="id", variables=of)["pil"].value
    assert math.isnan(found["sse"].value)
    assert found["sse"].notes[0].startswith("not computed: needs pairs; each masked record is compared")
    expected = mw.measure(frame, _noisy(frame), ["pil"], variables=of)["pil"].value
    assert mw.measure(frame, pd.concat([_noisy(frame)] * 2), ["pil"], variables=of)["pil"].value != expected


def test_the_command_measures_a_sample_as_far_as_it_can(tmp_path: Path, capsys) -> None:
    """Exit code 2 only for a measure asked for by name."""
    _frame().to_csv(tmp_path / "a.csv", index=False)
    _noisy(_frame()).iloc[::2].to_csv(tmp_path / "b.csv", index=False)
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert main(["measure", *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["measures"]
    assert found["pil"]["value"] > 0
    assert found["sse"]["value"] is found["distance_record_linkage"]["value"] is None
    assert main(["measure", *files]) == 0
    assert "sse: not computed: needs pairs" in capsys.readouterr().out
    assert main(["measure", *files, "--measure", "pil"]) == 0
    assert main(["measure", *files, "--measure", "pil", "--measure", "sse"]) == 2
    reporter = capsys.readouterr().err
    assert "sse: each masked record is compared with its own original, but the original has 60 records" in reporter
    assert "--key NAME" in reporter
    assert main(["measure", *files, "--measure", "pil", "--weight", "w", "--set", "pil.weighted=true"]) == 2
    assert "pil: the weights of masked records are those of their originals" in capsys.readouterr().err
    assert main(["measure", *files, "--measure", "sse", "--key", "id"]) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="id"), "the key is not in the masked file: .*'id'"),
        (lambda frame: frame.assign(id="p1"), "not unique: 59 repeats in the masked file"),
        (lambda frame: frame.assign(id=frame["id"].where(frame.index > 2)), r"missing in 3 records of the masked"),
        (lambda frame: frame.assign(id=frame["id"] + "x"), "60 of 60 masked .* that no original record has"),
    ],
)
def test_a_key_that_does_not_pair_is_refused(change, message) -> None:
    """Every refusal says which file, how many, and never which."""
    frame = _frame()
    with pytest.raises(mw.InputError, match=message) as caught:
        mw.measure(frame, change(frame), ["sse"], key="id")
    assert "p1" not in str(caught.value).replace("'id'", "")


@given(st.lists(st.sampled_from(["1", "2", "02", "b", "c", None]), min_size=1), st.booleans())
def test_shared_codes_are_equal_where_values_are(texts, numeric) -> None:
    """Categories by text, numbers by value, missing apart, codes without gaps."""
    data = mw.Dataset((mw.Column(mw.Variable("k", "nominal", categories=("c", "b", "02", "2", "1")),
                                 *_codes(texts, ("c", "b", "02", "2", "1"))),))  # fmt: skip
    numbers = np.array([1.0, 2.0, np.nan, 7.0])
    other = mw.Column(mw.Variable("k"), numbers, np.isnan(numbers))
    columns = [data["k"], other] if numeric else [data["k"], data["k"]]
    first, second = shared_codes(columns)
    says = [_said(text) if numeric else text for text in texts]
    others = [1.0, 2.0, None, 7.0] if numeric else texts
    together, codes = [*says, *others], np.concatenate([first, second])
    for a, one in zip(together, codes, strict=True):
        for b, another in zip(together, codes, strict=True):
            assert (one == another) == (a == b)
    used = set(codes.tolist()) - {-1}
    assert used == set(range(len(used)))


def _codes(texts, categories):
    codes = np.array([-1 if text is None else categories.index(text) for text in texts], dtype=np.int32)
    return codes, codes < 0


def _said(text):
    return float(text) if text is not None and text.isdigit() else text


@pytest.mark.parametrize(
    ("weights", "note"),
    [
        ([1.0, 2.0, 3.0], None),
        ([1.0, np.nan, 3.0], r"w is missing, negative or infinite in 1 record"),
        ([1.0, -2.0, 3.0], r"w is missing, negative or infinite in 1 record"),
        ([0.0, 0.0, 0.0], r"w is zero in every record"),
        (["a", "b", "c"], r"w holds categories"),
    ],
)
def test_weights_that_cannot_be_used_are_none_with_a_note(weights, note) -> None:
    """Never half of the weights."""
    data = dataset_from_frame(pd.DataFrame({"w": weights}), {"w": VariableDeclaration(role="weight")})
    found, notes = record_weights(data)
    if note is None:
        np.testing.assert_array_equal(found, weights)
        assert notes == ()
    else:
        assert found is None
        assert pd.Series(notes).str.contains(note).all()


def test_measures_are_told_weights_clusters_and_keys() -> None:
    """The comparison as a measure gets it, records paired through origin."""
    seen = []

    def compute(comparison, params, rng):
        seen.append(comparison)
        return mw.Measurement(0.0)

    risk = mw.Measure(name="spy", compute=compute, kind="risk")
    before, after = _with_roles(_frame()), _with_roles(_noisy(_frame()).iloc[::-1])

    before, after = paired(before, after, "id")
    found = compute_measures(
        [MeasureRequest("spy", risk, mw.NoParams())], before, after, mw.EditSet(), {}, 0, Quiet(), ["x", "y"]
    )
    (comparison,) = seen
    np.testing.assert_array_equal(comparison.households, np.arange(60) // 3)
    np.testing.assert_array_equal(comparison.masked_households(), (np.arange(60) // 3)[::-1])
    np.testing.assert_array_equal(comparison.masked_weights(), comparison.weights[::-1])
    original, masked = comparison.keys("house")
    np.testing.assert_array_equal(original, masked[::-1])
    with pytest.raises(mw.InputError, match=r"the original: .*'hous'; did you mean 'house'"):
        comparison.keys("hous")
    assert found["spy"].notes == ("this counts single records, although households are declared",)


def _with_roles(frame: pd.DataFrame) -> mw.Dataset:

    declared = {"w": VariableDeclaration(role="weight"), "house": VariableDeclaration(role="other")}
    return with_households(dataset_from_frame(frame, declared), "house")


PIPELINE = """\
maskwright: 1
data: {{source: people.csv, cluster: house, variables: {{house: {{role: {role}}}}}}}
protect: [{{method: {method}, params: {{k: 3}}}}]
output: {{data: masked.csv}}
seed: 1
"""


@pytest.mark.parametrize("role", ["identifier", "other"])
def test_a_method_that_counts_records_is_refused_where_clusters_are_declared(tmp_path: Path, capsys, role) -> None:
    """With the step's place, before any data is read."""
    _frame().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.format(role=role, method="individual_ranking"))
    assert main(["run", str(tmp_path / "pipeline.yaml")]) == 2
    assert "pipeline.yaml:3:11: step 1: individual_ranking counts k in single records" in capsys.readouterr().err


@pytest.mark.parametrize("role", ["identifier", "other"])
def test_microaggregation_counts_households(tmp_path: Path, role) -> None:
    """Records of one household are alike, so households would hold one household: they are joined."""
    frame = _frame().assign(x=np.arange(60) // 3, y=1)[["house", "x", "y"]]
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.format(role=role, method="microaggregation"))
    with (tmp_path / "pipeline.yaml").open("a") as file:
        file.write(
            "waive: [{doubt: constant-within-households, variable: x, because: that is what is tested},"
            " {doubt: follows-from-published, variable: x, because: it is the household}]\n"
        )
    record = mw.run(tmp_path / "pipeline.yaml").record
    assert record["k"]["groups"][0]["smallest"] >= 3
    masked = mw.read(tmp_path / "masked.csv")
    assert pd.Series(np.arange(60) // 3).groupby(masked["x"].values).nunique().min() >= 3
    assert ("house" in masked) == (role == "other")


def test_a_record_without_cluster_is_refused(tmp_path: Path) -> None:
    """It could not be counted."""
    frame = _frame().assign(house=lambda table: table["house"].where(table.index > 1))
    with pytest.raises(mw.InputError, match=r"cluster 'house' is missing in 2 records: records \d+, \d+"):
        mw.measure(frame, frame, ["sse"], cluster="house")


def test_the_command_takes_key_weight_and_cluster(tmp_path: Path, capsys) -> None:
    """`measure --key --weight --cluster`."""
    frame = _frame()
    frame.to_csv(tmp_path / "a.csv", index=False)
    _noisy(frame).iloc[::-1].to_csv(tmp_path / "b.csv", index=False)
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    options = ["--key", "id", "--weight", "w", "--cluster", "house", "--measure", "sse", "--json"]
    assert main(["measure", *files, *options]) == 0
    found = json.loads(capsys.readouterr().out)["measures"]["sse"]
    assert set(found["per_variable"]) == {"x", "y"}
    assert main(["measure", *files, "--key", "idd", "--measure", "sse"]) == 2
    assert "the key is not in the original: no variable called 'idd'; did you mean 'id'?" in capsys.readouterr().err
