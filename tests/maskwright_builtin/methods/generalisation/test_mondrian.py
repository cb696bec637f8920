"""Strict Mondrian: the published classes of the survey, k counted again, bands that hold their values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright_builtin.methods.generalisation.mondrian import MONDRIAN, MondrianParams

SURVEY = Path(__file__).parents[3] / "reference" / "categorical_survey.csv"
KEYS = ("sex", "age", "town", "edu", "marital")


def block_of(values: np.ndarray, kind: str = "integer") -> mw.Block:
    names = [f"x{j}" for j in range(values.shape[1])]
    categories = () if kind != "ordinal" else tuple(map(str, range(int(values.max()) + 1)))
    variables = tuple(mw.Variable(name, kind, "quasi_identifier", categories=categories) for name in names)  # type: ignore[arg-type]
    return mw.Block(values.astype(float), np.isnan(values.astype(float)), variables)


def test_the_survey() -> None:
    masked = MONDRIAN.protect(block_of(mw.read(SURVEY).matrix(KEYS)), MondrianParams(k=5), np.random.default_rng(1))
    notes = masked.notes
    assert (notes["classes"], notes["smallest_class"], notes["largest_class"]) == (391, 5, 13)
    assert notes["normalised_certainty_penalty"] == pytest.approx(0.10726413, abs=1e-8)


@pytest.mark.parametrize("kind", ["integer", "ordinal", "date", "continuous"])
def test_every_class_has_k_records_and_every_band_its_values(kind: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        block = block_of(rng.integers(0, 30, size=(200, 3)), kind)
        masked = MONDRIAN.protect(block, MondrianParams(k=4), rng)
        assert np.unique(masked.values, axis=0, return_counts=True)[1].min() >= 4
        assert masked.variables is not None
        for j, variable in enumerate(masked.variables):
            for value, code in zip(block.values[:, j], masked.values[:, j].astype(int), strict=True):
                said = block.variables[j].categories[int(value)] if kind == "ordinal" else float(value)
                assert variable.bands[code].holds(said)


def test_ends_of_bands_are_values_of_no_single_record() -> None:
    values = np.round(np.random.default_rng(3).lognormal(6, 1, (300, 1)))
    block = mw.Block(values, np.isnan(values), (mw.Variable("x", "continuous", "quasi_identifier", decimals=1),))
    masked = MONDRIAN.protect(block, MondrianParams(k=5), np.random.default_rng(1))
    assert masked.variables is not None
    distinct, counts = np.unique(values, return_counts=True)
    ends = [end for band in masked.variables[0].bands for end in (band.lower, band.upper)]
    assert not set(ends) & set(distinct[counts < 3].tolist())
    codes = masked.values[:, 0].astype(int)
    bands = [masked.variables[0].bands[code] for code in codes]
    assert all(band.holds(value) for band, value in zip(bands, values[:, 0].tolist(), strict=True))
    assert np.bincount(codes).min() >= 5


def test_what_it_cannot_cut_is_refused() -> None:
    values = np.arange(20.0).reshape(10, 2)
    with pytest.raises(mw.InputError, match="k = 11 is more than the 10 records"):
        MONDRIAN.protect(block_of(values), MondrianParams(k=11), np.random.default_rng(1))
    values[3, 1] = np.nan
    frame = pd.DataFrame(values, columns=["x0", "x1"])
    declared = {name: {"role": "quasi_identifier"} for name in frame}
    with pytest.raises(mw.InputError, match="missing"):
        mw.protect(frame, "mondrian", declared=declared, params={"k": 2})
