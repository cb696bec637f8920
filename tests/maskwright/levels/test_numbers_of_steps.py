"""Steps of a pipeline on levels have its numbers in all that is said of them, though each level is planned alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """maskwright: 1
data:
  source: flat.csv
  levels:
    household: {key: home, variables: [region, rent, fuel]}
    person: {key: line, in: household}
  variables: {region: {role: quasi_identifier, type: nominal}, sex: {role: quasi_identifier, type: nominal}}
edits: [rent >= 0]
protect: [STEPS]
output: {data: masked.csv}
"""
RENT = "{method: microaggregation, variables: [rent, fuel], params: {k: 3}}"
WAGE = "{method: microaggregation, variables: [wage, other], params: {k: 3}}"
REGION = "{method: local_suppression, params: {k: 2, keys: [region]}}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        f"{home},{'NS'[home % 2]},{home * 7 % 50},{home * 3 % 20},{line},{'MF'[line % 2]},{home * line},{line}\n"
        for home in range(1, 41)
        for line in range(1, 3)
    ]
    (tmp_path / "flat.csv").write_text("home,region,rent,fuel,line,sex,wage,other\n" + "".join(rows), encoding="utf-8")
    return tmp_path


def pipeline(folder: Path, *steps: str) -> Path:
    (folder / "pipeline.yaml").write_text(PIPELINE.replace("STEPS", ", ".join(steps)), encoding="utf-8")
    return folder / "pipeline.yaml"


def test_a_wrong_order_is_told_of_all_levels_at_once(folder: Path) -> None:
    path = pipeline(folder, WAGE, RENT, REGION, "{method: sampling, params: {fraction: 0.5}}")
    with pytest.raises(mw.InputError) as refused:
        mw.run(path)
    said = str(refused.value)
    # Each level alone has two steps and the one that takes records away.
    assert "step 1 (microaggregation) promises k = 3, and step 4 (sampling)" in said
    assert "step 2 (microaggregation) promises k = 3, and step 4 (sampling)" in said
    assert "step 3 (local_suppression) promises k = 2, and step 4 (sampling)" in said
    assert "this order works: step 4 (sampling), step 1 (microaggregation)" in said
