"""What plans and records of levels say of steps and of groups of variables: numbers of the pipeline, each set once."""

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

SUPPRESSION = {"method": "local_suppression", "variables": ["age", "fund"], "params": {"k": 4, "keys": ["age", "fund"]}}


def pipeline(folder: Path) -> Path:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"hh": np.repeat(np.arange(80), 2), "no": np.tile([1, 2], 80)})
    frame["rent"] = np.repeat(rng.integers(300, 900, 80), 2)
    frame["fund"], frame["age"] = rng.choice(["a", "b"], 160), rng.integers(0, 90, 160)
    frame.to_csv(folder / "in.csv", index=False)
    settings = {
        "maskwright": 1,
        "data": {
            "source": "in.csv",
            "levels": {
                "household": {"key": "hh", "variables": ["rent"]},
                "person": {"key": "no", "in": "household"},
            },
            "variables": {"fund": {"role": "quasi_identifier"}, "age": {"role": "quasi_identifier"}},
        },
        "protect": [
            {"method": "microaggregation", "variables": ["rent"], "params": {"k": 3}},
            {"method": "pram", "variables": ["fund"], "params": {"retain": 0.8}},
            {"method": "recoding", "params": {"recode": {"age": [30, 60]}}},
            SUPPRESSION,
        ],
        "output": {"data": "out.csv"},
        "seed": 2,
    }
    (folder / "p.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return folder / "p.yaml"


def test_a_plan_of_levels_names_the_steps_of_the_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(pipeline(tmp_path))]) == 0
    said = " ".join(" ".join(capsys.readouterr()).split())
    assert said.count("step 4 (local_suppression) counts values of fund that step 2 (pram) has changed at random") == 1
    assert "step 3 (local_suppression)" not in said


def test_each_set_of_variables_is_counted_once_for_the_k_that_is_promised_of_it(tmp_path: Path) -> None:
    counted = mw.run(pipeline(tmp_path)).record["k_of_groups"]
    sets = [frozenset(each["about"].partition(" on ")[2].partition(", counted")[0].split(", ")) for each in counted]
    assert len(set(sets)) == len(sets)
    assert [each["expected"] for each, names in zip(counted, sets, strict=True) if names == {"age", "fund"}] == [4]
