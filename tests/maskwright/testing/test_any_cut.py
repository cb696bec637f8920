"""The kit masks a file in two cuts where a method says that any cut gives the same values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.testing import method_checks

if TYPE_CHECKING:
    import numpy as np


def _by_record(block: mw.Block, params: mw.NoParams, rng: np.random.Generator) -> mw.Masked:
    return mw.Masked(block.values + mw.uniform_by_record(block, rng, block.p), block.missing.copy())


def _in_order(block: mw.Block, params: mw.NoParams, rng: np.random.Generator) -> mw.Masked:
    return mw.Masked(block.values + rng.random((block.n, block.p)), block.missing.copy())


def _by_mean(block: mw.Block, params: mw.NoParams, rng: np.random.Generator) -> mw.Masked:
    return mw.Masked(block.values - block.values.mean(axis=0), block.missing.copy())


def _check(function: object) -> object:
    method = mw.Method(name="claiming", protect=function, claims=mw.Claims(cut="any"))
    (found,) = [each for each in method_checks([method]) if "any_cut" in str(each.id)]
    return found.values[0]()


def test_draws_by_record_pass() -> None:
    assert _check(_by_record) is None


@pytest.mark.parametrize("function", [_in_order, _by_mean])
def test_what_depends_on_other_records_fails(function: object) -> None:
    with pytest.raises(AssertionError, match="draw with uniform_by_record, and look at no other record"):
        _check(function)
