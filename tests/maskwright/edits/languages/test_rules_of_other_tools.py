"""Rules that offices have: of the R package validate, and linear edits of Banff."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.edit import LinearPart
from maskwright.edits.evaluation.check import evaluate
from maskwright.foundation.errors import EditError

VALIDATE = """\
rules:
- expr: turnover >= 0
  name: turnover
  label: turnover is positive
  description: |
    Turnover cannot be
    negative.
  created: 2020-11-02 11:15:11
  meta: {language: validate 0.9.3.36, severity: warning}
- expr: total.rev - profit == total.costs
- expr: if (staff >= 1) staff.costs >= 1
- expr: size %in% c("sc0", "sc1")
- expr: "!is.na(turnover) | (vat == 1 & is_complete(a, b))"
- expr: in_range(p, min = 0, max = 1, strict = TRUE)
- expr: parts := var_group(x, y)
- expr: parts >= 0
  name: part
- expr: ratio := x / y
- expr: ratio <= 1.5 || x %in% 1:3
- expr: pmax(abs(x), y) < 9L & x %% -3 == 1 && x ** 2 != 4
"""


def verdicts(rule_edit, **texts) -> str:
    data = RecordChunk.from_batch(
        pa.RecordBatch.from_pydict({name: pa.array(own, pa.string()) for name, own in texts.items()})
    )
    found = evaluate(rule_edit, data)
    return "".join("u" if u else "t" if h else "f" for h, u in zip(found.holds, found.unknown, strict=True))


def written(folder, text: str, name: str = "rules.yaml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_rules_of_validate_are_recognised_and_read(tmp_path):
    edits = mw.read_edits(written(tmp_path, VALIDATE))
    assert [(edit.name, edit.text) for edit in edits] == [
        ("turnover", "turnover >= 0"),
        ("edit-2", "total.rev - profit == total.costs"),
        ("edit-3", "if staff >= 1 then staff.costs >= 1"),
        ("edit-4", "size in {'sc0', 'sc1'}"),
        ("edit-5", "turnover is not missing or vat == 1 and (a is not missing and b is not missing)"),
        ("edit-6", "p in (0, 1)"),
        ("part.1", "x >= 0"),
        ("part.2", "y >= 0"),
        ("edit-9", "x / y <= 1.5 or x in {1, 2, 3}"),
        ("edit-10", "(max(abs(x), y) < 9 and x - -3 * floor(x / -3) == 1) and x ^ 2 != 4"),
    ]
    first = edits["turnover"]
    assert (first.label, first.severity) == ("turnover is positive", "warning")
    assert first.message == "Turnover cannot be negative."
    assert any("created (1)" in note and "meta language (1)" in note for note in edits.notes)
    assert any("4 linear rules are exact" in note for note in edits.notes)


def test_missing_values_mean_what_they_mean_in_r(tmp_path):
    edits = mw.read_edits(written(tmp_path, "rules:\n- expr: x > 1 | y > 1\n- expr: x %in% c(1, 2)\n"))
    x, y = ["2", "0", None, None], ["0", None, "2", None]
    assert verdicts(edits["edit-1"], x=x, y=y) == "tutu"
    assert verdicts(edits["edit-2"], x=x, y=y) == "tfuu"


def test_the_remainder_has_the_sign_of_the_divisor(tmp_path):
    edits = mw.read_edits(written(tmp_path, "rules:\n- expr: x %% 3 == 2\n- expr: x %/% 3 == -1\n"))
    assert verdicts(edits["edit-1"], x=["-1", "5", "-2"]) == "ttf"
    assert verdicts(edits["edit-2"], x=["-1", "5", "-2"]) == "tft"


def test_tolerances_are_for_linear_rules_only(tmp_path):
    text = "options: {lin.eq.eps: 0.01, lin.ineq.eps: 0.1, raise: all}\nrules:\n"
    edits = mw.read_edits(written(tmp_path, text + "- expr: a + b == c\n- expr: a <= b\n- expr: a * b == c\n"))
    (part,) = edits["edit-1"].parts
    assert isinstance(part, LinearPart)
    assert part.tolerance == Fraction(1, 100)
    assert edits["edit-2"].text == "a <= b + 0.1"
    assert edits["edit-3"].text == "a * b == c"
    assert any("options raise (1)" in note for note in edits.notes)


def test_free_text_with_a_header(tmp_path):
    written(tmp_path, "# more\nq >= 0\n", "more.R")
    text = "---\ninclude:\n  - more.R\noptions:\n  lin.eq.eps: 0\n---\n# basic\n"
    text += "speed >= 0; dist >= 0  # both\n\nspeed / dist <=\n  1.5\n"
    edits = mw.read_edits(written(tmp_path, text, "rules.R"), language="validate")
    assert [edit.text for edit in edits] == ["q >= 0", "speed >= 0", "dist >= 0", "speed / dist <= 1.5"]
    place = edits["edit-4"].place
    assert place is not None
    assert place.line == 10


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("mean(x) > 3", "uses all records together"),
        ("sum(x, y) == z", "uses all records together"),
        ("min(x) >= 0", "uses all records together"),
        ("round(x) == y", "halves to the even"),
        ("nchar(id) == b", "where it is compared with a number"),
        ("is.numeric(x)", "type of a column"),
        ("x ~ y", "functional dependency"),
        ("x %in% codes", "code list is not written out"),
        ("x == NA", "uses NA as a value"),
        ("foo(x) == 1", "foo() is not known"),
        ("x >= 0 )", "found ')'"),
        ("x >=", "ends too early"),
        ("x $ y", "found '$'"),
        ("in_range(d, '2018Q1', '2018Q4')", "dates or periods"),
        ("g + g > 0", "variable group twice"),
        ("x + 1", "no condition"),
        ("(((" * 30 + "x" + ")))" * 30 + " > 0", ""),
    ],
)
def test_what_is_not_understood_is_named_and_counted(tmp_path, rule, said):
    head = 'rules:\n- expr: g := var_group(a, b)\n- expr: fine > 0\n- {name: odd, expr: "' + rule + '"}\n'
    if not said:
        assert len(mw.read_edits(written(tmp_path, head))) == 2
        return
    with pytest.raises(EditError) as raised:
        mw.read_edits(written(tmp_path, head))
    text = str(raised.value)
    assert "rules.yaml:4:" in text
    assert "the rule 'odd'" in text
    assert said in text
    assert "1 of 2 rules are not understood" in text


def test_options_that_change_the_meaning_are_refused(tmp_path):
    with pytest.raises(EditError, match=r"na\.value"):
        mw.read_edits(written(tmp_path, "options: {na.value: 'FALSE'}\nrules:\n- expr: x > 0\n"))


def test_definitions_do_not_explode(tmp_path):
    lines = ["- expr: a0 := x + x", *(f"- expr: a{i} := a{i - 1} + a{i - 1}" for i in range(1, 40)), "- expr: a39 > 0"]
    with pytest.raises(EditError):
        mw.read_edits(written(tmp_path, "rules:\n" + "\n".join(lines) + "\n"))


# --- Banff -----------------------------------------------------------------------------------------------------------


def test_edits_of_banff(tmp_path):
    """The examples of Banff's user guide, with the canonical forms of its table of allowable edits."""
    text = """Profit = Revenue - Expenses; Profit >= 0;
0.9 * Total <= Var1 + Var2 * 2 + Var3;
Pass: A > B + 3; Pass: Z < A;
Fail: A > B + 3; Fail: Z <= A;
  fail: N != M
"""
    edits = mw.read_edits(written(tmp_path, text, "edits.banff"))
    assert [edit.text for edit in edits] == [
        "Profit == Revenue - Expenses", "Profit >= 0", "0.9 * Total <= Var1 + Var2 * 2 + Var3",
        "A >= B + 3", "Z <= A", "A <= B + 3", "Z >= A", "N == M",
    ]  # fmt: skip
    assert all(edit.kind in ("linear", "range") for edit in edits)
    place = edits["edit-8"].place
    assert place is not None
    assert (place.line, place.column) == (5, 3)
    assert any("accept_negative" in note for note in edits.notes)
    assert any("3 strict inequalities" in note for note in edits.notes)


