"""No command writes over what it reads, under whatever name: exit code 2 before anything is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from maskwright.cli.main import main

RULES = "- x >= 0\n- include: more.yaml\n"
MORE = "- y >= 0\n"
PIPELINE = """\
maskwright: 1
data: {source: d.csv}
edits: [{yaml: rules.yaml}]
protect: [{method: microaggregation, params: {k: 3}}]
output: {data: m.csv}
"""
EXPERIMENT = """\
maskwright: 1
data: {source: DATA}
edits: [{yaml: rules.yaml}]
grid: [{method: microaggregation, vary: {k: [3]}}]
measure: [sse]
output: .
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data, rules that include others, a pipeline, and other names of the data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(12)))
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "more.yaml").write_text(MORE)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    (tmp_path / "link.xml").symlink_to("d.csv")
    (tmp_path / "hard.xml").hardlink_to("d.csv")
    (tmp_path / "here").symlink_to(tmp_path, target_is_directory=True)
    return tmp_path


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("out", ["d.csv", "./d.csv", "here/d.csv", "link.xml", "hard.xml", "rules.yaml", "more.yaml"])
def test_validate_keeps_what_it_reads(folder: Path, capsys: pytest.CaptureFixture[str], out: str) -> None:
    """The report goes nowhere near data, rules, or what rules include."""
    before = _content(folder)
    assert main(["validate", "d.csv", "--edits", "rules.yaml", "--svrl", out]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert _content(folder) == before


@pytest.mark.parametrize("key", ["data", "record", "svrl", "edits"])
@pytest.mark.parametrize("out", ["d.csv", "hard.csv", "here/link.csv", "more.yaml", "pipeline.yaml"])
def test_run_keeps_what_it_reads(folder: Path, capsys: pytest.CaptureFixture[str], key: str, out: str) -> None:
    """Whichever output it is; names that the output may not have are refused before."""
    ending = {"data": "csv", "record": "json", "svrl": "xml", "edits": "yaml"}[key]
    name = str(Path(out).with_suffix(f".{ending}"))
    if not Path(name).exists():
        Path(name).hardlink_to(Path(out.replace("hard.csv", "d.csv").replace("here/link.csv", "d.csv")))
    before = _content(folder)
    assert main(["run", "pipeline.yaml", "--set", f"output.{key}={name}"]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert _content(folder) == before


@pytest.mark.parametrize("name", ["table.csv", "microaggregation-k=3.csv"])
def test_compare_keeps_what_it_reads(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Data that have the name of a result, and an experiment that has that of a cell's pipeline."""
    data = folder / "table.csv"
    (folder / "d.csv").rename(data)
    experiment = folder / name.replace(".csv", ".yaml")
    experiment.write_text(EXPERIMENT.replace("DATA", "table.csv"))
    before = _content(folder)
    assert main(["compare", str(experiment)]) == 2
    said = capsys.readouterr().err
    assert "the result table.csv would overwrite" in said
    assert _content(folder) == before


@pytest.mark.parametrize(
    "command", [["edits", "rules.yaml", "--to", "yaml"], ["edits", "--data", "d.csv", "--suggest"]]
)
def test_standard_output_is_not_what_is_read(folder: Path, command: list[str]) -> None:
    """Rules appended to their own file, or to the data they were found in."""
    read = folder / ("rules.yaml" if "--to" in command else "d.csv")
    before = _content(folder)
    with read.open("a") as stream:
        ended = subprocess.run(
            [sys.executable, "-m", "maskwright", *command],
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert "standard output goes into" in ended.stderr
    assert _content(folder) == before


def test_a_pipeline_that_is_there_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The starting pipeline is written whole or not at all."""
    before = _content(folder)
    assert main(["init", "."]) == 2
    assert "was left alone" in capsys.readouterr().err
    assert _content(folder) == before
    assert main(["init", "new"]) == 0
    assert [path.name for path in (folder / "new").iterdir()] == ["pipeline.yaml"]
