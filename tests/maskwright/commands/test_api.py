"""Functions for notebooks: DataFrames in, DataFrames out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.foundation.progress import Quiet

if TYPE_CHECKING:
    from pathlib import Path


TOWN = {"town": {"role": "other"}}


def _incomes(n: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    wages = rng.integers(1000, 90000, n)
    other = rng.integers(0, 9000, n)
    town = rng.choice(["Ebro", "Ter", "Segre"], n)
    return pd.DataFrame({"town": town, "wages": wages, "other": other, "total": wages + other})


def test_a_frame_comes_back_masked_with_every_edit_kept() -> None:
    """Same columns, same order; the sum holds in every record."""
    frame = _incomes()
    frame.index = pd.Index(range(500, 700), name="row")
    before = frame.copy()
    masked = mw.protect(
        frame, "microaggregation", edits=["wages + other == total"], seed=1, params={"k": 5}, declared=TOWN
    )
    pd.testing.assert_frame_equal(frame, before)
    assert list(masked.columns) == list(frame.columns)
    assert masked.index.equals(pd.RangeIndex(200))
    assert (masked["wages"] + masked["other"] == masked["total"]).all()
    assert masked.groupby(["wages", "other", "total"]).size().min() >= 5
    assert masked["town"].tolist() == frame["town"].tolist()
    assert abs(masked["wages"].mean() - frame["wages"].mean()) <= 0.5


def test_what_else_a_frame_carries_is_not_published() -> None:
    """Names of persons in the index, attributes, and categories that no record has."""
    frame = _incomes(40)
    frame["town"] = pd.Categorical(frame["town"], categories=["Ebro", "Geheim", "Ter", "Segre"])
    frame.index = pd.Index([f"Geheim {number}" for number in range(40)], name="Geheim")
    frame.attrs["source"] = "Geheim"
    frame.columns.name = "Geheim"
    declared = {"town": {"role": "other"}}
    told: list[str] = []

    class Listener(Quiet):
        def notice(self, text: str) -> None:
            told.append(text)

    masked = mw.protect(frame, "microaggregation", params={"k": 4}, declared=declared, seed=1, reporter=Listener())
    assert masked.index.equals(pd.RangeIndex(40))
    assert masked.index.name is None
    assert masked.attrs == {}
    assert masked.columns.name is None
    assert masked["town"].cat.categories.tolist() == ["Ebro", "Ter", "Segre"]
    assert any("the index of the DataFrame is not published" in text for text in told)
    kept = mw.protect(frame, "microaggregation", params={"k": 4}, declared=declared, seed=1, keep_index=True)
    pd.testing.assert_index_equal(kept.index, frame.index)
    pd.testing.assert_frame_equal(kept.reset_index(drop=True), masked)
    plain = frame.reset_index(drop=True)
    told.clear()
    mw.protect(plain, "microaggregation", params={"k": 4}, declared=declared, seed=1, reporter=Listener())
    assert not any("index" in text for text in told)


def test_the_same_seed_gives_the_same_frame() -> None:
    """Determinism through the API."""
    frames = [mw.protect(_incomes(), "microaggregation", seed=3, params={"k": 4}, declared=TOWN) for _ in range(2)]
    pd.testing.assert_frame_equal(*frames)


def test_float_frames_without_decimals_are_not_rounded() -> None:
    """No grid: representatives are plain means."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    masked = mw.protect(frame, "microaggregation", seed=0, params={"k": 60, "group_size": "all"})
    np.testing.assert_allclose(masked["x"], np.full(60, frame["x"].mean()), rtol=1e-12)


def test_validate_gives_counts_and_records() -> None:
    """Outcome: .ok, .counts, .violations with 1-based records."""
    frame = _incomes(10)
    frame.loc[3, "total"] += 1
    found = mw.validate(frame, ["wages + other == total", "town in original"], original=_incomes(10))
    assert not found.ok
    assert found.counts["edit-1"] == 1
    assert found.violations["record"].tolist() == [4]


def test_measure_by_name_with_parameters_and_labels() -> None:
    """`as` names a measure; records can be paired by a key."""
    frame = _incomes(50)
    frame.insert(0, "id", range(50))
    masked = frame.sample(frac=1, random_state=1)
    found = mw.measure(frame, masked, ["sse", {"distance_record_linkage": {"known": 2, "as": "link"}}], key="id")
    assert found["sse"].value == 0
    assert set(found) == {"sse", "link"}
    with pytest.raises(mw.InputError, match="not unique"):
        mw.measure(frame.assign(id=1), masked, ["sse"], key="id")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: mw.protect(f, "microagregation", params={"k": 3}), "did you mean 'microaggregation'"),
        (lambda f: mw.protect(f, "microaggregation", params={"kk": 3}), "did you mean 'k'"),
        (lambda f: mw.protect(f, "microaggregation", params={"k": 1}), "k: expected a number >= 2, not 1"),
        (lambda f: mw.protect(f, "microaggregation", params={"k": 3}, variables=["wage"]), "did you mean 'wages'"),
        (lambda f: mw.protect(f, "microaggregation", params={"k": 3}, edits=["wage >= 0"]), "did you mean 'wages'"),
        (lambda f: mw.measure(f, f, ["pill"]), "did you mean 'pil'"),
        (lambda f: mw.measure(f, f.head(3), ["sse"]), "sse: .*and no --key pairs them"),
    ],
)
def test_mistakes_are_named_with_the_nearest_valid_name(call: object, message: str) -> None:
    """Unknown method, parameter, variable, measure."""
    with pytest.raises(mw.InputError, match=message):
        call(_incomes(20))


def test_public_names_are_what_the_type_checker_sees() -> None:
    """Every lazily imported name exists, and the lists agree."""
    for name in mw.__all__:
        assert getattr(mw, name) is not None
    assert set(mw._HOME) <= set(dir(mw))
    with pytest.raises(AttributeError, match="no attribute"):
        getattr(mw, "nonsense")  # noqa: B009


def test_module_names_do_not_hide_functions() -> None:
    """`maskwright.run` stays the function, whatever was imported."""
    importlib.import_module("maskwright.cli.main")
    importlib.import_module("maskwright.commands.run")
    assert callable(mw.run)
    assert callable(mw.validate)


def test_a_dataset_comes_back_as_a_dataset(tmp_path: Path) -> None:
    """The type that came in."""
    path = tmp_path / "incomes.csv"
    _incomes().to_csv(path, index=False)
    data = mw.read(path, variables=TOWN)
    masked = mw.protect(data, "microaggregation", edits=["wages + other = total"], seed=1, params={"k": 5})
    assert isinstance(masked, mw.Dataset)
    assert mw.validate(masked, ["wages + other = total"]).ok
