"""Files of rules: tolerance, when, aliases, ranges of variables, and files that include files."""

from __future__ import annotations

import json
from fractions import Fraction

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

import maskwright as mw
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.edit import GoverningPart, LinearPart, RangePart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import Checker, evaluate
from maskwright.edits.languages.yaml.documents import edits_schema
from maskwright.edits.languages.yaml.files import read_edits_yaml
from maskwright.edits.normalisation import refuse_ranges, written_out
from maskwright.foundation.errors import EditError


def columns(**texts: list[str | None]) -> RecordChunk:
    return RecordChunk.from_batch(
        pa.RecordBatch.from_pydict({name: pa.array(own, pa.string()) for name, own in texts.items()})
    )


def verdicts(edits: EditSet, data: RecordChunk) -> list[str]:
    found = [evaluate(edit, data) for edit in edits]
    return [
        "".join("u" if u else "t" if h else "f" for h, u in zip(one.holds, one.unknown, strict=True)) for one in found
    ]


def written(tmp_path, **files: str):
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "rules.yaml"


def refused(path) -> str:
    with pytest.raises(EditError) as raised:
        read_edits_yaml(path)
    return str(raised.value)


# --- tolerance and when ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        # a is 10, then 10.5, then 10.6; b is 10
        ("a == b", "ttf"),
        ("a <= b", "ttf"),
        ("a < b", "tff"),
        ("b >= a", "ttf"),
        ("a in [0, 10]", "ttf"),
        ("a in [0, 10)", "tff"),
        ("not a > b", "ttf"),
        ("not (a > b or a < 0)", "ttf"),
        ("if b == 10 then a == b", "ttf"),
        # The condition of an `if` is taken as written: it does not come true of more records.
        ("if a > b then a == 0", "tff"),
        ("a != b and a >= 0", "ftt"),
    ],
)
def test_tolerance(rule, said):
    data = columns(a=["10", "10.5", "10.6"], b=["10", "10", "10"])
    assert verdicts(EditSet.parse([{"rule": rule, "tolerance": 0.5}]), data) == [said]


def test_a_tolerance_is_known_to_algebra():
    edit = EditSet.parse([{"rule": "a + b == c", "tolerance": 0.1}])["edit-1"]
    (part,) = edit.parts
    assert isinstance(part, LinearPart)
    assert (part.relation, part.tolerance) == ("==", Fraction(1, 10))
    assert edit.text == "a + b == c (within 0.1)"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"rule": "s == 'M'", "tolerance": 1}, "compares no numbers"),
        ({"rule": "a in {1, 2}", "tolerance": 1}, "compares no numbers"),
        ({"rule": "a == b", "tolerance": -1}, "not negative"),
        ({"rule": "a == b", "tolerance": "much"}, "expected a number"),
        ({"rule": "a == b", "tolerance": True}, "expected a number"),
        ({"rule": "a == b", "when": "c +"}, "the rule ends"),
        ({"rule": "a == b", "when": "c + 1"}, "expected a condition"),
        ({"rule": "a == b", "wen": "c == 1"}, "did you mean 'when'"),
    ],
)
def test_mistakes_of_fields(entry, said):
    with pytest.raises(EditError, match="rule 1") as raised:
        EditSet.parse([entry])
    assert said in str(raised.value)


def test_when_says_which_records_a_rule_is_for():
    edits = EditSet.parse([{"rule": "a == b", "when": "c > 0", "tolerance": 1, "label": "parts"}])
    data = columns(a=["1", "9", "9", "9", None], b=["2", "1", "1", "1", "1"], c=["1", "1", "0", None, "1"])
    assert verdicts(edits, data) == ["tftuu"]
    (edit,) = edits
    assert isinstance(edit.parts[0], GoverningPart)
    assert edit.label == "parts"
    checker = Checker(edits)
    checker.add(data)
    (outcome,) = checker.outcome().edits
    # Fired: the records that the rule is for, or may be for.
    assert (outcome.fired, outcome.violations, outcome.unknown) == (4, 1, 2)


# --- ranges of variables ---------------------------------------------------------------------------------------------


