"""Where steps ask for different k, each group of variables is compared with its own: pandas recounts it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def released(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Vessels masked with k = 8; wages of their crews with k = 3, and their hours with 4 that is counted only."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 5, 60)
    vessels = np.repeat(np.arange(60), sizes)
    sales = rng.integers(1000, 9000, 60)
    pd.DataFrame({
        "vid": vessels + 1, "mno": np.concatenate([np.arange(n) + 1 for n in sizes]), "sales": sales[vessels],
        "wage": rng.integers(100, 900, len(vessels)), "hours": rng.integers(10, 400, len(vessels)),
    }).to_csv(tmp_path / "in.csv", index=False)  # fmt: skip
    pipeline = {
        "maskwright": 1,
        "data": {
            "source": "in.csv",
            "levels": {"vessel": {"key": "vid", "variables": ["sales"]}, "crew": {"key": "mno", "in": "vessel"}},
        },
        "protect": [
            {"method": "microaggregation", "variables": ["sales"], "params": {"k": 8}},
            {"method": "microaggregation", "variables": ["wage"], "params": {"k": 3}},
            {"method": "microaggregation", "variables": ["hours"], "params": {"k": 4, "k_guarantee": "report"}},
        ],
        "measure": [{"k_anonymity": {"keys": ["wage"], "k": 3}}],
        "output": {"data": "out.csv", "report": "report.html", "record": "run.json", "public_record": "about.json"},
        "seed": 3,
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(pipeline, sort_keys=False), encoding="utf-8")
    assert main(["run", str(tmp_path / "p.yaml")]) == 0
    (tmp_path / "said.txt").write_text(capsys.readouterr().out, encoding="utf-8")
    return tmp_path


def vessels_alike(out: pd.DataFrame, name: str) -> pd.Series[int]:
    """For each record, the vessels that have its value."""
    return out.groupby(name)["vid"].transform("nunique")


def test_each_group_is_counted_below_its_own_k(released: Path) -> None:
    out = pd.read_csv(released / "out.csv")
    for file in ("run.json", "about.json"):
        record = json.loads((released / file).read_text(encoding="utf-8"))
        groups = {tuple(each["variables"]): each for each in record["k"]["groups"]}
        for name, k, guaranteed in (("wage", 3, True), ("hours", 4, False)):
            alike = vessels_alike(out, name)
            found = groups[(name,)]
            assert (found["expected"], found["guaranteed"]) == (k, guaranteed)
            assert (found["smallest"], found["below"]) == (alike.min(), (alike < k).sum())
            (four,) = (each for each in record["k_of_groups"] if f" on {name}," in each["about"])
            assert (four["expected"], four["smallest"], four["below"]) == (k, alike.min(), (alike < k).sum())
        (sales,) = (each for each in record["k_of_groups"] if each["about"] == "vessel on sales")
        counts = out.drop_duplicates("vid")["sales"].value_counts()
        assert (sales["expected"], sales["smallest"], sales["below"]) == (8, counts.min(), 0)
        assert record["k_of_groups"][-1]["expected"] == 8


def test_tables_and_report_say_which_k_is_meant(released: Path) -> None:
    lines = [line.split() for line in (released / "said.txt").read_text(encoding="utf-8").splitlines()]
    rows = {int(each[7]): each[8:] for each in lines if " ".join(each[:6]) == "on any one variable group of"}
    assert {k: int(row[1]) for k, row in rows.items()} == {8: 8, 4: 4, 3: 3}
    assert any(each[-3:] == ["below", "its", "k"] for each in lines)
    report = " ".join((released / "report.html").read_text(encoding="utf-8").split())
    assert "At least 8 vessel records with equal values are promised on sales" in report
    assert "at least 3 vessel records with equal values are promised on wage" in report
    assert "groups of 4 vessel records are made, and their size is counted, not promised, on hours" in report
    assert "Records below its k" in report
    tiles = re.findall(r'name">k on any one variable group of k (\d+)</div><div class="value">(\d+)</div>'
                       r'<div class="note">requested: (\d+)<', report)  # fmt: skip
    assert tiles == [("8", "8", "8"), ("4", "4", "4"), ("3", "3", "3")]
    said = " ".join((released / "said.txt").read_text(encoding="utf-8").split())
    assert "The smallest group that shares wage holds 3 vessel records" in said
