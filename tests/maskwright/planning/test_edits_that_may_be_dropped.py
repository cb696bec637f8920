"""What a plan says of edits on categories that are made of the data, where steps let them be dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_plan_says_that_the_edit_may_be_dropped_and_the_run_that_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, 200), unit="D")
    left = days + pd.to_timedelta(rng.integers(0, 40, 200), unit="D")
    dates = {"came": days.strftime("%Y-%m-%d"), "left": left.strftime("%Y-%m-%d")}
    pd.DataFrame({**dates, "cost": rng.integers(10, 99, 200)}).to_csv(tmp_path / "in.csv", index=False)
    roles = {name: {"type": "date", "role": "quasi_identifier"} for name in dates}
    settings = {
        "maskwright": 1,
        "data": {"source": "in.csv", "variables": roles},
        "edits": ["left >= came"],
        "protect": [
            {"method": "microaggregation", "variables": ["cost"], "params": {"k": 3}},
            {
                "method": "recoding",
                "params": {"recode": dict.fromkeys(dates, "quarter"), "release_edits": {"drop": ["came"]}},
            },
        ],
        "output": {"data": "out.csv"},
        "seed": 1,
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["plan", str(tmp_path / "p.yaml")]) == 0
    said = " ".join(" ".join(capsys.readouterr()).split())
    dropped = {each["name"] for each in mw.run(tmp_path / "p.yaml").record["dropped_edits"]}
    assert dropped == {"edit-1"}
    assert "known when they are made, it is dropped, as release_edits allows" in said
