"""``maskwright init`` of one flat file in which households have variables in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def survey(folder: Path, *, grouped: bool) -> Path:
    rng = np.random.default_rng(3)
    sizes = rng.integers(2, 5, 80)
    home = np.repeat(np.arange(80), sizes)
    frame = pd.DataFrame({
        "hhid": [f"H{each:03d}" for each in home], "region": rng.choice(["N", "S", "W"], 80)[home],
        "rent": rng.integers(100, 2000, 80)[home], "pno": np.concatenate([np.arange(size) + 1 for size in sizes]),
        "income": rng.integers(0, 50_000, len(home)),
    })  # fmt: skip
    frame["spouse"] = np.where(frame["pno"] == 1, 2, np.where(frame["pno"] == 2, 1, 0))
    if not grouped:
        frame = frame[frame["pno"] == 1].drop(columns=["spouse", "pno"])
    frame.to_csv(folder / "survey.csv", index=False)
    return folder / "survey.csv"


def test_levels_are_proposed_and_work_once_they_are_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = tmp_path / "start.yaml"
    assert main(["init", str(survey(tmp_path, grouped=True)), "--to", str(started)]) == 0
    text = started.read_text(encoding="utf-8")
    assert "some variables are the same in all records of each household" in text
    proposed = [
        line for line in text.splitlines() if line.startswith(("  # levels:", "  #   household:", "  #   person:"))
    ]
    assert proposed == [
        "  # levels:",
        "  #   household: {key: hhid, variables: [region, rent]}",
        "  #   person: {key: pno, in: household, pointers: {spouse: pno}}",
    ]
    pasted = [
        line.replace("  # ", "  ", 1) if line in proposed else line
        for line in text.splitlines() if not line.startswith("  cluster:")
    ]  # fmt: skip
    settings = yaml.safe_load("\n".join(pasted))
    settings["data"] |= {"roles": {"other": "region"}, "types": {}}
    settings["measure"] = ["pil"]
    settings |= {"protect": [{"method": "microaggregation", "variables": ["rent", "income"], "params": {"k": 3}}]}
    started.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    capsys.readouterr()
    assert main(["plan", str(started)]) == 0
    assert "published as" not in capsys.readouterr().err


def test_nothing_is_proposed_where_no_household_has_two_records(tmp_path: Path) -> None:
    assert main(["init", str(survey(tmp_path, grouped=False)), "--to", str(tmp_path / "start.yaml")]) == 0
    assert "levels:" not in (tmp_path / "start.yaml").read_text(encoding="utf-8")
