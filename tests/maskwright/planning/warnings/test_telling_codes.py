"""A missing code of one record that holds a number: it would be published as it stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.commands.plan import plan_pipeline

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """maskwright: 1
data:
  source: in.csv
  variables: {{staff: {{missing: [{missing}]}}}}
protect: [{{method: microaggregation, variables: [staff, wages], params: {{k: 3, k_guarantee: report}}}}]
output: {{data: out.csv}}
seed: 1
"""


def plan_with(cells: list[str], missing: str, folder: Path) -> list[dict[str, object]]:
    rows = [f'"{cell}",{100 + 7 * number}' for number, cell in enumerate([*cells, *map(str, range(10, 60))])]
    (folder / "in.csv").write_text("staff,wages\n" + "\n".join(rows) + "\n")
    (folder / "pipeline.yaml").write_text(PIPELINE.format(missing=missing))
    return [each for each in plan_pipeline(folder / "pipeline.yaml")["doubts"] if each["id"] == "W207"]


@pytest.mark.parametrize("cell", ["ca. 12", "12 (est.)", "> 500", "12?", "um 12,5", "3 000", "87.654,-", "3'000"])
def test_a_number_within_the_text_of_one_record_is_a_doubt(cell: str, tmp_path: Path) -> None:
    (found,) = plan_with([cell], json.dumps(cell), tmp_path)
    assert (found["doubt"], found["subject"]) == ("missing-code-tells", "staff")
    assert cell not in str(found)


@pytest.mark.parametrize(
    ("cells", "missing"),
    [(["NA"], "NA"), (["-9"], "-9"), (["k. A."], "'k. A.'"), (["N2"] * 3, "N2"), (["-9,0"], "'-9,0'")],
)
def test_a_code_is_none(cells: list[str], missing: str, tmp_path: Path) -> None:
    assert plan_with(cells, missing, tmp_path) == []


def test_nothing_is_released_with_it(tmp_path: Path) -> None:
    plan_with(["ca. 12"], "'ca. 12'", tmp_path)
    with pytest.raises(mw.OpenDoubts, match="W207"):
        mw.run(tmp_path / "pipeline.yaml")
    assert not (tmp_path / "out.csv").exists()
