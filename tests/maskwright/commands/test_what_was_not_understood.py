"""Files that were perhaps not understood: nothing is released, and it is said why, without a value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

N = 60
RNG = np.random.default_rng(1)
AGES = RNG.integers(20, 80, N).tolist()
INCOMES = list(map(str, RNG.integers(1000, 90000, N).tolist()))
PIPELINE = """
maskwright: 1
data:
  source: d.csv
  variables: {{age: {{role: quasi_identifier}}, income: {declared}}}
protect: [{{method: microaggregation, params: {{k: 3}}}}]
output: {{data: out.csv, record: run.json, public_record: public.json}}
seed: 1
{more}
"""


def saved(folder: Path, incomes: list[str], declared: str, more: str = "") -> str:
    rows = [f"{age};{income}" for age, income in zip(AGES, incomes, strict=True)]
    (folder / "d.csv").write_text("\n".join(["age;income", *rows]) + "\n", encoding="utf-8")
    path = folder / "p.yaml"
    path.write_text(PIPELINE.format(declared=declared, more=more), encoding="utf-8")
    return str(path)


CASES = {
    "missing code of R": ([each if row % 5 else "NA" for row, each in enumerate(INCOMES)], 1, "12 say 'NA'"),
    "one missing code": (["n/a", *INCOMES[1:]], 2, 'missing: ["n/a"]'),
    "decimal comma": ([f"{each},25" for each in INCOMES], 1, '`decimal: ","`'),
    "thousands": ([f"{int(each):,}" for each in INCOMES], 1, "60 with separators between thousands"),
    "one with separators": (["1,234", *INCOMES[1:]], 2, "1 of 60 cells is not a number"),
    "one with a leading zero": (["0712345", *INCOMES[1:]], 1, "1 has leading zeros: record 1"),
}


@pytest.mark.parametrize("role", ["confidential", "quasi_identifier", "other"])
@pytest.mark.parametrize("name", CASES)
def test_numbers_that_do_not_parse_are_never_released(
    name: str, role: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    incomes, code, said = CASES[name]
    pipeline = saved(tmp_path, incomes, f"{{role: {role}}}")
    assert main(["run", pipeline, "--quiet"]) == code
    shown = "".join(capsys.readouterr())
    assert said in shown
    assert not any(income in shown for income in incomes if income not in ("NA", "n/a"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "p.yaml"]


def test_the_remedies_that_are_named_release_the_file(tmp_path: Path) -> None:
    gaps = [each if row % 5 else "NA" for row, each in enumerate(INCOMES)]
    assert mw.run(saved(tmp_path, gaps, "{missing: [NA]}")).ok
    commas = saved(tmp_path, [f"{each},25" for each in INCOMES], "{role: confidential}")
    assert mw.run(commas, ['data.decimal=","']).ok
    assert mw.run(saved(tmp_path, gaps, "{type: nominal, role: other}")).ok


def test_the_plan_shows_it_and_a_waiver_lets_it_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gaps = [each if row % 5 else "NA" for row, each in enumerate(INCOMES)]
    assert main(["plan", saved(tmp_path, gaps, "{role: other}"), "--json"]) == 1
    doubts = json.loads(capsys.readouterr().out)["doubts"]
    assert [(each["id"], each["subject"], each["because"]) for each in doubts] == [("W101", "income", None)]
    waive = "waive: [{doubt: column-not-understood, variable: income, because: they are codes of a list}]"
    assert mw.run(saved(tmp_path, gaps, "{role: other}", waive)).ok
    assert "'NA'" not in (tmp_path / "public.json").read_text(encoding="utf-8")


def test_a_missing_code_that_never_occurs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = saved(tmp_path, INCOMES, "{missing: [-9]}")
    assert main(["run", pipeline]) == 0
    assert "declared missing codes that no cell holds: '-9' (income)" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["run"], ["plan"], ["validate"], ["edits"]])
def test_a_first_record_is_never_taken_for_names(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = saved(tmp_path, INCOMES, "{role: confidential}")
    rows = [f"Geheim{row};{age};{income}" for row, (age, income) in enumerate(zip(AGES, INCOMES, strict=True))]
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "rules.yaml").write_text("- income >= 0\n", encoding="utf-8")
    rules, data = str(tmp_path / "rules.yaml"), str(tmp_path / "d.csv")
    more = {"validate": [data, "--edits", rules], "edits": [rules, "--data", data]}.get(command[0], [pipeline])
    assert main([*command, *more]) == 2
    said = "".join(capsys.readouterr())
    assert "the first row may be a record, not names: 2 of its 3 cells are numbers" in said
    assert "Geheim" not in said
    assert INCOMES[0] not in said
    assert not (tmp_path / "public.json").exists()


def test_columns_beyond_a_long_header_are_masked(tmp_path: Path) -> None:
    names = [f"{'n' * 6500}_{column}" for column in range(48)]
    values = np.random.default_rng(2).integers(1000, 90000, (40, 48))
    rows = [";".join(names), *(";".join(map(str, row)) for row in values.tolist())]
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: d.csv}\nprotect: [{method: microaggregation, params: {k: 5, group_size: 10}}]\n"
        "output: {data: out.csv}\nseed: 1\n",
        encoding="utf-8",
    )
    mw.run(tmp_path / "p.yaml")
    masked = pd.read_csv(tmp_path / "out.csv", sep=";").to_numpy()
    assert ((masked != values).mean(axis=0) > 0.5).all()


def test_names_that_are_numbers_are_published_when_it_is_said(tmp_path: Path) -> None:
    frame = pd.DataFrame({"2019": np.arange(30) * 7 % 30, "2020": 30 + np.arange(30) * 7 % 30})
    frame.to_parquet(tmp_path / "d.parquet")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: d.parquet}\nprotect: [{method: microaggregation, params: {k: 5}}]\n"
        "output: {data: out.csv}\nseed: 1\n"
        "waive: [{doubt: header-may-be-a-record, because: they are years}]\n",
        encoding="utf-8",
    )
    assert mw.run(tmp_path / "p.yaml").ok
    assert mw.read(tmp_path / "out.csv", header=True).names == ("2019", "2020")


def test_the_real_reason_is_told_with_what_a_step_cannot_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame({"age": AGES, "wage": pd.Series([*map(int, INCOMES[1:]), "n/a"], dtype=object)})
    for method, params in (
        ("ipso", {"dependent": ["wage"], "independent": ["age"]}),
        ("microaggregation", {"k": 3, "structural_zeros": ["wage"]}),
    ):
        with pytest.raises(mw.InputError) as caught:
            mw.protect(frame, method, params=params, seed=1)
        assert "W101 column-not-understood: wage: 59 of 60 cells look like numbers" in str(caught.value)


def test_a_masked_xml_file_has_no_attributes_of_the_original(tmp_path: Path) -> None:
    records = "".join(f"<R><age>{age}</age></R>" for age in AGES)
    text = f'<D owner="Geheim" version="2" xml:base="file:///geheim"><!-- Geheim --><S by="Geheim">{records}</S></D>'
    (tmp_path / "d.xml").write_text(text, encoding="utf-8")
    pipeline = (
        "maskwright: 1\ndata: {source: d.xml, record: R, keep_attributes: [version]}\n"
        "protect: [{method: microaggregation, params: {k: 5}}]\noutput: {data: out.xml, record: run.json}\nseed: 1\n"
    )
    (tmp_path / "p.yaml").write_text(pipeline, encoding="utf-8")
    mw.run(tmp_path / "p.yaml")
    masked = (tmp_path / "out.xml").read_text(encoding="utf-8")
    assert "eheim" not in masked
    assert '<D version="2">' in masked
    notices = [each["message"] for each in json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["notices"]]
    assert any("3 attributes of the elements around the records are not written" in notice for notice in notices)
