"""Every command that opens a data file takes every option of its format, declarations, or a pipeline's word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """\
maskwright: 1
data:
  source: persons.csv
  encoding: latin-1
  delimiter: ";"
  decimal: ","
  variables: {"año": {role: weight}, "región": {role: identifier}, ocio: {missing: ["-9"]}}
  cluster: hogar
edits: [yaml: rules.yaml]
protect: [{method: microaggregation, params: {k: 3}}]
output: {data: masked.csv}
waive: [{doubt: promise-not-kept, step: 1, because: who has no leisure is not secret}]
seed: 1
"""

STATED = [
    "--encoding", "latin-1", "--option", "delimiter=;", "--decimal", ",",
    "--variable", "año={role: weight}", "--variable", "ocio={missing: [-9]}", "--cluster", "hogar",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An office's file: latin-1, semicolons, decimal commas, a missing code, households."""
    rng = np.random.default_rng(0)
    rows = ["hogar;año;región;renta;ocio;total"]
    for number in range(30):
        rent, leisure = rng.integers(100, 900, 2) / 10
        leisure, total = (-9, rent) if number == 7 else (leisure, rent + leisure)
        cells = [f"{each:.1f}".replace(".", ",") for each in (rent, leisure, total)]
        cells[1] = "-9" if number == 7 else cells[1]
        rows.append(";".join([str(number // 2), "2020", "Aragón", *cells]))
    (tmp_path / "persons.csv").write_text("\n".join(rows) + "\n", encoding="latin-1")
    (tmp_path / "rules.yaml").write_text("- renta + ocio = total\n- renta >= 0\n", encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "validate": ["validate", "persons.csv", "--edits", "rules.yaml"],
    "localize": ["localize", "persons.csv", "--edits", "rules.yaml"],
    "edits": ["edits", "rules.yaml", "--data", "persons.csv"],
    "suggest": ["edits", "--suggest", "--data", "persons.csv"],
    "convert": ["edits", "rules.yaml", "--to", "schematron", "--data", "persons.csv"],
    "measure": ["measure", "persons.csv", "persons.csv", "--measure", "sse"],
    "advise": ["advise", "variables", "persons.csv", "--k", "3", "--candidates", "1", "--shape", "1+2"],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("how", [STATED, ["--pipeline", "pipeline.yaml"]], ids=["stated", "pipeline"])
def test_every_command_reads_an_offices_file(folder, capsys, name, how) -> None:
    # Without a word on its encoding the file is refused, but by what only looks at it: the rest is the options' doing.
    tries = name == "suggest"
    assert main(COMMANDS[name]) == (0 if tries else 2)
    assert ("taken: encoding: 'cp1252'" if tries else "is not utf-8 text") in capsys.readouterr().err
    assert main([*COMMANDS[name], *how, "--json"]) == 0
    json.loads(capsys.readouterr().out)


def test_what_is_declared_counts(folder, capsys) -> None:
    """The missing code makes the rule unknown in one record; households and weights are not measured."""
    assert main([*COMMANDS["validate"], "--pipeline", "pipeline.yaml", "--json"]) == 0
    total = json.loads(capsys.readouterr().out)["edits"][0]
    assert (total["violations"], total["unknown"]) == (0, 1)
    plain = ["--encoding", "latin-1", "--decimal", ","]
    assert main([*COMMANDS["validate"], *plain, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["edits"][0]["violations"] == 1
    assert main([*COMMANDS["measure"], "--pipeline", "pipeline.yaml", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["measures"]["sse"]["per_variable"]
    assert set(measured) == {"renta", "ocio", "total"}


def test_what_is_said_is_put_over_what_the_pipeline_says(folder, capsys) -> None:
    (folder / "pipeline.yaml").write_text(PIPELINE.replace("latin-1", "ascii"), encoding="utf-8")
    assert main([*COMMANDS["validate"], "--pipeline", "pipeline.yaml"]) == 2
    assert main([*COMMANDS["validate"], "--pipeline", "pipeline.yaml", "--encoding", "latin-1"]) == 0


def test_a_file_of_another_format_takes_what_is_declared(folder, capsys) -> None:
    """A pipeline that reads CSV says nothing about how XML is read, but what is declared holds for both."""
    assert main(["run", "pipeline.yaml", "--set", "output.data=masked.parquet", "--quiet"]) == 0
    assert main(["validate", "masked.parquet", "--edits", "rules.yaml", "--pipeline", "pipeline.yaml"]) == 0
    assert main(["measure", "persons.csv", "masked.parquet", "--pipeline", "pipeline.yaml", "--measure", "sse"]) == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--option", "encodin=latin-1"], "--option encodin: no option called 'encodin'; did you mean 'encoding'?"),
        (["--option", "encoding"], "--option encoding: expected name=value"),
        (["--record", "R"], "--record: 'record' is an option of xml files, and none of these is one"),
        (["--decimal", ";"], "--decimal: decimal: expected text of the pattern"),
        (["--variable", "renta"], "--variable renta: expected name={...}"),
        (["--variable", "renta={rol: weight}"], "--variable renta: no key called 'rol'; did you mean 'role'?"),
        (["--variable", "rentas={role: weight}"], "no variable called 'rentas'; did you mean 'renta'?"),
        (["--cluster", "hogares"], "no variable called 'hogares'; did you mean 'hogar'?"),
        (["--format", "cvs"], "no source called 'cvs'; did you mean 'csv'?"),
        (["--pipeline", "none.yaml"], "there is no such pipeline file"),
        (["--pipeline", "rules.yaml"], "the pipeline has no data section"),
    ],
)
def test_mistakes_name_the_option(folder, capsys, more, said) -> None:
    assert main([*COMMANDS["measure"], "--encoding", "latin-1", *more]) == 2
    assert said in capsys.readouterr().err
