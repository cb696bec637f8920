"""What the command line advises: once, and nothing that was done already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

N = 100
PIPELINE = """maskwright: 1
data: {source: in.csv, decimal: ",", variables: {id: {role: other}, wage: {role: other}}}
protect: [{method: additive_noise, variables: [age]}]
output: {data: out.csv}
seed: 1
"""


def mixed_marks(folder: Path) -> str:
    rows = [f"{row};{20 + row % 50};{1000 + 17 * row}{',.'[row % 2]}{10 + row % 80}" for row in range(N)]
    (folder / "in.csv").write_text("\n".join(["id;age;wage", *rows, ""]), encoding="utf-8")
    (folder / "p.yaml").write_text(PIPELINE, encoding="utf-8")
    return str(folder / "p.yaml")


def test_a_decimal_comma_that_is_declared_is_not_advised_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["plan", mixed_marks(tmp_path)])
    said = " ".join(capsys.readouterr().out.split())
    assert "50 with a point, where the comma is the decimal mark" in said
    assert "write them with a comma too" in said
    assert '`decimal: ","`' not in said


def test_a_misspelt_variable_of_set_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", mixed_marks(tmp_path), "--set", "data.variables.wagee.role=other"]) == 2
    assert capsys.readouterr().err.count("no variable called 'wagee'") == 1


def test_two_variables_in_doubt_are_one_waiver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [(10 * (row % 7), 10 * (row % 5)) for row in range(1, N)]
    rows = [f"{row},{one},{two},{one + two},{two},{one},{one + two}" for row, (one, two) in enumerate(parts)]
    (tmp_path / "in.csv").write_text("\n".join(["id,one,two,both,three,four,all", *rows, ""]), encoding="utf-8")
    bases = "{one: 7, two: 11, both: 13, three: 7, four: 11, all: 13}"
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv, variables: {id: {role: other}}}\n"
        "edits: [both == one + two, all == three + four]\n"
        f"protect: [{{method: rounding, variables: [one, two, both, three, four, all], params: {{base: {bases}}}}}]\n"
        "output: {data: out.csv}\nseed: 1\n",
        encoding="utf-8",
    )
    assert main(["run", str(tmp_path / "p.yaml"), "--quiet"]) == 1
    said = capsys.readouterr()
    told = said.out + said.err
    assert told.count("are no multiples of its base") > 1
    assert "{doubt: multiples-not-kept, variable: [both, all], because: ...}" in told
    assert "[1, 1" not in told
    assert "of 1, 1" not in told


def test_a_code_below_zero_among_codes_with_leading_zeros_is_noticed(tmp_path: Path) -> None:
    rows = [f"{row};{'-9' if row % 20 == 0 else f'0{100 + row % 7}'}" for row in range(1, N)]
    (tmp_path / "in.csv").write_text("\n".join(["id;code", *rows, ""]), encoding="utf-8")
    path = tmp_path / "p.yaml"
    assert main(["init", str(tmp_path / "in.csv"), "--to", str(path)]) == 0
    stated = yaml.safe_load(path.read_text(encoding="utf-8"))["data"]
    assert stated["roles"]["quasi_identifier"] == "code"
    assert {str(code): names for code, names in stated["missing"].items()} == {"-9": ["code"]}
