"""Multiples that a method of a single variable promises: adjusting keeps them where it can, else says what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

from maskwright import Block, Claims, Limit, Masked, Method
from maskwright.testing import run_pipeline_in

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.testing import RanPipeline


class Params(BaseModel, extra="forbid", frozen=True):
    """Parameters."""

    base: float = 5


def protect(block: Block, params: Params, rng: np.random.Generator) -> Masked:
    lower = np.floor(block.values / params.base)
    up = rng.random(block.values.shape) < block.values / params.base - lower
    return Masked((lower + up) * params.base, block.missing.copy())


def limits(params: Params, variables: Any) -> tuple[Limit, ...]:
    return tuple(Limit(each.name, multiple_of=params.base) for each in variables)


DITHER = Method(
    name="dither",
    protect=protect,
    params=Params,
    scope="variable",
    claims=Claims(handles_missing=True, limits=limits),
    summary="Random rounding.",
    reference="none",
)


def dithered(folder: Path, edits: list[str], base: float = 5, decimals: int = 0) -> RanPipeline:
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"net": rng.integers(500, 5000, 300), "tax": rng.integers(50, 900, 300)}) / 10**decimals
    data["gross"] = (data.net + data.tax).round(decimals)
    data.to_csv(folder / "data.csv", index=False)
    pipeline = {
        "data": {"source": "data.csv"},
        "edits": edits,
        "protect": [{"method": "dither", "params": {"base": base}}],
        "output": {"data": "masked.csv", "record": "run.json"},
    }
    return run_pipeline_in(folder, pipeline, plugins=[DITHER])


@pytest.mark.waived("edit-may-be-wrong")
@pytest.mark.parametrize(("base", "decimals"), [(5, 0), (0.5, 1), (2.5, 0)])
def test_adjusting_keeps_the_multiples(tmp_path: Path, base: float, decimals: int) -> None:
    found = dithered(tmp_path, ["net + tax == gross", f"net <= {4800 / 10**decimals}"], base, decimals)
    assert found.exit_code == 0, found.messages
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert (masked.net + masked.tax - masked.gross).abs().max() < 1e-9
    for name in masked:
        units = masked[name] / base
        assert (units - units.round()).abs().max() < 1e-9, name


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
def test_where_no_multiples_satisfy_the_edits_that_is_said(tmp_path: Path) -> None:
    found = dithered(tmp_path, ["net + tax == gross", "tax in {51, 333, 801}"])
    assert found.exit_code == 1
    said = " ".join(str(found.error).split()) + " ".join(found.messages.split())
    assert "values of tax are no multiples of its base, since adjusting found none that satisfy edit-1, edit-2" in said
    assert "take a smaller base" in said
    assert not (tmp_path / "masked.csv").exists()