def test_ranges_follow_the_order_of_the_data():
    edits = EditSet.parse(["sum(V9..V2, z) == t", "max(V9..V2) <= 5", {"rule": "t > 0", "when": "min(V9..V2) > 0"}])
    data = columns(x=["100"], V9=["1"], q=["2"], V2=["3"], z=["4"], t=["10"])
    assert verdicts(edits, data) == ["t", "t", "t"]
    bound = written_out(edits, data.names)
    assert bound["edit-1"].variables == ("V9", "q", "V2", "z", "t")
    assert [edit.kind for edit in bound] == ["linear", "range", "governing"] or bound["edit-2"].kind == "checked"
    assert isinstance(bound["edit-1"].parts[0], LinearPart)
    checker = Checker(edits)
    checker.add(data)
    assert checker.outcome().edits[0].variables == ("V9", "q", "V2", "z", "t")


def test_ranges_that_cannot_be_written_out():
    edits = EditSet.parse(["sum(V2..V9) == t", "sum(VV2..V4) == t", "sum(a..b) == 1", "a == b"])
    with pytest.raises(EditError) as raised:
        written_out(edits, ("V9", "V2", "V4", "t", "a", "b"))
    text = str(raised.value)
    assert "the first variable comes after the last" in text
    assert "no variable called 'VV2'; did you mean 'V2'" in text
    assert len(raised.value.problems) == 2
    with pytest.raises(EditError, match="no data are read"):
        refuse_ranges(edits)
    with pytest.raises(EditError, match="may include id"):
        written_out(EditSet.parse(["sum(a..b) == 1"]), ("a", "b"), ["id"])


def test_ranges_are_kept_when_masking():
    rng = np.random.default_rng(3)
    import pandas as pd

    frame = pd.DataFrame({name: rng.integers(1, 90, 60) for name in ("a", "b", "c")})
    frame["total"] = frame.sum(axis=1)
    masked = mw.protect(frame, "microaggregation", edits=["sum(a..c) == total"], seed=1, params={"k": 3})
    assert (masked[["a", "b", "c"]].sum(axis=1) == masked["total"]).all()
    assert mw.validate(masked, ["sum(a..c) == total"]).ok


# --- files -----------------------------------------------------------------------------------------------------------


def test_aliases(tmp_path):
    path = written(
        tmp_path,
        rules_yaml="""
aliases:
  gross: V14
  costs: "`paid out` + V10"
  profit: gross - costs
edits:
  - profit >= 0
  - {rule: gross is not missing, name: known}
  - {rule: "sum(V10..gross) == 6", when: "(gross, V10) not in original"}
include: parts.yaml
""",
        parts_yaml="- gross <= 7500\n",
    )
    edits = read_edits_yaml(path)
    assert [edit.variables for edit in edits] == [
        ("V14",), ("V14", "paid out", "V10"), ("V14",), ("V14", "V10")
    ]  # fmt: skip
    assert isinstance(edits["edit-1"].parts[0], RangePart)
    assert isinstance(edits["edit-2"].parts[0], LinearPart)
    assert edits["edit-2"].text == "profit >= 0, where profit is V14 - (`paid out` + V10)"


@pytest.mark.parametrize(
    ("aliases", "rule", "said"),
    [
        ("{x: a +}", "x == 1", "the rule ends"),
        ("{x: a + b}", "x is missing", "stands for a calculation"),
        ("{x: [a]}", "x == 1", "expected a variable or a calculation"),
        ("[x]", "x == 1", "aliases: expected 'name: variable'"),
        ("{x: 'a == 1'}", "x == 1", "expected"),
    ],
)
def test_mistakes_in_aliases(tmp_path, aliases, rule, said):
    assert said in refused(written(tmp_path, rules_yaml=f"aliases: {aliases}\nedits: ['{rule}']\n"))


def test_aliases_do_not_explode(tmp_path):
    lines = ["  a0: a + a", *(f"  a{i}: a{i - 1} + a{i - 1}" for i in range(1, 60))]
    said = refused(written(tmp_path, rules_yaml="aliases:\n" + "\n".join(lines) + "\nedits: [a59 == 1]\n"))
    assert "too large" in said or "nested" in said


