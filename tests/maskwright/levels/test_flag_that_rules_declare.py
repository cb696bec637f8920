"""A flag of the group that rules declare goes beside any nationality that it tells: that it went tells none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["nat", "sex", "age"]
RULES = ['if foreign == 1 then any(crew where nat != "a")', 'if foreign == 0 then no(crew where nat != "a")']


def crews(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 200)
    frame = pd.DataFrame({
        "vid": np.repeat(np.arange(200), sizes) + 1, "mno": np.concatenate([np.arange(n) + 1 for n in sizes]),
        "nat": rng.choice(["a", "b"], sizes.sum(), p=[0.93, 0.07]),
        "sex": rng.choice(["m", "f"], sizes.sum(), p=[0.92, 0.08]),
        "age": rng.choice(["x", "y", "z"], sizes.sum(), p=[0.1, 0.5, 0.4]),
    })  # fmt: skip
    frame["foreign"] = frame["vid"].map((frame["nat"] != "a").groupby(frame["vid"]).any()).astype(int)
    return frame


@pytest.mark.parametrize(
    ("rules", "seed"),
    [(RULES, 1), (RULES, 2), ([], 4), *(pytest.param(RULES, seed, marks=pytest.mark.slow) for seed in range(3, 6))],
)
def test_what_went_beside_a_cell_tells_no_value_of_it(rules: list[str], seed: int, tmp_path: Path) -> None:
    crews(seed).to_csv(tmp_path / "in.csv", index=False)
    keys = {name: {"role": "quasi_identifier", "type": "nominal", "suppressed_as": "s"} for name in KEYS}
    pipeline = {
        "maskwright": 1,
        "data": {
            "source": "in.csv",
            "levels": {
                "vessel": {"key": "vid", "variables": ["foreign"]}, "crew": {"key": "mno", "in": "vessel"},
            },
            "variables": {"foreign": {"role": "other", "type": "integer", "suppressed_as": "s"}, **keys},
        },
        "edits": rules,
        "protect": [{"method": "local_suppression", "variables": KEYS, "params": {"k": 5, "keys": KEYS}}],
        "output": {"data": "out.csv"},
        "seed": 3,
    }  # fmt: skip
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(pipeline, sort_keys=False), encoding="utf-8")
    assert main(["run", str(tmp_path / "p.yaml")]) == 0
    out = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    asked = 0
    for _, members in out.groupby("vid"):
        hidden, shown = (members["nat"] == "s").sum(), members.loc[members["nat"] != "s", "nat"]
        flag = members["foreign"].iloc[0]
        fillings = {0, 1} if hidden and (shown == "a").all() else {int((shown != "a").any())}
        # Where both flags are possible it went, whichever it was; elsewhere it is what all see.
        assert flag == "s" if len(fillings) == 2 else flag in ("s", str(*fillings))
        asked += len(fillings) == 2
    assert asked
