"""k of keys is there in what is published, after all that goes for other reasons: pandas recounts it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main
from maskwright.data.dataset import Dataset
from maskwright.masking.levels import suppression_state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KEYS = ["nat", "sex", "age"]
K = 5


def crews(seed: int, vessels: int = 130) -> pd.DataFrame:
    """Vessels and their crews; who is somebody's kin has his nationality."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for vessel in range(vessels):
        own: list[dict[str, Any]] = []
        for number in range(int(rng.integers(1, 6))):
            kin = int(rng.integers(1, number + 1)) if number and rng.random() < 0.5 else 0
            row = {
                "vid": vessel + 1, "mno": number + 1, "kin": kin, "zone": "NS"[vessel % 2],
                "nat": own[kin - 1]["nat"] if kin else str(rng.choice(["a", "b", "c"], p=[0.06, 0.6, 0.34])),
                "sex": str(rng.choice(["m", "f"], p=[0.85, 0.15])),
                "age": str(rng.choice(["x", "y", "z"], p=[0.2, 0.5, 0.3])),
            }  # fmt: skip
            own.append(row)
        rows += own
    return pd.DataFrame(rows)


def run(folder: Path, seed: int, waive: list[Mapping[str, Any]] | None = None) -> int:
    crews(seed).to_csv(folder / "in.csv", index=False)
    pipeline = {
        "maskwright": 1,
        "data": {
            "source": "in.csv",
            "levels": {
                "vessel": {"key": "vid", "variables": ["zone"]},
                "crew": {"key": "mno", "in": "vessel", "pointers": {"kin": "mno"}},
            },
            "variables": {
                "zone": {"role": "other", "type": "nominal"},
                **{name: {"role": "quasi_identifier", "type": "nominal", "suppressed_as": "s"} for name in KEYS},
            },
        },
        "protect": [{"method": "local_suppression", "variables": KEYS, "params": {"k": K, "keys": KEYS}}],
        "output": {"data": "out.csv", "record": "run.json"},
        "seed": 3,
        **({"waive": waive} if waive else {}),
    }
    (folder / "p.yaml").write_text(yaml.safe_dump(pipeline, sort_keys=False), encoding="utf-8")
    return main(["run", str(folder / "p.yaml")])


def smallest(folder: Path) -> int:
    """Vessels of the smallest class of published keys, an emptied cell being a value of its own."""
    out = pd.read_csv(folder / "out.csv", dtype=str, keep_default_na=False)
    return int(out.groupby(KEYS)["vid"].nunique().min())


@pytest.mark.parametrize("seed", [0, 1, 3, 5])
def test_k_is_there_after_cells_went_besides(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, seed) == 0
    assert smallest(tmp_path) >= K
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    (group,) = record["k"]["groups"]
    assert group["smallest"] == smallest(tmp_path)
    assert sum(each["cells"] for each in record["suppressed"]) == int(
        (pd.read_csv(tmp_path / "out.csv", dtype=str)[KEYS] == "s").sum().sum()
    )
    assert "as well, because otherwise what a step promises of its keys is lost" in " ".join(
        capsys.readouterr().err.split()
    )


def test_k_that_is_lost_by_whatever_stops_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is asked again after the last cells: the count of what is published sees it."""
    emptied_cells = suppression_state.suppress_across_levels
    monkeypatch.setattr(
        "maskwright.commands.levels.masking.suppress_across_levels",
        lambda shown, originals, results, *rest: emptied_cells(
            shown, originals, {name: _asked_no_more(each) for name, each in results.items()}, *rest
        ),
    )
    assert run(tmp_path, 0) == 1
    assert not (tmp_path / "out.csv").exists()
    said = " ".join(capsys.readouterr().err.split())
    assert "W304 promise-not-kept: step 1: k = 5 is promised of nat, sex, age, and the smallest class has" in said
    waived = [{"doubt": "promise-not-kept", "step": 1, "because": "only to count what is short"}]
    assert run(tmp_path, 0, waived) == 0
    assert smallest(tmp_path) < K


def _asked_no_more(result: Any) -> Any:
    assert isinstance(result.masked, Dataset)
    return replace(result, removal=replace(result.removal, again=None))
