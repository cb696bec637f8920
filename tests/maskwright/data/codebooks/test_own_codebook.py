"""The codebook that a run writes, read again with the file that it was written beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

N = 40
NAMES = ("Neumann ", "Weber", "van der  Berg", "two\nlines")
PIPELINE = """maskwright: 1
data:
  source: in.csv
  variables:
    name: {role: other, type: nominal}
    seen: {type: datetime, format: "%d.%m.%Y %H:%M", role: other, min: 2020-01-01T00:00:00}
    left: {type: datetime, role: other}
protect: [{method: additive_noise, variables: [wage]}]
output: {data: out.csv, codebook: CODEBOOK}
seed: 1
"""


@pytest.mark.parametrize("codebook", ["about.csv", "about.xml"])
def test_datetimes_and_texts_with_blanks_at_an_end_come_back(tmp_path: Path, codebook: str) -> None:
    rows = [
        f'"{NAMES[row % 4]}",{1 + row % 28:02d}.03.2021 14:{row:02d},'
        f"2021-03-{1 + row % 28:02d}T15:{row:02d}:00,{1000 + 7 * (11 * row % N)}"
        for row in range(N)
    ]
    (tmp_path / "in.csv").write_text("\n".join(["name,seen,left,wage", *rows, ""]), encoding="utf-8")
    path = tmp_path / "p.yaml"
    path.write_text(PIPELINE.replace("CODEBOOK", codebook), encoding="utf-8")
    assert main(["run", str(path), "--quiet"]) == 0
    assert main(["describe", str(tmp_path / "out.csv"), "--codebook", str(tmp_path / codebook)]) == 0
    types = {name: each.type for name, each in mw.read_codebook(tmp_path / codebook).items()}
    assert types == {"name": "nominal", "seen": "datetime", "left": "datetime", "wage": "integer"}


def test_a_table_that_says_datetime_with_a_format_is_taken_at_its_word(tmp_path: Path) -> None:
    (tmp_path / "about.csv").write_text(
        "variable,label,type,format,missing\nseen,Interview,datetime,%Y-%m-%d %H:%M,\n", encoding="utf-8"
    )
    rows = [f"{row};2024-03-{1 + row:02d} 14:05" for row in range(20)]
    (tmp_path / "in.csv").write_text("\n".join(["id;seen", *rows, ""]), encoding="utf-8")
    assert main(["describe", str(tmp_path / "in.csv"), "--codebook", str(tmp_path / "about.csv")]) == 0
