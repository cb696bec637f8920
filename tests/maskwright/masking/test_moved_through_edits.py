"""What top coding asks of totals and products is its own doing; what a wrong edit asks is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

CLUSTERS = {"method": "microaggregation", "params": {"k": 5}}


def households(n: int = 800) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"hours": rng.integers(5, 80, n), "rate": rng.integers(9, 90, n)})
    frame["other"] = rng.lognormal(6, 1, n).round()
    frame["pay"] = frame["hours"] * frame["rate"]
    frame["income"] = frame["pay"] + frame["other"]
    frame["tax"] = (frame["income"] * 0.2).round()
    frame["net"] = frame["income"] - frame["tax"]
    return frame


def run(folder: Path, coded: dict[str, int], edits: list[str], *, coded_first: bool = True) -> pd.DataFrame:
    households().to_csv(folder / "d.csv", index=False)
    coding = {
        "method": "top_and_bottom_coding",
        "variables": list(coded),
        "params": {"top": next(iter(coded.values()))},
    }
    described = {
        "maskwright": 1, "data": {"source": "d.csv"}, "edits": edits,
        "protect": [coding, CLUSTERS] if coded_first else [CLUSTERS, coding],
        "output": {"data": "m.csv"}, "seed": 1,
    }  # fmt: skip
    (folder / "p.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    mw.run(folder / "p.yaml")
    return pd.read_csv(folder / "m.csv")


@pytest.mark.parametrize("coded_first", [True, False])
def test_the_total_of_a_coded_part_moves_with_it(tmp_path: Path, *, coded_first: bool) -> None:
    masked = run(tmp_path, {"other": 1000}, ["pay + other == income", "income - tax == net"], coded_first=coded_first)
    assert (masked["pay"] + masked["other"] == masked["income"]).all()
    assert (masked["income"] - masked["tax"] == masked["net"]).all()
    assert masked["other"].max() <= 1000
    assert masked["income"].mean() < households()["income"].mean()


def test_the_product_of_a_coded_factor_moves_with_it(tmp_path: Path) -> None:
    masked = run(tmp_path, {"hours": 40}, ["hours * rate == pay", "pay + other == income", "income - tax == net"])
    assert (masked["hours"] * masked["rate"] == masked["pay"]).all()
    assert masked["hours"].max() <= 40


@pytest.mark.waived("edit-may-be-wrong")
@pytest.mark.parametrize("wrong", ["pay - other == income", "income <= 1500"])
def test_a_wrong_edit_is_not_excused_by_coding(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(mw.OpenDoubts, match="W309 adjustment-distorts: "):
        run(tmp_path, {"other": 1000}, ["income - tax == net", wrong])
