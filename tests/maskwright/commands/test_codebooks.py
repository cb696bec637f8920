"""A survey with its codebook: declared by it, masked, and released with a codebook of its own."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from lxml import etree

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

DDI = "{ddi:codebook:2_5}"

CODEBOOK = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5">
<stdyDscr><citation><titlStmt><titl>Labour force survey</titl></titlStmt></citation></stdyDscr>
<dataDscr>
<var ID="V1" name="SEX" dcml="0" intrvl="discrete" nature="nominal"><labl>Sex</labl>
  <catgry><catValu>1</catValu><labl>Male</labl><catStat type="freq">31</catStat></catgry>
  <catgry><catValu>2</catValu><labl>Female</labl></catgry>
  <catgry><catValu>3</catValu><labl>Other</labl></catgry>
  <varFormat type="numeric"/></var>
<var ID="V2" name="STATUS" intrvl="discrete" nature="nominal"><labl>Labour status</labl>
  <catgry><catValu>10</catValu><labl>Employed, full time</labl></catgry>
  <catgry><catValu>11</catValu><labl>Employed, part time</labl></catgry>
  <catgry><catValu>20</catValu><labl>Unemployed</labl></catgry>
  <catgry missing="Y"><catValu>-1</catValu><labl>No answer</labl></catgry>
  <varFormat type="numeric"/></var>
<var ID="V3" name="HOURS" dcml="1" intrvl="contin" measUnit="hours"><labl>Hours usually worked</labl>
  <valrng><range UNITS="REAL" min="0" max="98"/></valrng>
  <sumStat type="max">61.7</sumStat>
  <catgry missing="Y"><catValu>-1</catValu><labl>No answer</labl></catgry>
  <catgry missing="Y"><catValu>-9</catValu><labl>Does not apply</labl></catgry>
  <varFormat type="numeric"/></var>
<var ID="V4" name="COEFF" wgt="wgt" dcml="3" intrvl="contin"><labl>Weight</labl><varFormat type="numeric"/></var>
<var ID="V5" name="NACE" intrvl="discrete"><labl>Branch</labl><varFormat type="character"/></var>
</dataDscr>
</codeBook>
"""

