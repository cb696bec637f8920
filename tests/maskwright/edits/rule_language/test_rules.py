"""Lists of rules: names, fields, files, and all mistakes at once."""

from __future__ import annotations

import pytest

from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.yaml.files import read_edits_yaml
from maskwright.foundation.errors import EditError


def test_texts_and_mappings():
    edits = EditSet.parse(
        [
            "V9 +\n V10 == V14",
            {"rule": "V3 in [0, 7500]", "name": "contribution", "message": "out of bounds", "severity": "warning"},
            "a in original",
        ]
    )
    assert [edit.name for edit in edits] == ["edit-1", "contribution", "edit-3"]
    assert [edit.kind for edit in edits] == ["linear", "range", "domain"]
    assert edits["edit-1"].text == "V9 + V10 == V14"
    assert edits["edit-1"].variables == ("V9", "V10", "V14")
    assert (edits["contribution"].severity, edits["contribution"].message) == ("warning", "out of bounds")
    assert all(edit.binding == "exact" and edit.context is None for edit in edits)


def test_every_mistake_is_reported():
    with pytest.raises(EditError) as raised:
        EditSet.parse(
            [
                "a ==",
                {"rul": "a == 1"},
                5,
                None,
                {"rule": "a == 1", "severity": "eror"},
                {"rule": "b == 1", "name": "edit-7"},
                "c == 1",
                {"rule": None},
            ]
        )
    text = str(raised.value)
    assert "rule 1:5" in text
    assert "did you mean 'rule'" in text
    assert "found a int" in text
    assert "found nothing" in text
    assert "did you mean 'error'" in text
    assert "'edit-7' is taken" in text
    assert text.count("the key 'rule' is missing") == 2


@pytest.mark.parametrize("rules", ["a == 1", {"rule": "a == 1"}])
def test_a_single_rule_is_no_list(rules):
    with pytest.raises(EditError, match="list of rules"):
        EditSet.parse(rules)


@pytest.mark.parametrize("head", ["", "edits:\n"])
def test_files(tmp_path, head):
    path = tmp_path / "rules.yaml"
    path.write_text(head + "- V9 + V10 == V14\n- {rule: 'x in {1, 2}', name: codes}\n# end\n", encoding="utf-8")
    edits = read_edits_yaml(path)
    assert [edit.name for edit in edits] == ["edit-1", "codes"]
    place = edits["codes"].place
    assert place is not None
    assert (place.file, place.line) == (str(path), len(head.splitlines()) + 2)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("- a == = 1\n", ":1:8: found '='"),
        ("- {rule: 'a == = 1'}\n", ":1:16: found '='"),
        ("- {rule: a == 1, rule: b == 1}\n", "already"),
        ("- {rule: x in {1, 2}}\n", "quotes"),
        ("- a: b\n", "no key called 'a'"),
        ("rules:\n- a == 1\n", "no key called 'rules'"),
        ("a == 1\n", "expected a list of rules"),
        ("- - a == 1\n", "found a list"),
        ("- !!python/object:os.system x\n", "tags"),
        ("- a == 1\n- a == = 1\n- b ===\n", ":3:"),
    ],
)
def test_mistakes_in_files_have_a_place(tmp_path, content, said):
    path = tmp_path / "rules.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(EditError) as raised:
        read_edits_yaml(path)
    assert str(path) in str(raised.value)
    assert said in str(raised.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(EditError, match="cannot be read"):
        read_edits_yaml(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"- a\xe9 == 1\n")
    with pytest.raises(EditError, match="UTF-8"):
        read_edits_yaml(tmp_path / "latin.yaml")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("sum(p.a + p.b) + c == t", "sum(p.a) + sum(p.b) + c == t"),
        ("sum(2 * p.a - p.b / 4) <= t", "2 * sum(p.a) - sum(p.b) / 4 <= t"),
        ("sum(-(p.a - p.b) * 3 + 1) >= 0", "3 * -(sum(p.a) - sum(p.b)) + 1 * count(p) >= 0"),
    ],
)
def test_a_sum_of_a_calculation_over_members_is_the_calculation_of_sums(written, meant):
    assert EditSet.parse([written])["edit-1"].expression == EditSet.parse([meant])["edit-1"].expression


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("sum(p.a * p.b) >= 0", "sum\\(\\) of members takes no products of variables"),
        ("max(p.a + 1) >= 0", "max\\(\\) is about one variable of members"),
        ("sum(p.a + h.b) >= 0", "sum\\(\\) is about members of one level"),
    ],
)
def test_other_calculations_over_members_are_refused(written, message):
    with pytest.raises(EditError, match=message):
        EditSet.parse([written])


def test_functions_of_one_record_take_calculations_as_before():
    assert EditSet.parse(["max(a + 1, p.b) >= 0", "sum(a + b) == c"])["edit-2"].variables == ("a", "b", "c")
