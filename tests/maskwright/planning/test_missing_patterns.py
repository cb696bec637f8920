"""Missing cells under methods that take none: records are masked on the cells they have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

import maskwright as mw
from maskwright.cli.show.explain import explain
from maskwright.data.frames import dataset_from_frame
from maskwright.planning.make_plan import make_plan
from maskwright.planning.missing_patterns import ENOUGH, LEAST, MethodCall, without_holes
from maskwright.planning.model import Step
from maskwright.plugins.registry import plugins
from maskwright.testing import offered

SYNTHETIC = ["ipso", "micro_hybrid", "muralidhar_sarathy", "fuzzy_c_regression", "data_shuffling", "correlated_noise"]


def _frame(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(50, 9, n), "b": rng.normal(80, 9, n)}).round(1)
    frame["t"] = (frame["a"] + frame["b"]).round(1)
    frame["c"] = (frame["a"] / 2 + rng.normal(0, 5, n)).round(1)
    frame.loc[:79, "c"] = np.nan
    frame.loc[[100, 101], "b"] = np.nan
    frame.loc[200] = np.nan
    return frame


DECLARED = {name: {"decimals": 1} for name in "abtc"}


@pytest.mark.parametrize("method", SYNTHETIC)
def test_records_are_masked_on_the_cells_they_have(method) -> None:
    """Cells stay missing, every other cell is new, and the edit holds wherever it can be read."""
    frame = _frame()
    masked = mw.protect(frame, method, edits=["a + b = t"], seed=1, declared=DECLARED)
    assert (masked.isna() == frame.isna()).all().all()
    there = frame.notna().all(axis=1)
    assert np.allclose(masked[there].a + masked[there].b, masked[there].t)
    assert (masked == frame).to_numpy()[there].mean() < 0.1
    # Two records share a pattern: masked by themselves, their values would hardly move.
    assert not (masked.loc[[100, 101], ["a", "t", "c"]] == frame.loc[[100, 101], ["a", "t", "c"]]).to_numpy().any()


def test_moments_are_exact_among_records_of_one_pattern() -> None:
    frame = _frame().drop(index=[100, 101, 200]).reset_index(drop=True)
    masked = mw.protect(frame[["a", "b", "c"]], "ipso", seed=1)
    for rows, names in ((frame.c.isna(), ["a", "b"]), (frame.c.notna(), ["a", "b", "c"])):
        np.testing.assert_allclose(masked[rows][names].mean(), frame[rows][names].mean(), rtol=1e-9)
        np.testing.assert_allclose(masked[rows][names].cov(), frame[rows][names].cov(), rtol=1e-7)


def test_too_few_records_with_the_cells_are_refused_before_masking() -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4, 5, 6, 7, 8, 9], "b": [1.0, 3, 2, 5, 4, 6, 9, 8, np.nan]})
    with pytest.raises(mw.InputError, match=r"step 1: method 'micro_hybrid' takes no missing cells.*needs 20 records"):
        mw.protect(frame, "micro_hybrid", seed=1, params={"k": 20})


def test_missing_cells_of_what_is_only_read_are_refused() -> None:
    frame = _frame()
    with pytest.raises(mw.InputError, match="reads c: 81 and takes no missing cells there: leave it out of 'indep"):
        mw.protect(frame, "ipso", seed=1, params={"independent": ["c"], "dependent": ["a", "b"]})


def test_another_policy_than_own_pattern_is_refused() -> None:
    with pytest.raises(mw.InputError, match="so 'missing: available_cases' cannot be done; with 'missing: own_pattern"):
        mw.protect(_frame(), "ipso", seed=1, params={"missing": "available_cases"})


def test_groups_of_records_cannot_be_cut_by_pattern() -> None:
    """A method that promises k and takes no missing cells is refused by the plan."""
    method = plugins().methods["microaggregation"]
    without = mw.Method(
        name="no_holes", protect=method.protect, params=method.params, claims=mw.Claims(variable_types={"continuous"})
    )
    data = dataset_from_frame(_frame())
    with pytest.raises(mw.InputError, match="'no_holes' takes no missing cells; there are some in a: 1"):
        make_plan([Step(without, method.params())], data.variables, mw.EditSet(), data)


def test_explain_says_what_becomes_of_missing_cells() -> None:
    assert "Missing cells: taken; they stay missing" in explain("microaggregation")
    assert "Missing cells: taken; which cells are missing is drawn too" in explain("cart_synthesis")
    said = explain("ipso")
    assert "Missing cells: records with the same cells missing are masked apart" in said
    assert "none in variables listed under 'independent'" in said


class _Params(BaseModel):
    pass


def test_every_record_with_a_value_is_in_one_piece() -> None:
    rng = np.random.default_rng(1)
    missing = rng.random((200, 3)) < 0.4
    method = mw.Method(
        name="any", protect=lambda block, params, rng: mw.Masked(block.values, block.missing), params=_Params
    )
    found = without_holes([np.arange(120), np.arange(120, 200)], missing, method, _Params())
    together = np.sort(np.concatenate([piece.records for piece in found]))
    np.testing.assert_array_equal(together, np.flatnonzero(~missing.all(axis=1)))
    for piece in found:
        _holds(piece, missing)


def _holds(piece: MethodCall, missing: np.ndarray) -> None:
    assert not missing[np.ix_(piece.seen, piece.columns)].any()
    np.testing.assert_array_equal(piece.seen[: len(piece.records)], piece.records)
    assert len(np.unique(piece.seen)) == len(piece.seen)
    assert len(piece.seen) >= LEAST


def test_a_rare_pattern_is_seen_with_a_bounded_number_of_others() -> None:
    missing = np.zeros((50_000, 4), dtype=bool)
    missing[7, 2] = True
    method = mw.Method(
        name="any", protect=lambda block, params, rng: mw.Masked(block.values, block.missing), params=_Params
    )
    complete, rare = without_holes([np.arange(50_000)], missing, method, _Params())
    assert (len(complete.seen), rare.records.tolist()) == (49_999, [7])
    assert len(rare.seen) == ENOUGH + 1
    _holds(rare, missing)
    whole = method.claiming(within_strata=False)
    assert len(without_holes([np.arange(50_000)], missing, whole, _Params())[1].seen) == 50_000


class _Counted(np.ndarray):
    """Cells that count how many of them are taken."""

    taken = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        _Counted.taken += found.size
        return np.asarray(found)


def _many_patterns(n: int, patterns: int, p: int = 10) -> np.ndarray:
    """Missing cells of n records: none in the first half, the given number of patterns in the second."""
    rng = np.random.default_rng(2)
    holes = np.array([[number >> j & 1 for j in range(p)] for number in range(1, patterns + 1)], dtype=bool)
    missing = np.zeros((n, p), dtype=bool)
    missing[n // 2 :] = holes[rng.integers(patterns, size=n - n // 2)]
    missing[-patterns:] = holes
    return missing


@pytest.mark.parametrize("method", ["ipso", "correlated_noise"])
def test_cutting_by_pattern_takes_each_cell_a_few_times_however_many_patterns_there_are(method) -> None:
    found = plugins().methods[method]
    missing = _many_patterns(20_000, 500)
    _Counted.taken = 0
    calls = without_holes([np.arange(20_000)], missing.view(_Counted), found, found.params())
    assert len(calls) == 501
    assert missing.size <= _Counted.taken <= 5 * missing.size


@pytest.mark.parametrize(("method", "most"), [("correlated_noise", 8_000), ("ipso", 8_000 + 100 * ENOUGH)])
def test_a_method_sees_each_record_once_however_many_patterns_there_are(method, most) -> None:
    """Beside them, a rare pattern is seen with a bounded number of others, and a method that needs all has moments."""
    missing = _many_patterns(8_000, 100)
    frame = pd.DataFrame(np.random.default_rng(3).normal(size=missing.shape)).mask(missing)
    frame.columns = [f"v{j}" for j in range(frame.shape[1])]
    inner, rows = plugins().methods[method], []

    def protect(block: mw.Block, params: BaseModel, rng: np.random.Generator) -> mw.Masked:
        rows.append(block.n)
        return inner.protect(block, params, rng)

    others = "moments" if method == "correlated_noise" else "records"
    with offered([replace(inner.claiming(others=others), name="counted", protect=protect, variant=None)]):
        mw.protect(frame, "counted", seed=1)
    assert len(rows) == 101
    assert sum(rows) <= most


def test_moments_that_are_told_are_those_of_all_records_with_the_cells() -> None:
    rng = np.random.default_rng(4)
    missing = rng.random((400, 4)) < 0.3
    values = np.where(missing, np.nan, rng.normal(1e6, [1.0, 3.0, 1e-3, 7.0], (400, 4)))
    told = []

    def protect(block: mw.Block, params: BaseModel, rng: np.random.Generator) -> mw.Masked:
        told.append((block, block.moments))
        return mw.Masked(block.values + 1.0, block.missing.copy())

    method = mw.Method(
        name="told",
        protect=protect,
        params=_Params,
        scope="all",
        claims=mw.Claims(cut="none", within_strata=False, others="moments", variable_types={"continuous"}),
        summary="Adds 1.",
        reference="none",
    )
    frame = pd.DataFrame(values, columns=list("abcd"))
    with offered([method]):
        mw.protect(frame, "told", seed=1)
    for block, moments in told:
        rows = frame[list(block.names)].dropna()
        if moments is None:
            assert len(rows) == block.n
            continue
        assert moments.n == len(rows) > block.n
        np.testing.assert_allclose(moments.mean, rows.mean(), rtol=1e-15)
        np.testing.assert_allclose(moments.covariance, rows.cov(), rtol=1e-8, atol=1e-12)
        np.testing.assert_array_equal(moments.low, rows.min())
        np.testing.assert_array_equal(moments.high, rows.max())
    assert sum(moments is not None for _, moments in told) >= 10


def test_complete_records_get_the_noise_of_a_file_without_others() -> None:
    """Records that lack cells change nothing for those that lack none."""
    frame = _frame().drop(columns="t")
    alone = frame.dropna().reset_index(drop=True)
    # Complete records first: a record draws by its position in the file, which is the same in both.
    frame = pd.concat([alone, frame[frame.isna().any(axis=1)]], ignore_index=True)
    masked = mw.protect(frame, "correlated_noise", seed=1).head(len(alone))
    np.testing.assert_array_equal(masked.to_numpy(), mw.protect(alone, "correlated_noise", seed=1).to_numpy())