def test_tables_of_banff(tmp_path):
    text = "editid,leftside,operator,rightside,modifier\nsum,a + b,=,c,pass\nlow,2 * a,>,b,FAIL\n"
    edits = mw.read_edits(written(tmp_path, text, "edits.csv"), language="banff")
    assert [(edit.name, edit.text) for edit in edits] == [("sum", "a + b == c"), ("low", "2 * a <= b")]
    edits = mw.read_edits(written(tmp_path, "edit;severity\na <= b;warning\n", "edits.csv"), language="banff")
    assert [(edit.text, edit.severity) for edit in edits] == [("a <= b", "warning")]


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a = b;\nPass: M != N;", "2:9", "Banff refuses it, too"),
        ("Fail: C = D;", "1:9", "Banff refuses it, too"),
        ("a == b;", "1:4", "a second '='"),
        ("a b = 3;", "1:5", "no sum of components"),
        ("a * b = 3;", "1:7", "no sum of components"),
        ("2 a = 3;", "1:5", "no sum of components"),
        ("a = ;", "1:3", "empty"),
        ("a + b;", "1:6", "expected one of"),
        ("a # b = 1;", "1:3", "found '#'"),
        ("pas: a = 1;", "1:1", "did you mean 'pass'"),
        ("edit,oops\na = 1,2\n", "1", "no column called 'oops'"),
        ("editid,edit\nx,a = 1,2\n", "2", "3 cells under 2 columns"),
        (" \n", "", "empty"),
        (";;", "", "no edit in this file"),
    ],
)
def test_mistakes_in_edits_of_banff(tmp_path, text, place, said):
    path = written(tmp_path, text, "edits.banff")
    with pytest.raises(EditError) as raised:
        mw.read_edits(path)
    assert said in str(raised.value)
    assert f"{path}:{place}" in str(raised.value) if place else str(path) in str(raised.value)


