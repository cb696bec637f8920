"""``plan --no-data``: what can be said before any data are read."""

from __future__ import annotations

import json

from maskwright.cli.main import main

PIPELINE = """
maskwright: 1
data: {source: there-is-none.csv}
edits:
  - if age < 16 then wages == 0
  - if age < 60 then pension == 0
  - area * price == rent
protect:
  - method: microaggregation
    params: {k: 5, structural_zeros: [wages], adjustment_weights: {rent: 2}}
    variables: [age, wages, pension, area, price, rent]
  - {method: ipso, params: {dependent: [hours], independent: [region, age2]}}
output: {data: masked.csv}
"""


def test_variables_that_a_step_only_reads_are_known(tmp_path, capsys) -> None:
    """And what will cut the records into strata is said."""
    (tmp_path / "p.yaml").write_text(PIPELINE, encoding="utf-8")
    assert main(["plan", str(tmp_path / "p.yaml"), "--no-data", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["untouched"] == ["region", "age2"]
    cuts = {tuple(group["variables"]): group["cut_by"] for step in plan["steps"] for group in step["groups"]}
    assert cuts["age", "wages", "pension"] == ["age < 16", "age < 60", "missing cells", "zeros of wages"]
    assert cuts["area", "price", "rent"] == ["sign of area", "sign of price", "sign of rent", "missing cells"]
    assert cuts["hours",] == []
    assert main(["plan", str(tmp_path / "p.yaml"), "--no-data"]) == 0
    said = capsys.readouterr().out
    assert "Plan without data" in said
    assert "cut by: age < 16; age < 60;" in said
    assert "independent [region, age2]" in said


def test_code_lists_of_a_codebook_make_categories(tmp_path, capsys) -> None:
    (tmp_path / "codebook.csv").write_text("variable;values\nhome;1=owned|2=rented\n", encoding="utf-8")
    text = (
        "maskwright: 1\ndata: {source: in.csv, codebook: codebook.csv, variables: {home: {role: quasi_identifier}}}\n"
        "protect: [{method: pram, variables: [home], params: {retain: 0.9}}]\noutput: {data: out.csv}\n"
    )
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    assert main(["plan", str(tmp_path / "p.yaml"), "--no-data"]) == 0
    assert "home (mode)" in capsys.readouterr().out
