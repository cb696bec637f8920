"""All figures of k of one run are of the released files, where cells go beside others by several ways at once."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

HOUSEHOLD = ["hhid", "region", "area", "any_p", "any_q"]
DOUBTED = "variable: [region, area, any_p, any_q, x, y, sex], because: the test"

PIPELINE = f"""maskwright: 1
data:
  levels:
    household: {{source: h.csv, key: hhid}}
    person: {{source: p.csv, key: pno, in: household}}
  variables:
    hhid: {{type: nominal}}
    region: {{role: quasi_identifier}}
    area: {{role: quasi_identifier}}
    any_p: {{role: quasi_identifier}}
    any_q: {{role: quasi_identifier}}
    x: {{role: other}}
    y: {{role: other}}
    sex: {{role: quasi_identifier}}
edits: [if x == "a" then y == "c"]
protect:
  - {{method: local_suppression, variables: [any_p, region],
      params: {{k: 3, keys: [any_p, region], importance: {{any_p: 1, region: 9}}}}}}
  - {{method: local_suppression, variables: [any_q, area],
      params: {{k: 3, keys: [any_q, area], importance: {{any_q: 1, area: 9}}}}}}
  - {{method: local_suppression, variables: [x, sex], params: {{k: 5, keys: [x, sex]}}}}
waive:
  - {{doubt: suppressed-cells-follow, {DOUBTED}}}
  - {{doubt: suppressed-cells-undecided, {DOUBTED}}}
output: {{data: {{household: hm.csv, person: pm.csv}}, record: run.json, report: report.html}}
seed: 1
"""


def survey(seed: int) -> pd.DataFrame:
    """Whether any member has a value of `x`, or of `y`, is said of the household; some `x` tell `y`."""
    rng = np.random.default_rng(seed)
    rows = []
    for home in range(200):
        for pno in range(1, int(rng.integers(2, 4)) + 1):
            x = str(rng.choice(list("pab"), p=[0.2, 0.4, 0.4]))
            rows.append({
                "hhid": f"h{home}", "pno": pno, "x": x, "y": "c" if x == "a" else str(rng.choice(list("qcd"))),
                "sex": str(rng.choice(["m", "f"])), "region": "r" if home < 4 else "s",
                "area": "k" if 4 <= home < 8 else "l",
            })  # fmt: skip
    frame = pd.DataFrame(rows)
    for name, value in (("x", "p"), ("y", "q")):
        found = (frame[name] == value).groupby(frame["hhid"]).transform("any")
        frame[f"any_{value}"] = np.where(found, "yes", "no")
    return frame


@pytest.mark.parametrize("seed", range(3))
def test_all_figures_of_k_are_those_of_a_recount(tmp_path: Path, seed: int) -> None:
    frame = survey(seed)
    frame[HOUSEHOLD].drop_duplicates().to_csv(tmp_path / "h.csv", index=False)
    frame.drop(columns=HOUSEHOLD[1:]).to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "p.yaml").write_text(PIPELINE, encoding="utf-8")
    assert main(["run", str(tmp_path / "p.yaml")]) == 0
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    homes, persons = (pd.read_csv(tmp_path / name, dtype=str, keep_default_na=False) for name in ("hm.csv", "pm.csv"))
    emptied = {**(homes == "").sum().to_dict(), **(persons == "").sum().to_dict()}
    told = {each["variable"]: each["cells"] for each in record["suppressed"]}
    assert told["x"] > 0
    assert told == {name: count for name, count in emptied.items() if count}
    for group in record["k"]["groups"]:
        names = group["variables"]
        table = persons if "x" in names else homes
        sizes = table.groupby(names)["hhid"].transform("nunique")
        assert (group["smallest"], group["below"]) == (sizes.min(), (sizes < group["expected"]).sum())
        for alike in record["k_of_groups"]:
            if alike["about"].split(" on ")[-1].removesuffix(", counted in household") == ", ".join(names):
                assert (alike["smallest"], alike["below"]) == (group["smallest"], group["below"])
    text = " ".join(html.unescape(re.sub("<[^>]+>", " ", (tmp_path / "report.html").read_text("utf-8"))).split())
    assert "A missing or emptied cell is a value of its own" in text
    assert "Classes of person records are counted in household records" in text
