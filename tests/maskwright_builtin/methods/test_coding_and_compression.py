"""Top and bottom coding, and lossy compression."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from maskwright import InputError, Variable
from maskwright.plugins.registry import find_method
from maskwright_builtin.methods import lossy_compression


def test_the_share_beyond_the_limit_is_replaced(make_block, protect):
    values = np.random.default_rng(1).permutation(100.0 + np.arange(101)).repeat(3)
    coded = protect("top_and_bottom_coding", make_block(values), top_share=0.1, bottom_share=0.05).values[:, 0]
    np.testing.assert_array_equal(coded, np.clip(values, 105, 190))
    assert protect("top_and_bottom_coding", make_block(values)).values.max() == 195


def test_the_code_of_a_share_is_the_value_of_no_single_record(make_block, protect):
    """What lies beyond the limit is what lies beyond the code, and a code of one significant digit is preferred."""
    values = np.round(np.random.default_rng(1).lognormal(5, 1, 400), 2)
    high, low = np.quantile(values, 0.95, method="lower"), np.quantile(values, 0.1, method="higher")
    coded = protect("top_and_bottom_coding", make_block(values), top_share=0.05, bottom_share=0.1).values[:, 0]
    assert coded.max() not in values
    assert coded.min() not in values
    assert ((coded == coded.max()) == (values > high)).all()
    assert ((coded == coded.min()) == (values < low)).all()
    assert float(f"{coded.max():.2g}") == coded.max()


def test_means_of_coded_values_keep_the_mean(make_block, protect):
    values = np.exp(np.random.default_rng(1).normal(size=300))
    coded = protect("top_and_bottom_coding", make_block(values), top_share=0.1, replace_by="mean").values[:, 0]
    assert coded.mean() == pytest.approx(values.mean())
    assert len(np.unique(coded)) == 271


def test_a_mean_of_few_is_not_published(make_block, protect):
    coded = protect("top_and_bottom_coding", make_block([1, 2, 3, 50, 90]), top=40, replace_by="mean")
    assert coded.values[:, 0].tolist() == [1, 2, 3, 40, 40]
    coded = protect("top_and_bottom_coding", make_block([1, 2, 3, 50, 90, 100]), top=40, replace_by="mean")
    assert coded.values[:, 0].tolist() == [1, 2, 3, 80, 80, 80]


def test_limits_by_variable_on_one_side_only(make_block, protect):
    block = make_block([[1.0, 1.0], [5.0, 5.0], [9.0, 9.0]])
    coded = protect("top_and_bottom_coding", block, bottom={"x2": 4})
    assert coded.values.tolist() == [[1.0, 4.0], [5.0, 5.0], [9.0, 9.0]]
    assert "no value beyond its limits" in coded.notes["warnings"][0]


def test_ordinal_categories_are_coded_by_position(make_block, protect):
    levels = (Variable("schooling", "ordinal", categories=("none", "low", "middle", "high")),)
    coded = protect("top_and_bottom_coding", make_block([0, 1, 2, 3, 3], variables=levels), top=2, bottom=1)
    assert coded.values[:, 0].tolist() == [1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"top": 0.5}, "all values of 'x1' are above the limit"),
        ({"bottom": 10}, "all values of 'x1' are below the limit"),
        ({"top": 3, "bottom": 3}, "the lower limit of 'x1' is not below"),
    ],
)
def test_limits_that_leave_nothing_are_refused(make_block, protect, params, said):
    with pytest.raises(InputError, match=said):
        protect("top_and_bottom_coding", make_block([1.0, 2.0, 5.0]), **params)


@pytest.mark.parametrize(
    "params",
    [
        {"top_share": 1}, {"top_share": -0.1}, {"top_share": 0.6, "bottom_share": 0.5}, {"top": 5, "top_share": 0.1},
        {"top": float("nan")}, {"replace_by": "median"}, {"limit": 3},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_parameters_of_coding_are_refused(params):
    with pytest.raises(ValidationError):
        find_method("top_and_bottom_coding").params(**params)


def test_the_picture_is_the_scaled_table(make_block, protect):
    """The steps in full, with Pillow as the codec of both."""
    table = np.random.default_rng(4).gamma(2.0, 100.0, (200, 13))
    low, span = table.min(axis=0), np.ptp(table, axis=0)
    file = io.BytesIO()
    Image.fromarray(np.rint((table - low) / span * 255).astype(np.uint8)).save(file, "JPEG", quality=40)
    expected = low + np.asarray(Image.open(file)) / 255.0 * span
    masked = protect("lossy_compression", make_block(table), quality=40).values
    np.testing.assert_allclose(masked, expected, rtol=1e-12)


def test_the_lower_the_quality_the_more_is_lost(make_block, protect):
    table = np.random.default_rng(4).gamma(2.0, 100.0, (500, 8))
    loss = [
        np.mean((protect("lossy_compression", make_block(table), quality=quality).values - table) ** 2)
        for quality in (10, 40, 70, 95)
    ]
    assert loss == sorted(loss, reverse=True)
    assert loss[-1] < loss[0] / 10


def test_long_files_are_cut_into_strips(make_block, protect, monkeypatch):
    table = np.random.default_rng(4).random((100, 3))
    monkeypatch.setattr(lossy_compression, "STRIP", 40)
    whole = protect("lossy_compression", make_block(table)).values
    assert whole.shape == (100, 3)
    assert np.abs(whole - table).mean() < 0.2


def test_missing_cells_and_empty_columns(make_block, protect):
    table = np.array([[1.0, np.nan, 5.0], [2.0, np.nan, 5.0], [np.nan, np.nan, 5.0]])
    masked = protect("lossy_compression", make_block(table)).values
    np.testing.assert_array_equal(np.isnan(masked), np.isnan(table))
    assert (masked[:, 2] == 5.0).all()


@pytest.mark.parametrize("quality", [0, 101, -5, 50.5, "high"])
def test_quality_is_from_1_to_100(quality):
    with pytest.raises(ValidationError):
        find_method("lossy_compression").params(quality=quality)


def test_too_many_variables_for_a_picture(make_block, protect, monkeypatch):
    monkeypatch.setattr(lossy_compression, "STRIP", 2)
    with pytest.raises(InputError, match="at most 2 variables together; there are 3"):
        protect("lossy_compression", make_block(np.ones((2, 3))))
