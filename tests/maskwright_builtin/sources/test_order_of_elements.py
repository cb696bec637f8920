"""Records of XML that lack elements: of two that no record has both of, the file does not say which comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """\
maskwright: 1
data:
  source: survey.xml
  variables: {pay: {role: confidential}, rent: {role: other}, lease: {role: other}}
protect: [{method: microaggregation, variables: [pay], params: {k: 3}}]
release: {order: random}
measure: []
output: {data: masked.xml}
seed: %d
"""


@pytest.mark.parametrize("seed", range(4))
def test_variables_that_no_record_has_both_of(tmp_path: Path, seed: int) -> None:
    records = "".join(
        f"<Firm><pay>{100 + number}</pay>"
        + (f"<rent>{number % 4}</rent>" if number % 2 else f"<lease>{number % 4}</lease>")
        + "</Firm>"
        for number in range(20)
    )
    (tmp_path / "survey.xml").write_text(f"<Firms>{records}</Firms>", encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE % seed, encoding="utf-8")
    assert main(["run", str(tmp_path / "pipeline.yaml")]) == 0
    written = (tmp_path / "masked.xml").read_text(encoding="utf-8")
    assert (written.count("<rent>"), written.count("<lease>")) == (10, 10)