# --- the command and the pipeline ------------------------------------------------------------------------------------


def test_the_command_converts_them(tmp_path, capsys):
    path = written(tmp_path, "a + b = c; a >= 0;", "edits.txt")
    assert main(["edits", str(path), "--from", "banff", "--to", "yaml"]) == 0
    said = capsys.readouterr()
    assert said.out == "- a + b == c\n- a >= 0\n"
    assert "accept_negative" in said.err
    assert main(["edits", str(written(tmp_path, VALIDATE)), "--to", "yaml"]) == 0
    again = mw.read_edits(written(tmp_path, capsys.readouterr().out, "again.yaml"))
    assert [edit.text for edit in again] == [edit.text for edit in mw.read_edits(tmp_path / "rules.yaml")]


def test_a_pipeline_takes_them(tmp_path):
    written(tmp_path, "rules:\n- expr: a + b == c\n  name: total\n", "v.yaml")
    written(tmp_path, "a >= 0;", "b.txt")
    rows = "".join(f"{i},{2 * i},{3 * i}\n" for i in range(1, 13))
    written(tmp_path, "a,b,c\n" + rows, "data.csv")
    pipeline = written(
        tmp_path,
        "maskwright: 1\ndata: {source: data.csv}\nedits:\n- validate: v.yaml\n- banff: b.txt\n"
        "- {rule: sum(a..b) <= c, name: parts, when: c > 0, tolerance: 0.5, label: l}\n"
        "protect:\n- method: microaggregation\n  params: {k: 3}\noutput: {data: masked.csv}\nseed: 1\n",
        "pipeline.yaml",
    )
    result = mw.run(pipeline)
    assert {edit["name"]: edit["violations"] for edit in result.to_json()["edits"]} == {
        "total": 0, "edit-1": 0, "parts": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("a %in% c(2, NA)", "a in {2} or a is missing"),
        ("a %vin% c(NA)", "a is missing"),
        ("ifelse(a > 0, b / a, NA) <= 2", "if a > 0 then b / a <= 2"),
        ("ifelse(a > 0, NA, b) <= 2", "if not a > 0 then b <= 2"),
        ("1 == ifelse(a > 0, b, c)", "if a > 0 then 1 == b else 1 == c"),
        ("ifelse(a > 0, b > 0, NA)", "if a > 0 then b > 0"),
        ("xor(a > 0, b > 0)", "a > 0 and not b > 0 or not a > 0 and b > 0"),
        ("as.Date(a) <= as.Date('2005-12-31')", "a <= 2005-12-31"),
        ("all_complete(a, b)", "a is not missing and b is not missing"),
        ("grepl('^[0-9]{4}$', a)", 'a is not missing and a matches "[0-9]{4}"'),
        ("grepl('x|y', a)", 'a is not missing and a matches ".*(x|y).*"'),
        ("grepl('a.c', a, fixed = TRUE)", r'a is not missing and a matches ".*a\.c.*"'),
        ("field_format(a, '^[a-z]+$', type = 'regex')", 'a is not missing and a matches "[a-z]+"'),
        ("nchar(a) == 4", 'a matches ".{4}"'),
        ("4 > nchar(a)", 'a matches ".{0,3}"'),
        ("nchar(a) >= 2", 'a matches ".{2,}"'),
        ("nchar(a) != 2", 'not a matches ".{2}"'),
        ("field_length(a, min = 2, max = 3)", 'a matches ".{2,}" and a matches ".{0,3}"'),
        ("is_unique(a, b)", "unique(a, b)"),
        ("sum_by(a, by = b) == 1", "sum(a by b) == 1"),
        ("mean_by(a, list(b, c), na.rm = TRUE) <= 1", "mean(a by b, c where a is not missing) <= 1"),
        ("do_by(a, by = b, fun = max) <= c", "max(a by b) <= c"),
    ],
)
def test_what_can_be_said_of_one_record_is(tmp_path, rule, said):
    (tmp_path / "r.yaml").write_text(f'rules:\n- expr: "{rule}"\n')
    (edit,) = mw.read_edits(tmp_path / "r.yaml")
    assert edit.expression == mw.EditSet.parse([said])["edit-1"].expression


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("grepl('^a|b$', a)", "one of several alternatives"),
        ("grepl('(?i)a', a)", "looks around or sets options"),
        ("grepl('a', a, ignore.case = TRUE)", "is understood with pattern, x, fixed"),
        ("grepl(b, a)", "not written out"),
        ("field_format(a, 'a*')", "type = 'regex'"),
        ("do_by(a, by = b, fun = median) == 1", "sum, mean, min, max are understood"),
        ("sum_by(a + b, by = c) == 1", "something computed"),
        ("sum(a, b, na.rm = TRUE) == c", "all records together"),
    ],
)
def test_what_means_something_else_is_refused_by_name(tmp_path, rule, said):
    (tmp_path / "r.yaml").write_text(f'rules:\n- {{expr: "{rule}", name: n}}\n')
    with pytest.raises(EditError, match="the rule 'n' is not understood") as raised:
        mw.read_edits(tmp_path / "r.yaml")
    assert said in str(raised.value)


