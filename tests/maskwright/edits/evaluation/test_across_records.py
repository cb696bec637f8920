"""Rules about all records together: unique values and what groups have together, compared with pandas."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main
from maskwright.foundation.errors import EditError

CELLS = st.one_of(st.none(), st.integers(-3, 3))
RECORDS = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=25)


def frame(records) -> pd.DataFrame:
    return pd.DataFrame(records, columns=["a", "b", "x"]).astype("Int64").astype("float64")


def verdict(data: pd.DataFrame, rule: str) -> tuple[list[int], int]:
    """Numbers of the records that violate a rule, and how many verdicts are unknown."""
    outcome = mw.validate(data, [rule])
    (edit,) = outcome.edits
    return outcome.violations["record"].tolist(), edit.unknown


@given(RECORDS)
@settings(max_examples=60, deadline=None)
def test_unique_values_are_those_that_pandas_does_not_find_twice(records):
    data = frame(records)
    known = data[["a", "b"]].dropna()
    twice = known.index[known.duplicated(keep=False)] + 1
    assert verdict(data, "unique(a, b)") == (twice.tolist(), len(data) - len(known))


@given(RECORDS, st.sampled_from(["sum", "mean", "min", "max"]), st.booleans())
def test_groups_are_those_of_pandas(records, function, skips):
    data = frame(records)
    wrong, unknown = [], 0
    for number, key in enumerate(data["a"], start=1):
        terms = data.loc[data["a"] == key, "x"]
        terms = terms.dropna() if skips else terms
        if np.isnan(key) or terms.isna().any() or (terms.empty and function != "sum"):
            unknown += 1
        elif getattr(terms, function)() > 1 + 1e-9:
            wrong.append(number)
    where = " where x is not missing" if skips else ""
    assert verdict(data, f"{function}(x by a{where}) <= 1") == (wrong, unknown)


def test_sums_of_decimals_are_exact():
    data = pd.DataFrame({"g": ["a"] * 10, "x": ["0.1"] * 10})
    assert verdict(data, "sum(x by g) == 1") == ([], 0)
    assert sum([0.1] * 10) != Fraction(1)


def test_sums_beyond_64_bits_are_exact():
    data = pd.DataFrame({"g": ["a"] * 4, "x": [str(2**53 - 1)] * 4, "y": [str(2**62)] * 4})
    assert verdict(data, f"sum(x by g) == {4 * (2**53 - 1)}") == ([], 0)
    assert verdict(data, f"sum(y by g) == {2**64}") == ([], 0)
    assert verdict(data, f"sum(y by g) == {2**64 + 1}") == ([1, 2, 3, 4], 0)


def test_numbers_of_many_digits_are_told_apart():
    data = pd.DataFrame({"id": ["123456789012345678", "123456789012345679"]})
    assert verdict(data, "unique(id)") == ([], 0)


def test_texts_and_numbers_are_equal_as_elsewhere_in_rules():
    data = pd.DataFrame({"id": ["7", "7.0", "x", "x", "y"]})
    assert verdict(data, "unique(id)") == ([1, 2, 3, 4], 0)


def test_what_is_whole_for_the_rule_is_the_file_and_not_a_piece_of_it(tmp_path, capsys):
    rows = 70_000  # more than a chunk
    path = tmp_path / "d.csv"
    path.write_text("id,g,x\n" + "".join(f"{i % (rows - 1)},{i % 2},1\n" for i in range(rows)))
    rules = tmp_path / "r.yaml"
    rules.write_text(f"- unique(id)\n- sum(x by g) == {rows // 2}\n")
    assert main(["validate", str(path), "--edits", str(rules), "--json"]) == 1
    first, second = json.loads(capsys.readouterr().out)["edits"]
    assert (first["violations"], second["violations"]) == (2, 0)
    assert first["first_records"] == [1, rows]


def test_conditions_are_joined_with_others():
    data = pd.DataFrame({"id": [1, 1, 2], "k": [1, 1, 0], "x": [5, 7, 9]})
    assert verdict(data, "if k == 1 then unique(id)") == ([1, 2], 0)
    assert verdict(data, "unique(id) or x > 6") == ([1], 0)
    assert verdict(data, "x <= mean(x by k)") == ([2], 0)
    assert verdict(data, "max(x by k) - min(x by k) <= 1") == ([1, 2], 0)


@pytest.mark.parametrize(
    ("rule", "column", "said"),
    [
        ("sum(x + 1 by g) == t", 5, "expected a variable before 'by'"),
        ("count(x by g) == 1", 1, "count() has no 'by'"),
        ("unique(id, id)", 12, "listed twice"),
        ("sum(x, y by g) == 1", 8, "'by' follows the first variable"),
        ("sum(x by g, 3) == 1", 13, "'by' needs variables"),
        ("unique(id, a + 1)", 12, "unique() needs variables"),
    ],
)
def test_mistakes_are_placed(rule, column, said):
    with pytest.raises(EditError) as raised:
        mw.EditSet.parse([rule])
    assert said in str(raised.value)
    assert str(raised.value).startswith(f"rule 1:{column}:")


def test_unknown_names_have_the_nearest():
    with pytest.raises(EditError, match="did you mean 'wages'"):
        mw.validate(pd.DataFrame({"wages": [1], "g": [2]}), ["sum(wage by g) == 1"])


def test_they_are_written_again():
    rules = ["unique(id, `b c`)", "sum(x by g, h where x is not missing and k > 1) == t", "mean(x by g) <= 3"]
    edits = mw.EditSet.parse(rules)
    again = mw.convert_edits(edits, "yaml").text
    assert [each.removeprefix("- ") for each in again.splitlines()] == rules


@pytest.mark.parametrize("target", ["schematron", "validate"])
def test_what_cannot_be_written_is_refused_by_name(target):
    with pytest.raises(EditError, match="edit edit-1 cannot be written"):
        mw.convert_edits(mw.EditSet.parse(["sum(x by g) == t"]), target)


def test_they_are_only_checked_and_a_release_that_breaks_one_is_none(tmp_path, capsys):
    generator = np.random.default_rng(1)
    data = pd.DataFrame({"id": np.arange(60), "g": np.arange(60) // 3, "x": generator.integers(1, 90, 60)})
    data["t"] = data.groupby("g")["x"].transform("sum")
    data.to_csv(tmp_path / "d.csv", index=False)
    pipeline = tmp_path / "p.yaml"
    pipeline.write_text(
        "maskwright: 1\n"
        "data: {source: d.csv, variables: {id: {role: other}, g: {role: other}, t: {role: other},"
        " x: {role: quasi_identifier}}}\n"
        "edits: [unique(id), 'sum(x by g) == t']\n"
        "protect: [{method: microaggregation, variables: [x], params: {k: 3}}]\n"
        "output: {data: m.csv}\nseed: 1\n"
    )
    assert main(["plan", str(pipeline)]) == 0
    said = capsys.readouterr().out
    assert said.count("only checked  it is about all records together") == 2
    with pytest.raises(mw.EditViolation, match="edit 'edit-2' does not hold in"):
        mw.run(pipeline)
    assert not (tmp_path / "m.csv").exists()


def test_fields_are_not_located_by_them():
    with pytest.raises(EditError, match="fields are located record by record"):
        mw.localize(pd.DataFrame({"id": [1, 1]}), ["unique(id)"])


SCHEMA = """<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt"><pattern><rule context="Record">
<assert id="all" test="count(//Record) &gt; 3">m</assert>
<assert id="one" test="age &gt;= 0">m</assert>
</rule></pattern></schema>"""


@pytest.mark.parametrize("target", ["schematron", "yaml"])
def test_the_others_are_converted_with_the_reason_for_each_that_is_not(tmp_path, capsys, target):
    (tmp_path / "r.sch").write_text(SCHEMA)
    assert main(["edits", str(tmp_path / "r.sch"), "--to", target]) == 2
    said = capsys.readouterr()
    assert "edit all cannot be written" in said.err
    assert "its test looks at other records, and only the engine lxml evaluates it" in said.err
    assert "edit one" not in said.err
    assert "age" in said.out
    assert "count(" not in said.out


def test_rules_about_all_records_are_written_in_yaml_and_not_in_schematron(tmp_path, capsys):
    (tmp_path / "r.yaml").write_text("- unique(id)\n- sum(x by g) == t\n- x >= 0\n")
    assert main(["edits", str(tmp_path / "r.yaml"), "--to", "schematron"]) == 2
    said = capsys.readouterr()
    assert said.err.count("it is about all records together") == 2
    assert said.out.count("<assert") == 1
    assert main(["edits", str(tmp_path / "r.yaml"), "--to", "yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == ["- unique(id)", "- sum(x by g) == t", "- x >= 0"]