PIPELINE = """maskwright: 1
data:
  source: lfs.csv
  codebook: lfs.xml
  variables:
    SEX: {role: quasi_identifier, release: as is}
    STATUS: {role: quasi_identifier, release: as is}
protect:
  - {method: microaggregation, variables: [HOURS], params: {k: 3}}
output: {data: out.csv, codebook: about.xml, record: run.json, public_record: public.json}
seed: 271828
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Folder with the survey, its codebook and a pipeline; nobody in it has the code 3 of SEX."""
    draw = random.Random(5)
    rows = ["SEX,STATUS,HOURS,COEFF"]
    for number in range(80):
        hours = ("-1", "-9")[number % 16 == 0] if number % 8 == 0 else f"{draw.uniform(5, 61):.1f}"
        status = draw.choice(["10", "11", "20", "-1"])
        rows.append(f"{draw.choice('12')},{status},{hours},{draw.uniform(900, 1100):.3f}")
    (tmp_path / "lfs.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "lfs.xml").write_text(CODEBOOK, encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    return tmp_path


def test_a_codebook_declares(survey: Path) -> None:
    """Types, labels, missing codes with meanings, units, decimals, bounds and the weight, in one word."""
    read = mw.read(survey / "lfs.csv", codebook=survey / "lfs.xml")
    status, hours, weight = (read[name].variable for name in ("STATUS", "HOURS", "COEFF"))
    assert (status.type, status.label, status.labels[0]) == ("nominal", "Labour status", ("10", "Employed, full time"))
    assert (hours.type, hours.unit, hours.decimals, hours.lower, hours.upper) == ("continuous", "hours", 1, 0.0, 98.0)
    assert (hours.missing_codes, hours.missing_meanings) == (("-1", "-9"), ("No answer", "Does not apply"))
    assert int(read["HOURS"].missing.sum()) == 10
    assert weight.role == "weight"
    assert "lfs.xml describes 5 variables, 1 of which the file has not: NACE" in read.notes


def test_the_pipeline_stands_over_the_codebook_and_that_over_the_file(survey: Path) -> None:
    """Fact by fact; with another type, what only the old one can have is gone."""
    variables = {"HOURS": {"max": 90, "label": "Hours"}, "SEX": {"type": "integer"}, "COEFF": {"type": "nominal"}}
    read = mw.read(survey / "lfs.csv", codebook=survey / "lfs.xml", variables=variables)
    hours = read["HOURS"].variable
    assert (hours.lower, hours.upper, hours.label, hours.unit) == (0.0, 90.0, "Hours", "hours")
    assert (read["SEX"].variable.type, read["COEFF"].variable.type) == ("integer", "nominal")


def test_released_with_a_codebook(survey: Path) -> None:
    """What is published, described; no secret is in it, and what is said is what the public record says."""
    assert main(["run", str(survey / "pipeline.yaml")]) == 0
    text = (survey / "about.xml").read_text(encoding="utf-8")
    record = json.loads((survey / "run.json").read_text(encoding="utf-8"))
    for secret in (str(record["seed"]), "61.7", *(each["sha256"] for each in record["inputs"])):
        assert secret not in text
    assert [each["role"] for each in record["inputs"]] == ["data", "codebook", "pipeline"]
    root = etree.fromstring(text.encode())
    found = {each.get("name"): each for each in root.iter(f"{DDI}var")}
    assert list(found) == ["SEX", "STATUS", "HOURS", "COEFF"]
    hours = found["HOURS"]
    assert hours.findtext(f"{DDI}txt") == "Masked in step 1 (microaggregation)."
    assert (hours.get("dcml"), hours.get("measUnit"), found["COEFF"].get("wgt")) == ("1", "hours", "wgt")
    notes = " ".join(note.text or "" for note in root.iter(f"{DDI}notes"))
    assert "microaggregation of HOURS (k: 3" in notes
    assert "0 <= `HOURS` <= 98" in notes
    assert (survey / "about.xml").stat().st_mode & 0o777 == (survey / "out.csv").stat().st_mode & 0o777
    again = mw.read(survey / "out.csv", codebook=survey / "about.xml")
    before = mw.read(survey / "lfs.csv", codebook=survey / "lfs.xml")
    for name in before.names:
        one, other = before[name].variable, again[name].variable
        facts = ("type", "label", "labels", "categories", "missing_codes", "missing_meanings", "unit", "decimals")
        assert {fact: getattr(one, fact) for fact in facts} == {fact: getattr(other, fact) for fact in facts}


def test_released_with_a_table(survey: Path) -> None:
    """The same as a table, which declares the masked file as the other does."""
    pipeline = str(survey / "pipeline.yaml")
    mw.run(pipeline)
    mw.run(pipeline, {"output.codebook": "about.csv"})
    assert mw.read_codebook(survey / "about.csv") == mw.read_codebook(survey / "about.xml")


@pytest.mark.parametrize("name", ["about.xml", "about.csv"])
def test_a_removed_category_is_not_in_it(survey: Path, name: str) -> None:
    """A recoded variable has the codes that the masked file holds; suppressed cells have their own code."""
    step = "{method: recoding, variables: [STATUS], params: {recode: {STATUS: {works: ['10', '11'], not: ['20']}}}}"
    text = PIPELINE.replace("protect:\n", f"protect:\n  - {step}\n").replace(
        "STATUS: {role: quasi_identifier, release: as is}", 'STATUS: {role: quasi_identifier, suppressed_as: "..."}'
    )
    (survey / "pipeline.yaml").write_text(text, encoding="utf-8")
    mw.run(survey / "pipeline.yaml", {"output.codebook": name})
    status = mw.read_codebook(survey / name)["STATUS"]
    assert set(status.categories) == {"works", "not"}
    assert "Unemployed" not in (survey / name).read_text(encoding="utf-8")
    assert status.suppressed_as == "..."


def test_a_contradiction_names_the_line_of_the_codebook(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cells that are no numbers, and codes that the codebook has not; no cell is shown."""
    data = survey / "lfs.csv"
    data.write_text(data.read_text(encoding="utf-8") + "7,10,many,950.0\n", encoding="utf-8")
    assert main(["run", str(survey / "pipeline.yaml")]) == 2
    said = capsys.readouterr().err
    assert "variable 'SEX': 1 of 81 cells are none of the declared categories (record 81)" in said
    assert "lfs.xml, line 5" in " ".join(said.split())
    assert "variable 'HOURS': 1 of 81 cells is not a number" in said
    assert "lfs.xml, line 16" in " ".join(said.split())
    assert "many" not in said
    assert not (survey / "out.csv").exists()


def test_a_codebook_of_another_file(survey: Path) -> None:
    """Refused where no name is the same; a name in another case is told."""
    header, _, rest = (survey / "lfs.csv").read_text(encoding="utf-8").partition("\n")
    (survey / "lower.csv").write_text(f"{header.lower()}\n{rest}", encoding="utf-8")
    with pytest.raises(mw.DataError, match=r"SEX \(the file has sex\)"):
        mw.read(survey / "lower.csv", codebook=survey / "lfs.xml")


def test_mistakes_of_the_codebook_stand_beside_those_of_the_pipeline(survey: Path) -> None:
    """All at once."""
    (survey / "lfs.csv.csv").write_text("variable,type\nSEX,nominl\n", encoding="utf-8")
    with pytest.raises(mw.PipelineError) as caught:
        mw.run(survey / "pipeline.yaml", {"data.codebook": "lfs.csv.csv", "protect.0.method": "microagregation"})
    assert "Did you mean 'nominal'?" in str(caught.value)
    assert "did you mean 'microaggregation'?" in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"data.codebook": "none.xml"}, "there is no codebook file 'none.xml'"),
        ({"output.codebook": "lfs.xml"}, "output.codebook would overwrite the codebook"),
        ({"output.codebook": "about.txt"}, "must end in .xml or .csv"),
    ],
)
def test_file_names(survey: Path, overrides: dict[str, object], expected: str) -> None:
    """Nothing that is read is written over."""
    with pytest.raises(mw.PipelineError, match=expected):
        mw.run(survey / "pipeline.yaml", overrides)


def test_identifiers_of_the_codebook(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that the file has is dropped; one that it has not is not said to be."""
    lines = (survey / "lfs.csv").read_text(encoding="utf-8").splitlines()
    numbered = [f"{line},{'PERSON' if number == 0 else 5000 + number}" for number, line in enumerate(lines)]
    (survey / "lfs.csv").write_text("\n".join(numbered) + "\n", encoding="utf-8")
    (survey / "book.csv").write_text(
        "variable,role,type,missing\nPERSON,identifier,,\nDWELLING,identifier,,\nCOEFF,weight,,\n"
        "HOURS,confidential,continuous,-1|-9\n",
        encoding="utf-8",
    )
    assert main(["run", str(survey / "pipeline.yaml"), "--set", "data.codebook=book.csv"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "PERSON is an identifier: it is not published" in said
    assert "book.csv describes 4 variables, 1 of which the file has not: DWELLING" in said
    assert (survey / "out.csv").read_text(encoding="utf-8").splitlines()[0] == "SEX,STATUS,HOURS,COEFF"


def test_extremes_of_the_file_are_no_bounds(survey: Path) -> None:
    """Codebooks made from data give the largest value as a bound, and bounds are published; what is declared stays."""
    largest = float(mw.read(survey / "lfs.csv")["HOURS"].values.max())
    book = survey / "book.csv"
    book.write_text(f"variable,type,min,max,missing\nHOURS,numeric,0,{largest},-1|-9\n", encoding="utf-8")
    read = mw.read(survey / "lfs.csv", codebook=book)
    assert (read["HOURS"].variable.lower, read["HOURS"].variable.upper) == (0.0, None)
    assert any("HOURS (max)" in note and str(largest) not in note for note in read.notes)
    stated = mw.read(survey / "lfs.csv", codebook=book, variables={"HOURS": {"max": largest}})
    assert stated["HOURS"].variable.upper == largest
    wide = book.read_text(encoding="utf-8").replace(str(largest), "98")
    book.write_text(wide, encoding="utf-8")
    assert mw.read(survey / "lfs.csv", codebook=book)["HOURS"].variable.upper == 98


def test_other_commands(survey: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """``--codebook``, and the codebook of ``--pipeline``, whose name is relative to the pipeline."""
    (survey / "rules.yaml").write_text("edits: ['HOURS <= 98']", encoding="utf-8")
    elsewhere = survey / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for option in (["--codebook", "../lfs.xml"], ["--pipeline", "../pipeline.yaml"]):
        assert main(["describe", "../lfs.csv", "--json", *option]) == 0
        found = {each["name"]: each for each in json.loads(capsys.readouterr().out)["variables"]}
        assert found["HOURS"]["missing_codes"] == {"-1": 5, "-9": 5}
        assert main(["validate", "../lfs.csv", "--edits", "../rules.yaml", *option]) == 0
        capsys.readouterr()


def test_a_pipeline_to_start_from(survey: Path) -> None:
    """``maskwright init`` names the codebook, and does not say again what it says."""
    (survey / "deep").mkdir()
    start = survey / "deep" / "start.yaml"
    assert main(["init", str(survey / "lfs.csv"), "--codebook", str(survey / "lfs.xml"), "--to", str(start)]) == 0
    text = start.read_text(encoding="utf-8")
    assert "  codebook: ../lfs.xml\n" in text
    assert "missing:" not in text
    assert main(["plan", str(start)]) in (0, 1)


def test_a_codebook_for_a_frame(survey: Path) -> None:
    """What a codebook declares can be given with a DataFrame, missing codes and labels too."""
    frame = mw.read(survey / "lfs.csv").to_pandas()
    book = mw.read_codebook(survey / "lfs.xml")
    kept = {name: each.model_copy(update={"release": "as is"}) for name, each in book.items() if name in frame}
    masked = mw.protect(frame, "microaggregation", declared=kept, variables=["HOURS"], params={"k": 3}, seed=1)
    assert masked["HOURS"].isin([-1, -9]).sum() == 10
    assert masked["HOURS"].value_counts().min() >= 3


def test_an_experiment_with_a_codebook(survey: Path) -> None:
    """Missing codes of the codebook are no numbers there either."""
    (survey / "experiment.yaml").write_text(
        "maskwright: 1\ndata: {source: lfs.csv, codebook: lfs.xml, variables: {SEX: {role: other}, "
        "STATUS: {role: other}}}\ngrid: [{family: m, method: microaggregation, vary: {k: [3, 5]}}]\n"
        "measure: [pil]\nseed: 1\noutput: results\n",
        encoding="utf-8",
    )
    assert main(["compare", str(survey / "experiment.yaml"), "--workers", "1"]) == 0


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """``maskwright explain codebooks``."""
    assert main(["explain", "codebooks"]) == 0
    assert "DDI Codebook 2.5" in capsys.readouterr().out


@pytest.mark.parametrize("role", ["{role: other}", "{role: other, release: as is}", "{type: nominal, role: other}"])
def test_keys_are_not_listed(role: str, tmp_path: Path) -> None:
    """The numbers of households, and texts that are as good as keys, are no codes; regions are."""
    rows = [f"H{row // 3:04d},{row // 4 + 100},{'NSEW'[row // 3 % 4]},{900 + 97 * row % 240}" for row in range(240)]
    (tmp_path / "d.csv").write_text("\n".join(["hh,dwelling,region,wage", *rows, ""]), encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        f"maskwright: 1\ndata: {{source: d.csv, cluster: hh, variables: {{hh: {role}, region: {{role: other}}, "
        "dwelling: {type: nominal, role: other}}}\n"
        "protect: [{method: additive_noise, variables: [wage]}]\nseed: 1\n"
        "output: {data: out.csv, codebook: about.csv}\n",
        encoding="utf-8",
    )
    assert mw.run(tmp_path / "p.yaml").ok
    about = (tmp_path / "about.csv").read_text(encoding="utf-8")
    assert "H0001" not in about
    assert "dwelling,,nominal,,,,,,,101" not in about
    assert {line.split(",")[9] for line in about.splitlines() if line.startswith("region,")} >= set("NSEW")
