"""A source that writes something else than it is given is refused by name, and nothing is released."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from maskwright.cli.main import main

sys.path.insert(0, str(Path(__file__).parent))
from bad_formats import SOURCES, BadPlugin, source
from installing import installed, package

TOWNS = ("York", "Bath", " Ely", "Münster")
PIPELINE = """maskwright: 1
data:
  source: in.csv
  variables:
    town: {role: other, release: as is}
    income: {role: confidential, decimals: 2, missing: [-9]}
    day: {type: date, role: other, release: as is}
protect: [{method: microaggregation, variables: [income], params: {k: 3}}]
output: {data: out.rows, record: run.json}
release: {order: kept}
seed: 1
waive: [{doubt: written-file-not-read-twice, because: the format has one reader}]
"""
N = 40


def folder_with_data(folder: Path) -> Path:
    rows = [
        f"{TOWNS[row % 4]},{'-9' if row % 7 == 3 else f'{100 + row * row % 37}.{10 + row}'},2020-01-{1 + row % 28:02}"
        for row in range(N)
    ]
    (folder / "in.csv").write_text("\n".join(["town,income,day", *rows, ""]), encoding="utf-8")
    (folder / "p.yaml").write_text(PIPELINE, encoding="utf-8")
    return folder / "p.yaml"


@pytest.mark.parametrize("bad", SOURCES, ids=[each.name for each in SOURCES])
def test_what_was_written_is_what_was_given_or_nothing_is_released(
    bad: BadPlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder_with_data(tmp_path)
    with installed(monkeypatch, package("strange-rows", register_sources=[bad.plugin])):
        assert main(["run", str(path)]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "source 'rows' of package strange-rows 1.2 does not give back what it was given to write: " in said
    assert bad.message in said
    assert not any(value in said for value in ("17.25", "Yorck", "2001-01-01", "many", "secret"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.csv", "p.yaml"]


def test_a_source_that_writes_what_it_is_given_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder_with_data(tmp_path)
    with installed(monkeypatch, package("good-rows", register_sources=[source()])):
        assert main(["run", str(path)]) == 0
    assert len((tmp_path / "out.rows").read_text(encoding="utf-8").splitlines()) == N + 1
