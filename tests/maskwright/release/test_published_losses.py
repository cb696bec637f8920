"""Losses are published with three digits: with all of them, one unknown value follows from all others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """
maskwright: 1
data: {source: d.csv}
protect: [{method: microaggregation, params: {k: 3}}]
measure: [pil, sse]
output: {data: out.csv, record: run.json, public_record: public.json}
seed: 1
"""


def test_the_public_record_has_losses_with_three_digits(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pd.DataFrame(rng.integers(100, 90000, (50, 3)), columns=["a", "b", "c"]).to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "p.yaml").write_text(PIPELINE, encoding="utf-8")
    mw.run(tmp_path / "p.yaml")
    confidential = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["measures"]
    public = json.loads((tmp_path / "public.json").read_text(encoding="utf-8"))["loss"]
    assert set(public) == {"pil", "sse"}
    for label, found in public.items():
        exact = {"": confidential[label]["value"], **confidential[label]["parts"]}
        for name, value in {"": found["value"], **found["parts"]}.items():
            assert value == float(f"{value:.3g}")
            assert abs(value - exact[name]) <= 0.006 * abs(exact[name])
    assert any(value["value"] != float(f"{value['value']:.3g}") for value in confidential.values())