def test_files_include_files(tmp_path):
    path = written(
        tmp_path,
        rules_yaml="include: [common.yaml]\nedits:\n- a == 1\n- include: more/late.yaml\n- b == 1\n",
        common_yaml="- {rule: c == 1, name: common}\n",
        more__late_yaml="- {rule: d == 1, name: late}\n- include: ../common.yaml\n",
    )
    edits = read_edits_yaml(path)
    assert [edit.name for edit in edits] == ["common", "edit-2", "late", "edit-4"]
    place = edits["late"].place
    assert place is not None
    assert place.file is not None
    assert place.file.endswith("late.yaml")
    assert any("included before" in note and "common.yaml" in note for note in edits.notes)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"rules_yaml": "include: a.yaml\n", "a_yaml": "include: b.yaml\n", "b_yaml": "- include: a.yaml\n"},
         "a.yaml -> b.yaml -> a.yaml"),
        ({"rules_yaml": "include: rules.yaml\n"}, "rules.yaml -> rules.yaml"),
        ({"rules_yaml": "include: ../outside.yaml\n"}, "not inside the folder"),
        ({"rules_yaml": "include: /etc/passwd\n"}, "not inside the folder"),
        ({"rules_yaml": "include: none.yaml\n"}, "rules.yaml:1:10: the file"),
        ({"rules_yaml": "include: [1]\n"}, "expected the name of a file"),
        ({"rules_yaml": "include: a.yaml\n", "a_yaml": "- x = = 1\n"}, "a.yaml:1:7: found '='"),
        ({"rules_yaml": "include: a.yaml\nedits: [{rule: x == 1, name: n}]\n", "a_yaml": "- {rule: y == 1, name: n}\n"},
         "is taken by another rule"),
        ({"rules_yaml": ""}, "is empty"),
        ({"rules_yaml": "# only a remark\n"}, "found nothing"),
        ({"rules_yaml": "[]\n"}, "no rule in this file"),
        ({"rules_yaml": "edits: []\naliases: {a: b}\n"}, "no rule in this file"),
    ],
)  # fmt: skip
def test_includes_and_files_that_are_refused(tmp_path, files, said):
    assert said in refused(written(tmp_path, **files))


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    outside = tmp_path / "outside.yaml"
    outside.write_text("- a == 1\n", encoding="utf-8")
    path = written(tmp_path / "in", rules_yaml="include: link.yaml\n")
    (tmp_path / "in" / "link.yaml").symlink_to(outside)
    assert "not inside the folder" in refused(path)


def test_an_unknown_variable_is_pointed_at(tmp_path):
    edits = read_edits_yaml(written(tmp_path, rules_yaml="- {name: x, rule: wages + pension == total}\n"))
    with pytest.raises(EditError) as raised:
        evaluate(edits["x"], columns(wages=["1"], pensions=["1"], total=["2"]))
    (problem,) = raised.value.problems
    assert "did you mean 'pensions'" in problem.message
    assert problem.place is not None
    assert problem.place.column == 27


def test_thousands_of_rules(tmp_path):
    path = written(tmp_path, rules_yaml="".join(f"- V{i} + V{i + 1} == V{i + 2}\n" for i in range(2_000)))
    edits = read_edits_yaml(path)
    assert len(edits) == 2_000
    assert all(edit.kind == "linear" for edit in edits)


def test_the_schema_of_edit_files():
    schema = edits_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    good = [
        ["a == 1", {"rule": "a == 1", "name": "n", "tolerance": 0.5, "when": "b > 0"}, {"include": "b.yaml"}],
        {"aliases": {"a": "V1"}, "include": "b.yaml", "edits": ["a == 1"]},
    ]
    bad = [[], [{"rul": "a"}], {"rules": []}, [{"rule": "a == 1", "tolerance": -1}], "a == 1"]
    validator = jsonschema.Draft202012Validator(json.loads(json.dumps(schema)))
    assert all(validator.is_valid(one) for one in good)
    assert not any(validator.is_valid(one) for one in bad)
