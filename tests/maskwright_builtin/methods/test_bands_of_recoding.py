"""Recoding says what its categories stand for: every original value lies in the band of its category."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright_builtin.methods.recoding import RECODING
from maskwright_builtin.methods.recoding_parameters import RecodingParams

DAYS = np.arange(7000.0, 9000.0, 17.0)
AGE = mw.Variable("x", "integer", decimals=0)
BORN = mw.Variable("x", "date")
TOWN = mw.Variable("x", "nominal", categories=("A", "B", "C"))


def recoded(variable: mw.Variable, values: np.ndarray, how: object) -> tuple[mw.Variable, np.ndarray]:
    block = mw.Block(values[:, None].astype(float), np.zeros((len(values), 1), dtype=bool), (variable,))
    masked = RECODING.protect(block, RecodingParams(recode={} if how is None else {"x": how}), np.random.default_rng(1))
    assert masked.variables is not None
    return masked.variables[0], masked.values[:, 0].astype(int)


@pytest.mark.parametrize(
    ("variable", "values", "how"),
    [
        (AGE, np.arange(0.0, 95.0), (18.0, 30.0, 65.0)),
        (AGE, np.arange(0.0, 95.0), None),
        (BORN, DAYS, "year"),
        (BORN, DAYS, "quarter"),
        (BORN, DAYS, "month"),
        (BORN, DAYS, (dt.date(1990, 1, 1), dt.date(1992, 5, 5))),
        (BORN, np.arange(7000.0, 9000.0), {"age_at": dt.date(2012, 2, 29), "bands": (18.0, 19.5, 21.0)}),
    ],
)
def test_numbers_and_dates(variable: mw.Variable, values: np.ndarray, how: object) -> None:
    published, codes = recoded(variable, values, how)
    assert len(published.bands) == len(published.categories)
    for value, code in zip(values.tolist(), codes.tolist(), strict=True):
        assert [band.holds(value) for band in published.bands] == [
            place == code for place in range(len(published.bands))
        ]


def test_groups_and_groups_of_groups() -> None:
    published, _ = recoded(TOWN, np.array([0, 1, 2]), {"north": ("A", "B")})
    assert [band.members for band in published.bands] == [("A", "B"), ("C",)]
    again, _ = recoded(published, np.array([0, 0, 1]), {"all": ("north", "C")})
    assert [band.members for band in again.bands] == [("A", "B", "C")]


def test_joined_bands_of_numbers_are_one_interval() -> None:
    published, codes = recoded(AGE, np.array([3.0, 20.0, 70.0]), (18.0, 65.0))
    again, _ = recoded(published, codes, {"young": ("below 18", "18 to below 65")})
    assert again.bands[0] == mw.Band(upper=65.0)
    assert again.bands[1] == mw.Band(lower=65.0)


def test_a_variable_of_no_hierarchy_has_no_level() -> None:
    with pytest.raises(mw.InputError, match="x has no hierarchy: declare one"):
        recoded(AGE, np.array([1.0]), {"level": 1})


def test_bands_of_the_file_are_found_where_cells_are_missing() -> None:
    ages = pd.DataFrame({"age": [20.0 + 7 * row % 40 for row in range(40)], "size": [1.0, 2.0] * 20})
    gaps = ages.copy()
    gaps.loc[40] = [np.nan, 2.0]
    gaps.loc[5, "size"] = np.nan
    masked = [mw.protect(each, "recoding", params={"bands": 4}, variables=["age", "size"]) for each in (ages, gaps)]
    assert masked[1]["age"].isna().tolist() == [False] * 40 + [True]
    assert masked[1]["age"][:40].astype(str).tolist() == masked[0]["age"].astype(str).tolist()
