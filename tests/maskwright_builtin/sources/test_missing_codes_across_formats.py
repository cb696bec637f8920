"""Missing codes of a CSV file in other formats: held as missing where these can, and told where they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pyreadstat
import pytest

import maskwright as mw
from maskwright.commands.plan import plan_pipeline

if TYPE_CHECKING:
    from pathlib import Path

N = 120
PIPELINE = """maskwright: 1
data:
  source: in.csv
  variables:
    wage: {role: confidential, missing: {-1: does not apply, -2: refused, NA: ""}}
    edu: {role: other, type: nominal, labels: {1: low, 2: high}, missing: {9: not stated}}
    region: {role: other, missing: {XX: unknown region}}
    born: {role: other, type: date, format: "%d.%m.%Y", missing: {99.99.9999: not known}}
edits:
  - wage >= 0
  - wage is not "refused" or edu is not "9"
  - {name: codes, rule: 'wage is not "-1" or edu is "9"'}
protect: [{method: additive_noise, variables: [wage]}]
output: {data: OUT}
seed: 1
"""


def written(folder: Path, name: str) -> str:
    """A file of persons, of which every sixth has a code in each variable; the pipeline that masks the wage."""
    lines = ["wage,edu,region,born"]
    for row in range(N):
        wage = {0: "-1", 1: "-2", 2: "NA"}.get(row % 6, str(1000 + 13 * (row * row % 127)))
        edu, region = ("9", "XX") if row % 6 == 0 else (str(1 + row % 2), "NS"[row % 2])
        born = "99.99.9999" if row % 6 == 1 else f"{1 + row % 28:02d}.03.{1950 + row % 40}"
        lines.append(f"{wage},{edu},{region},{born}")
    (folder / "in.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (folder / "p.yaml").write_text(PIPELINE.replace("OUT", name), encoding="utf-8")
    return str(folder / "p.yaml")


def released(folder: Path, name: str) -> str:
    """Notices of a run that releases; those of the plan are among them."""
    path = written(folder, name)
    planned = [each["message"] for each in plan_pipeline(path)["notices"]]
    done = mw.run(path)
    assert done.ok
    about = [each for each in planned if "missing codes" in each or "'no value'" in each]
    assert set(about) <= {each["message"] for each in done.record["notices"]}
    return " ".join(about)


def test_stata_has_letters_with_labels(tmp_path: Path) -> None:
    """As pyreadstat and pandas read them; texts have no missing values there, and that is told."""
    said = released(tmp_path, "out.dta")
    read: Any = pyreadstat.read_dta(str(tmp_path / "out.dta"), user_missing=True)
    frame, facts = read
    assert frame["wage"][:3].tolist() == ["a", "b", "c"]
    assert frame["edu"][0] == "a"
    assert frame["born"][1] == "a"
    assert frame["region"][0] == "XX"
    labels = facts.variable_value_labels
    assert labels["wage"] == {"a": "does not apply", "b": "refused", "c": "NA"}
    assert labels["edu"] == {1: "low", 2: "high", "a": "not stated"}
    again = pd.read_stata(tmp_path / "out.dta", convert_missing=True, convert_categoricals=False, convert_dates=False)
    assert again["wage"][:3].map(str).tolist() == [".a", ".b", ".c"]
    plain = pd.read_stata(tmp_path / "out.dta", convert_categoricals=False)
    assert plain["wage"].isna().sum() == N // 2
    assert plain["born"].notna().sum() == N - N // 6
    assert str(plain["born"][0].date()) == "1950-03-01"
    assert "wage '-1' is .a (does not apply, 20 cells)" in said
    assert "born '99.99.9999' is .a (not known, 20 cells)" in said
    assert "values like others there: region 'XX' (unknown region, 20 cells)" in said
    known = {each.name: each for each in mw.read(tmp_path / "out.dta").variables}
    assert dict(known["wage"].empty_meanings) == {".a": "does not apply", ".b": "refused", ".c": "NA"}


def test_spss_has_user_missing_values(tmp_path: Path) -> None:
    """Numbers and short texts; what is no number cannot stand among numbers, and a date has none."""
    said = released(tmp_path, "out.sav")
    read: Any = pyreadstat.read_sav(str(tmp_path / "out.sav"), user_missing=True)
    frame, facts = read
    assert frame["wage"][:2].tolist() == [-1, -2]
    assert facts.missing_ranges["wage"] == [{"lo": -1, "hi": -1}, {"lo": -2, "hi": -2}]
    assert facts.missing_ranges["edu"] == [{"lo": 9, "hi": 9}]
    assert facts.missing_ranges["region"] == [{"lo": "XX", "hi": "XX"}]
    assert facts.variable_value_labels["wage"] == {-1: "does not apply", -2: "refused"}
    assert "empty cells in their place: wage 'NA' (20 cells), born '99.99.9999' (not known, 20 cells)" in said
    assert "'-1'" not in said


@pytest.mark.parametrize("name", ["out.parquet", "out.duckdb", "out.sqlite", "out.xpt", "out.xlsx", "out.xml"])
def test_other_formats_say_what_they_lose(name: str, tmp_path: Path) -> None:
    """Codes stay as values, or are empty cells; how many of which variables, in the plan and in the record."""
    said = released(tmp_path, name)
    values, _, empty = said.partition("`output: {codebook: about.csv}`")
    for each in ("wage '-1' (does not apply, 20", "wage '-2' (refused, 20", "edu '9' (not stated, 20", "region 'XX'"):
        assert each in values
    # Excel and XML hold texts in any column.
    for each in ("wage 'NA' (20 cells)", "born '99.99.9999' (not known, 20 cells)"):
        assert each in (values if name in ("out.xlsx", "out.xml") else empty)
    assert "`output: {codebook: about.csv}`" in said


def test_the_same_format_loses_nothing_and_says_nothing(tmp_path: Path) -> None:
    assert released(tmp_path, "out.csv") == ""


def test_edits_beside_the_file_speak_of_its_codes(tmp_path: Path) -> None:
    """They hold of the released file as it stands, with what the file itself says."""
    path = written(tmp_path, "out.dta")
    assert mw.run(path, {"output.edits": "rules.yaml"}).ok
    outcome = mw.validate(mw.read(tmp_path / "out.dta"), mw.read_edits(tmp_path / "rules.yaml"))
    assert [each.violations for each in outcome.edits] == [0, 0, 0]
    assert '"-1"' not in (tmp_path / "rules.yaml").read_text(encoding="utf-8")


LETTERS = """maskwright: 1
data: {source: in.dta, variables: {x: {role: confidential}, code: {type: nominal, role: other}}}
protect: [{method: microaggregation, params: {k: 3}}]
output: {data: out.sav}
seed: 1
"""


def test_labelled_letters_of_stata_become_what_spss_can_hold(tmp_path: Path) -> None:
    """Among numbers SPSS has no letters: cells are empty, and it is said; codes with letters become texts."""
    rows = [[".a" if row % 5 == 0 else 10.5 + row * 11 % 30, ".b" if row % 7 == 0 else row % 3] for row in range(30)]
    frame = pd.DataFrame([[str(each).lstrip(".") if isinstance(each, str) else each for each in row] for row in rows])
    frame.columns = ["x", "code"]
    pyreadstat.write_dta(
        frame, str(tmp_path / "in.dta"), version=15,
        variable_value_labels={"x": {"a": "refused"}, "code": {"b": "not asked"}},
        missing_user_values={"x": ["a"], "code": ["b"]},
    )  # fmt: skip
    (tmp_path / "p.yaml").write_text(LETTERS)
    result = mw.run(tmp_path / "p.yaml")
    assert result.ok
    assert "x '.a' (refused, 6 cells)" in " ".join(each["message"] for each in result.record["notices"])
    written, about = pyreadstat.read_sav(tmp_path / "out.sav", user_missing=True)
    assert written["x"].isna().tolist() == [row % 5 == 0 for row in range(30)]
    assert [each == ".b" for each in written["code"]] == [row % 7 == 0 for row in range(30)]
    assert "x" not in about.variable_value_labels


def test_formats_of_a_new_spss_file_show_the_decimals_of_its_numbers(tmp_path: Path) -> None:
    """As many decimals as are published, and none of whole numbers."""
    lines = [
        f"{20 + row % 5},{row % 3},{100 + row * row % 29}.125,{10**9 + row * row * row % 997}.25"
        for row in range(1, 31)
    ]
    (tmp_path / "in.csv").write_text("\n".join(["age,code,weight,turnover", *lines, ""]))
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv, variables: {age: {role: other}, weight: {role: confidential}, "
        "code: {type: nominal, role: other}, turnover: {role: confidential}}}\n"
        "protect: [{method: additive_noise}]\noutput: {data: out.sav}\nseed: 1\n"
    )
    assert mw.run(tmp_path / "p.yaml").ok
    _, about = pyreadstat.read_sav(tmp_path / "out.sav")
    formats = about.original_variable_types
    assert {name: formats[name] for name in ("age", "code", "weight")} == {
        "age": "F8.0",
        "code": "F8.0",
        "weight": "F8.3",
    }
    assert formats["turnover"].endswith(".2")
    assert int(formats["turnover"][1:-2]) >= 13


RECODED = """maskwright: 1
data:
  source: SOURCE
  variables:
    family: {role: quasi_identifier, type: nominal, labels: {1: single, 2: married, 3: widowed}, missing: {NA: refused}}
    home: {role: other, type: nominal, labels: {A: owned, B: rented, C: free}}