def test_backslashes_of_r_are_read(tmp_path):
    path = written(tmp_path, 'grepl("^\\\\d\\\\.#$", a) # a comment\n', "rules.R")
    (edit,) = mw.read_edits(path, language="validate")
    assert edit.expression == mw.EditSet.parse([r'a is not missing and a matches "\d\.#"'])["edit-1"].expression


def test_a_group_of_variables_in_a_rule_is_an_edit_for_each(tmp_path):
    (tmp_path / "r.yaml").write_text("rules:\n- {expr: 'var_group(a, b) >= 0', name: g}\n")
    assert [(edit.name, edit.text) for edit in mw.read_edits(tmp_path / "r.yaml")] == [
        ("g.1", "a >= 0"), ("g.2", "b >= 0"),
    ]  # fmt: skip


def test_one_rule_that_is_not_read_does_not_take_the_others_with_it(tmp_path, capsys):
    rules = tmp_path / "r.yaml"
    rules.write_text("rules:\n- {expr: 'a <= b', name: x}\n- {expr: 'all_unique(a)', name: u}\n")
    data = tmp_path / "d.csv"
    data.write_text("a,b\n1,2\n3,2\n")
    assert main(["edits", str(rules), "--to", "yaml"]) == 2
    said = capsys.readouterr()
    assert "rule: a <= b" in said.out
    assert "the rule 'u' is not understood" in said.err
    assert main(["validate", str(data), "--edits", str(rules), "--json"]) == 2
    assert main(["validate", str(data), "--edits", str(rules), "--allow-unread", "u"]) == 1
    assert "left out, as was allowed: the rule 'u'" in " ".join(capsys.readouterr().err.split())
    assert main(["validate", str(data), "--edits", str(rules), "--allow-unread", "x"]) == 2
    assert "no rule that is not read called 'x'" in capsys.readouterr().err