protect: [{method: recoding, variables: [family], params: {recode: {family: {alone: ["1", "3"], pair: ["2"]}}}}]
output: {data: OUT}
seed: 1
"""


@pytest.mark.parametrize("through", ["csv", "sav"])
def test_recoded_categories_of_numbers_keep_their_codes_and_no_label_of_old_ones(tmp_path: Path, through: str) -> None:
    """Codes 1 to 3 beside NA would be numbers in SPSS, which have no such code; alone and pair are texts."""
    rows = [f"{('1', '2', '3', 'NA')[row % 4]},{'AB'[row % 2]}" for row in range(40)]
    (tmp_path / "in.csv").write_text("\n".join(["family,home", *rows, ""]), encoding="utf-8")
    text = RECODED.replace("OUT", "out.sav")
    if through == "sav":
        frame = pd.read_csv(tmp_path / "in.csv", keep_default_na=False)
        labels = {"family": {"1": "single", "2": "married", "3": "widowed"}, "home": {"A": "owned", "C": "free"}}
        pyreadstat.write_sav(
            frame, tmp_path / "in.sav", variable_value_labels=labels, missing_ranges={"family": ["NA"]}
        )
        text = text.replace(", labels: {1: single, 2: married, 3: widowed}, missing: {NA: refused}", "")
    (tmp_path / "p.yaml").write_text(text.replace("SOURCE", f"in.{through}"), encoding="utf-8")
    done = mw.run(tmp_path / "p.yaml")
    assert not any("does not say which values mean 'no value'" in each["message"] for each in done.record["notices"])
    _, about = pyreadstat.read_sav(tmp_path / "out.sav", user_missing=True)
    assert [*map(str, about.missing_ranges["family"])] == ["{'lo': 'NA', 'hi': 'NA'}"]
    assert not {"1", "2", "3"} & set(map(str, about.variable_value_labels.get("family", {})))
    assert about.variable_value_labels["home"]["C"] == "free"
